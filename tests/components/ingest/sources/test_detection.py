"""Which kind a folder is, and what is said when it is none or two."""

from pathlib import Path

import pytest

from components.ingest.sources.detection import detect
from components.ingest.sources.record import KindOptions, SourceError, open_source
from components.ingest.sources.tree import open_tree


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["beagle/a.jpg", "pug/b.jpg"], "class_folders"),
        (["a.jpg"], "class_folders"),
        (["a.jpg", "readme.txt"], "class_folders"),
        (["a.jpg", "a.txt"], "pairs"),
        (["x/a.jpg", "y/a.txt"], "class_folders"),
        (["00000/a.jpg", "00000/a.json", "00000.parquet"], "pairs"),
        (["00000.tar", "00000.parquet", "00000_stats.json"], "webdataset"),
        (["a.tgz"], "webdataset"),
        (["data/train-00000.parquet", "README.md"], "parquet"),
        (["clip.MOV", "clip2.mp4", ".DS_Store"], "video"),
    ],
)
def test_kinds(tmp_path: Path, names: list[str], kind: str) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert detect(open_tree(str(tmp_path)), KindOptions()) == kind


def test_a_mixed_folder_names_both_kinds(tmp_path: Path) -> None:
    for name in ("a.jpg", "b.jpg", "clip.mp4"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(SourceError, match=r"mixes 2 pictures, 1 videos.*kind=class_folders or video"):
        open_source(str(tmp_path))
    assert len(list(open_source(str(tmp_path), kind="class_folders").items())) == 2


def test_nothing_to_ingest_says_what_was_found_and_looked_for(tmp_path: Path) -> None:
    with pytest.raises(
        SourceError, match=r"found no file at all; looked for pictures .*\.tar.*\.parquet.*videos"
    ):
        open_source(str(tmp_path))
    (tmp_path / "notes.docx").write_bytes(b"x")
    with pytest.raises(SourceError, match=r"found 1 \.docx"):
        open_source(str(tmp_path))


def test_wrong_options_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"x")
    with pytest.raises(SourceError, match=r"Unknown source option 'licence'.*license"):
        open_source(str(tmp_path), licence="CC0")
    with pytest.raises(SourceError, match=r"Unknown kind of source 'zip': use auto, folder_table"):
        open_source(str(tmp_path), kind="zip")
    with pytest.raises(SourceError, match=r"read as video, which has no option attributions"):
        open_source(str(tmp_path), kind="video", attributions="a.csv")
    with pytest.raises(SourceError, match="group_by"):
        open_source(str(tmp_path), group_by="day")

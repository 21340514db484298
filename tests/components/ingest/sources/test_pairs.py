"""Pictures with a text of the same stem."""

import json
from pathlib import Path

from components.ingest.sources.record import SourceItem, open_source


def test_texts_belong_to_the_picture_of_their_stem(tmp_path: Path) -> None:
    files = {
        "a.jpg": b"A",
        "a.txt": b"\xef\xbb\xbfa brown dog\r\n",
        "b.b.jpg": b"B",
        "b.txt": b"not of b.b",
        "b.b.caption": b"a dog called b.b",
        "sub/c.png": b"C",
        "sub/c.json": json.dumps(
            {"caption": "from json", "license": "CC0", "label": "pug", "reviewed": 1}
        ).encode(),
        "sub/c.txt": b"from txt",
        "sub/d.webp": b"D",
        "e.jpg": b"E",
        "e.txt": b"caf\xe9",
        "f.jpg": b"F",
        "f.json": b"{broken",
        "g.jpg": b"G1",
        "g.png": b"G2",
        "g.txt": b"shared",
        "readme.txt": b"hello",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    source = open_source(str(tmp_path), source="s")
    items = list(source.items())
    assert items == [
        SourceItem("a.jpg", "a brown dog", source="s"),
        SourceItem("b.b.jpg", "a dog called b.b", source="s"),
        SourceItem("e.jpg", "caf\ufffd", source="s", problem="e.txt is not valid UTF-8 (byte 0xe9)"),
        SourceItem("f.jpg", source="s", problem=items[3].problem),
        SourceItem("g.jpg", "shared", source="s"),
        SourceItem("g.png", "shared", source="s"),
        SourceItem("sub/c.png", "from txt", "pug", "s", "CC0", True),
        SourceItem("sub/d.webp", "", "sub", "s"),
    ]
    assert items[3].problem.startswith("f.json is no JSON")
    assert list(source.read(items)) == [b"A", b"B", b"E", b"F", b"G1", b"G2", b"C", b"D"]
    assert source.sidecars == {".txt": 4, ".caption": 1, ".json": 2}
    assert source.ignored == {".txt": 2}
    assert len(files) == len(items) + source.sidecars.total() + source.ignored.total()


def test_pairs_across_windows_of_the_walk_stay_paired(tmp_path: Path) -> None:
    for number in range(1500):
        (tmp_path / f"{number:04d}.jpg").write_bytes(b"x")
        (tmp_path / f"{number:04d}.txt").write_text(f"dog {number}")
    items = list(open_source(str(tmp_path)).items())
    assert [item.caption for item in items] == [f"dog {number}" for number in range(1500)]

"""Labels from folder and file names."""

from pathlib import Path

import pytest

from components.ingest.sources.folder import label_of
from components.ingest.sources.record import SourceItem, open_source


@pytest.mark.parametrize(
    ("relpath", "label"),
    [
        ("n02085620-Chihuahua/n02085620_10074.jpg", "Chihuahua"),
        ("Images/n02099601-golden_retriever/n02099601_1.jpg", "golden_retriever"),
        ("train/beagle/IMG_1.jpg", "beagle"),
        ("beagle/images/1.jpg", "beagle"),
        ("images/american_bulldog_12.jpg", "american_bulldog"),
        ("english-cocker-spaniel_7.JPG", "english-cocker-spaniel"),
        ("IMG_0001.jpg", ""),
        ("photos/DSC-0042.jpg", ""),
        ("IMG_20200101_120000.jpg", ""),
        ("images/00012.jpg", ""),
        ("rex.jpg", ""),
    ],
)
def test_labels(relpath: str, label: str) -> None:
    assert label_of(relpath) == label


def test_a_folder_of_classes_has_every_picture_and_counts_the_rest(tmp_path: Path) -> None:
    names = [
        "Images/n02085620-Chihuahua/n02085620_1.jpg",
        "Images/n02099601-golden_retriever/n02099601_2.jpg",
        "Annotation/n02085620-Chihuahua/n02085620_1",
        "lists/train_list.mat",
        "trimaps/n02085620_1.png",
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    source = open_source(str(tmp_path), source="stanford", license="research only", group_by="folder")
    items = list(source.items())
    assert items == [
        SourceItem(
            names[0], "", "Chihuahua", "stanford", "research only", False, names[0].rpartition("/")[0]
        ),
        SourceItem(
            names[1], "", "golden_retriever", "stanford", "research only", False, names[1].rpartition("/")[0]
        ),
    ]
    assert source.ignored == {"(none)": 1, ".mat": 1, "(annotation) .png": 1}
    assert list(source.read(items)) == [name.encode() for name in names[:2]]
    assert next(iter(source.read([SourceItem("gone.jpg")]))).args == ("There is no file gone.jpg.",)


def test_attributions_give_a_licence_where_name_or_url_match_and_agree(tmp_path: Path) -> None:
    for name in ("beagle/Beagle_600.jpg", "beagle/Rex & Co.jpg", "beagle/Beagle.jpg", "beagle/other.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "credits.csv").write_text(
        "author,image_url,title,license\n"
        "A,https://x.org/c/Beagle_600.jpg?size=1,N/A,CC BY 2.0\n"
        "B,N/A,Rex & Co.jpg,CC0\n"
        "C,https://x.org/1.jpg,Beagle,CC0\n"
        "D,https://x.org/2.jpg,Beagle,CC BY-SA 3.0\n"
    )
    source = open_source(str(tmp_path), attributions="credits.csv")
    assert {item.relpath: item.license for item in source.items()} == {
        "beagle/Beagle.jpg": "",
        "beagle/Beagle_600.jpg": "CC BY 2.0",
        "beagle/Rex & Co.jpg": "CC0",
        "beagle/other.jpg": "",
    }
    assert source.sidecars == {".csv": 1}

"""Real folders: every file is an item or counted, with the label its place states."""

from collections import Counter
from pathlib import Path

import pytest

from components.data.breeds import breed_key
from components.data.licenses import normalise_license
from components.ingest.sources.record import Source, SourceError, SourceItem, open_source


def account(root: Path, source: Source) -> list[SourceItem]:
    """Check that items and counts add up to the files on disk, and that all bytes are the files'."""
    items = list(source.items())
    files = [path for path in root.rglob("*") if path.is_file()]
    assert len(items) + source.ignored.total() + source.sidecars.total() == len(files)
    for item, data in zip(items, source.read(items), strict=True):
        assert data == (root / item.relpath).read_bytes()
        assert item.problem == ""
    return items


def test_watson_dogs(shared_data: Path) -> None:
    root = shared_data / "watson_dogs_cc"
    items = account(root, open_source(str(root), attributions="attributions.csv"))
    breeds = {"beagle": 15, "dalmatian": 15, "golden_retriever": 15, "siberian_husky": 15}
    assert Counter(item.breed for item in items) == breeds
    assert {breed_key(item.breed) for item in items} == set(breeds)
    licensed = [normalise_license(item.license) for item in items if item.license]
    assert len(licensed) >= 50 and all(key.startswith(("CC0", "CC-BY")) for key in licensed)


def test_dreambooth_dogs(shared_data: Path) -> None:
    root = shared_data / "dreambooth_dogs_hires"
    items = account(root, open_source(str(root), license="CC BY 4.0", group_by="folder"))
    assert len(items) == 37
    assert Counter(item.group for item in items) == Counter(item.relpath.partition("/")[0] for item in items)
    assert {item.license for item in items} == {"CC BY 4.0"}


def test_oxford_pets_without_their_trimaps(shared_data: Path) -> None:
    root = shared_data / "oxford_pets_trimaps"
    source = open_source(str(root))
    items = account(root, source)
    assert len(items) == 30 and {item.breed for item in items} == {"american_bulldog"}
    assert source.ignored["(annotation) .png"] == 30


def test_bad_inputs_are_items_like_any_other(shared_data: Path) -> None:
    root = shared_data / "bad_inputs"
    source = open_source(str(root))
    assert len(account(root, source)) == 18
    assert source.sidecars == {".csv": 1}


@pytest.mark.parametrize("name", ["flickr8k_dog_captions", "weights_small"])
def test_folders_without_pictures_are_clear_errors(shared_data: Path, name: str) -> None:
    with pytest.raises(SourceError, match=r"holds nothing that can be ingested: found \d"):
        open_source(str(shared_data / name))

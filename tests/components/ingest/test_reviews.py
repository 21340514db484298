"""Reviews are merged by image id or file, and a wrong reviews file is refused with its lines."""

import json

import pytest

from components.ingest.reviews import ReviewError, Reviews
from components.ingest.sources.record import SourceItem

ID = "0123456789abcdef0123456789abcdef"


def csv_reviews(*lines: str) -> Reviews:
    return Reviews("\n".join(lines).encode(), "reviews.csv")


def test_reviews_by_file_set_reviewed_and_correct_the_breed() -> None:
    reviews = csv_reviews(
        "file,reviewed,breed", "a.jpg,yes,", "b.jpg,true,beagle", "c.jpg,no,", "./d.jpg,1,-", "gone.jpg,1,"
    )
    items = [SourceItem(f"{name}.jpg", breed="boxer", reviewed=name == "c") for name in "abcde"]
    done = [reviews.apply(item, "") for item in items]
    assert [(item.reviewed, item.breed) for item in done] == [
        (True, "boxer"),
        (True, "beagle"),
        (False, "boxer"),
        (True, ""),
        (False, "boxer"),
    ]
    assert done[4] is items[4]
    assert reviews.unused() == ["gone.jpg"]


def test_a_review_by_image_id_wins_over_one_by_file_and_a_later_line_over_an_earlier() -> None:
    lines = [
        {"image_id": ID.upper(), "reviewed": False},
        {"file": "a.jpg", "breed": "pug"},
        {"image_id": ID, "breed": "beagle", "reviewed": True},
    ]
    reviews = Reviews("\n".join(map(json.dumps, lines)).encode(), "reviews.jsonl")
    assert len(reviews) == 2
    assert reviews.apply(SourceItem("a.jpg"), ID) == SourceItem("a.jpg", breed="beagle", reviewed=True)
    assert reviews.apply(SourceItem("a.jpg"), "f" * 32).breed == "pug"
    assert reviews.unused() == []


def test_being_in_a_file_without_reviewed_column_means_reviewed() -> None:
    assert csv_reviews("file", "a.jpg").apply(SourceItem("a.jpg"), "").reviewed


def test_bad_lines_refuse_the_file_and_are_named() -> None:
    with pytest.raises(
        ReviewError, match=r"line 2: reviewed is 'perhaps'.*line 4: .*leaves the source"
    ) as error:
        csv_reviews("file,reviewed", "a.jpg,perhaps", "b.jpg,yes", "../c.jpg,yes")
    assert "line 3" not in str(error.value)
    with pytest.raises(ReviewError, match="not 32 hex digits"):
        csv_reviews("image_id", "12")
    with pytest.raises(ReviewError, match="no column that names"):
        csv_reviews("colour,size", "red,1")
    with pytest.raises(ReviewError, match="11 more"):
        csv_reviews("image_id", *["x"] * 16)

"""Marks, as `ingest` reads them."""

import json
import subprocess
import sys

import pytest

from components.ingest.reviews import Review, Reviews
from components.ingest.sources.record import SourceItem
from pipelines.lineage.console.reviews import MarkError, ReviewsFile

A, B = "a" * 32, "b" * 32
UNSEEN = Review(reviewed=False, breed="")


def read(file):
    """The reviews as ingest would apply them to a photo labelled `pug`."""
    reviews = Reviews(file.path.read_bytes(), file.path.name)

    def apply(image_id):
        item = reviews.apply(SourceItem(relpath="x.jpg", breed="pug"), image_id)
        return item.reviewed, item.breed

    return apply


def test_ingest_reads_each_mark_as_it_was_meant(tmp_path):
    file = ReviewsFile(tmp_path, "dogs")
    file.add(A, "reviewed", UNSEEN)
    file.add(B, "wrong", UNSEEN, "samoyed")
    assert read(file)(A) == (True, "pug")
    assert read(file)(B) == (True, "samoyed")
    file.add(B, "wrong", UNSEEN)
    assert read(file)(B) == (True, "")


@pytest.mark.parametrize("before", [False, True])
def test_undo_gives_back_what_the_dataset_said(tmp_path, before):
    file = ReviewsFile(tmp_path, "dogs")
    file.add(A, "wrong", UNSEEN, "samoyed")
    file.add(A, "undo", Review(before, ""))
    assert read(file)(A) == (before, "pug")
    assert file.marks() == {}


def test_the_last_mark_of_a_photo_counts(tmp_path):
    file = ReviewsFile(tmp_path, "dogs")
    for action in ("reviewed", "undo", "wrong", "reviewed"):
        file.add(A, action, UNSEEN)
    assert {id: mark.action for id, mark in file.marks().items()} == {A: "reviewed"}
    assert read(file)(A) == (True, "pug")


WRITER = """
import sys
from pathlib import Path
from components.ingest.reviews import Review
from pipelines.lineage.console.reviews import ReviewsFile
file = ReviewsFile(Path(sys.argv[1]), "dogs")
for number in range(100):
    file.add(f"{number:031x}{sys.argv[2]}", "reviewed", Review(False, ""))
"""


def test_two_writers_at_once_lose_no_mark(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, letter]) for letter in "ab"]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    file = ReviewsFile(tmp_path, "dogs")
    assert len(file.marks()) == 200
    assert len(Reviews(file.path.read_bytes(), "dogs.jsonl")) == 200


def test_a_line_that_was_cut_short_costs_itself_alone(tmp_path):
    file = ReviewsFile(tmp_path, "dogs")
    file.add(A, "reviewed", UNSEEN)
    with file.path.open("a") as out:
        out.write('{"image_id": "bbb')
    file.add(B, "reviewed", UNSEEN)
    assert set(file.marks()) == {A, B}
    assert [json.loads(line)["image_id"] for line in file.path.read_text().splitlines()[::2]] == [A, B]


def test_lines_of_others_are_passed_over(tmp_path):
    file = ReviewsFile(tmp_path, "dogs")
    file.path.parent.mkdir()
    foreign = b'[]\n7\nnull\n{"file": "x.jpg"}\n\xff\n{"image_id": "' + B.encode() + b'"}\n'
    file.path.write_bytes(foreign)
    assert set(file.marks()) == {B}


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path):
    file = ReviewsFile(tmp_path, "dogs")
    file.path.parent.mkdir()
    outside = tmp_path / "outside"
    outside.write_text("mine\n")
    file.path.symlink_to(outside)
    with pytest.raises(OSError):
        file.add(A, "reviewed", UNSEEN)
    assert outside.read_text() == "mine\n"


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", ".hidden", "/etc/passwd"])
def test_a_name_that_is_a_path_is_refused(tmp_path, name):
    with pytest.raises(MarkError):
        ReviewsFile(tmp_path, name)

"""Finding photos: by id, by the beginning of one, by path; with hostile names, twins and grown datasets."""

import hashlib

import numpy as np
import pytest

from components.data.pictures import png
from components.data.task import Task
from components.ingest.options import IngestOptions
from components.ingest.step import run as ingest
from pipelines.lineage.graph import LineageError, build
from pipelines.lineage.photo import find_photos, trace_photo

HOSTILE = [
    '"><script>alert(1)</script>.png'.replace("/", "%2F"),
    "naïve \N{DOG FACE} 犬.png",
    "a b;c&d'e.png",
    "x" * 200 + ".png",
    "-rf.png",
]


def picture(number):
    return png(np.full((40, 40, 3), number, np.uint8))


def image_id(number):
    return hashlib.sha256(picture(number)).hexdigest()[:32]


def folder(path, names):
    """Pictures by name in a class folder."""
    (path / "pug").mkdir(parents=True)
    for name, number in names.items():
        (path / "pug" / name).write_bytes(picture(number))
    return path


@pytest.fixture
def task(store_uri):
    return Task(store_uri)


def ingested(task, source, name="dogs"):
    return ingest(
        task, options=IngestOptions(source=str(source), name=name, kind="class_folders", shard_rows=2)
    )


def test_hostile_file_names_are_found_as_they_are(task, tmp_path):
    names = {name: number for number, name in enumerate(HOSTILE, 1)}
    ingested(task, folder(tmp_path / "photos", names))
    graph = build([task.store])
    for name, number in names.items():
        traced = trace_photo(graph, f"pug/{name}")
        assert traced.image_id == image_id(number)
        assert [row.source_uri for row in traced.rows] == [f"pug/{name}"]


def test_the_beginning_of_an_id_is_enough_in_either_case(task, tmp_path):
    ingested(task, folder(tmp_path / "photos", {"a.png": 1, "b.png": 2}))
    graph = build([task.store])
    for number in (1, 2):
        assert trace_photo(graph, image_id(number)[:10].upper()).image_id == image_id(number)
    for wrong in ("", "abc", "f" * 32, "\ud800", "%", "pug/", "pug/a"):
        with pytest.raises(LineageError, match="No dataset here has a photo"):
            trace_photo(graph, wrong)


def test_one_path_with_two_contents_asks_for_the_id(task, tmp_path):
    ingested(task, folder(tmp_path / "one", {"a.png": 1}), "one")
    ingested(task, folder(tmp_path / "two", {"a.png": 2}), "two")
    graph = build([task.store])
    both = sorted([image_id(1), image_id(2)])
    assert find_photos(graph, "pug/a.png") == both
    with pytest.raises(LineageError, match=f"2 photos answer .*{both[0]}, {both[1]}.*give an image_id"):
        trace_photo(graph, "pug/a.png")


def test_twins_and_a_grown_dataset_show_every_row(task, tmp_path):
    source = folder(tmp_path / "photos", {"a.png": 1, "b.png": 2, "twin.png": 1})
    before = ingested(task, source)
    (source / "pug" / "c.png").write_bytes(picture(3))
    after = ingested(task, source)
    traced = trace_photo(build([task.store]), image_id(1))
    rows = {(row.dataset_id, row.source_uri) for row in traced.rows}
    assert rows == {
        (dataset.id, path) for dataset in (before, after) for path in ("pug/a.png", "pug/twin.png")
    }
    assert traced.trainings == () and traced.problems == ()


def test_a_shard_set_that_is_gone_is_named_with_the_way_to_get_it_back(task, tmp_path):
    dataset = ingested(task, folder(tmp_path / "photos", {"a.png": 1}))
    task.store.delete(dataset.groups["images"].merged.path)
    with pytest.raises(LineageError, match="is gone; run the step that makes it again"):
        trace_photo(build([task.store]), image_id(1))

"""Timings: the first one stays, only work that was done is timed, and only under the step that did it."""

import pytest

from components.data import task as task_module
from components.data.options import StepOptions
from components.data.storage import open_store
from components.data.task import Task, record_timing
from components.data.timings import Timing, part_path, read_timing, timing_path, write_timing


@pytest.fixture
def task(store_uri):
    return Task(store_uri)


def kept(task, result):
    return read_timing(task.store, timing_path(result.name, result.step, result.id))


def test_the_first_timing_stays(store_uri):
    store = open_store(store_uri)
    write_timing(store, "dogs/timings/quality-a.json", Timing(seconds=60.0, rows=600))
    write_timing(store, "dogs/timings/quality-a.json", Timing(seconds=0.1))
    timing = read_timing(store, "dogs/timings/quality-a.json")
    assert (timing.seconds, timing.rows_per_s) == (60.0, 10.0)


def test_a_timing_that_is_not_there_or_not_readable_is_none(store_uri):
    store = open_store(store_uri)
    store.write("dogs/timings/quality-b.json", b'{"seconds": "long"}')
    assert read_timing(store, "dogs/timings/quality-a.json") is None
    assert read_timing(store, "dogs/timings/quality-b.json") is None


def test_no_time_and_no_rows_have_no_rate():
    assert Timing(seconds=0.0, rows=5).rows_per_s == 0.0
    assert Timing(seconds=5.0).rows_per_s == 0.0


def test_work_is_timed_and_what_was_found_done_is_not(task, photos):
    result = photos(task.store)
    task.found_done = True
    record_timing(task, result.step, [result], StepOptions(), result, 0.1)
    assert kept(task, result) is None
    task.found_done, task.computed_rows = False, 8
    record_timing(task, result.step, [result], StepOptions(), result, 2.0)
    assert kept(task, result) == Timing(seconds=2.0, rows=8)


def test_a_step_that_hands_on_what_another_made_leaves_no_timing(task, photos):
    result = photos(task.store)
    record_timing(task, "opening", [], StepOptions(), result, 0.1)
    assert kept(task, result) is None


def test_a_merge_adds_the_times_of_its_partitions_though_it_found_all_shards_done(store_uri, photos):
    whole = Task(store_uri, partitions=2)
    result = photos(whole.store)
    for partition, seconds in ((0, 3.0), (1, 4.5)):
        part = Task(store_uri, partition=partition, partitions=2, computed_rows=4)
        record_timing(part, result.step, [result], StepOptions(), result, seconds)
        path = part_path(result.step, [result], StepOptions(), partition, 2)
        assert read_timing(part.store, path) == Timing(seconds=seconds, rows=4)
    whole.found_done = True
    record_timing(whole, result.step, [result], StepOptions(), result, 0.25)
    assert kept(whole, result) == Timing(seconds=7.75, rows=8, parts=3)


def test_the_artifact_file_of_a_dataset_is_its_manifest(task, photos):
    manifest = photos(task.store)
    assert task_module.artifact_content(task.store, manifest) == manifest.to_bytes()

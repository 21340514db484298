"""Garbage collection: what runs name stays, with its receipts; the rest goes; young work is left alone."""

from datetime import UTC, datetime, timedelta

import pytest

from components.data.manifest import ManifestError
from components.data.shards import read_table
from components.data.storage import open_store
from components.data.task import Task
from components.duplicates.options import DuplicatesOptions
from components.duplicates.step import run as duplicates
from components.ingest.options import IngestOptions
from components.ingest.step import run as ingest
from components.quality.options import QualityOptions
from components.quality.step import run as quality
from pipelines.demo.dataset import make_dataset
from pipelines.store.garbage import delete, find_garbage

LATER = datetime.now(UTC) + timedelta(days=2)
DAY = timedelta(days=1)


@pytest.fixture
def task(store_uri):
    return Task(store_uri)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return make_dataset(
        tmp_path_factory.mktemp("dogs"), clean_per_breed=1, defect_share=0.0, breeds=("pug", "samoyed")
    )


def chain(task, photos, **options):
    data = ingest(task, options=IngestOptions(source=str(photos)))
    data = quality(task, data, options=QualityOptions(**options))
    return duplicates(task, data, options=DuplicatesOptions())


def test_data_of_a_manifest_that_no_run_names_goes_and_the_rest_still_works(task, photos):
    kept = chain(task, photos)
    gone = chain(task, photos, fixed_side_px=64)
    garbage = find_garbage(task.store, [kept.path], min_age=DAY, now=LATER)
    delete(task.store, garbage)
    assert kept.missing_files(task.store) == []
    assert read_table(task.store, kept, ["phash", "split"]).num_rows == kept.rows
    assert gone.missing_files(task.store) != []
    left = {entry.path for entry in task.store.list("")}
    assert not left & {path for path, _ in garbage.files}
    # What was kept is still found done: collecting again finds nothing new to delete.
    chain(task, photos)
    assert {path for path, _ in find_garbage(task.store, [kept.path], min_age=DAY, now=LATER).files} <= {
        manifest
        for manifest in (entry.path for entry in task.store.list(""))
        if "/manifests/" in manifest or "/timings/" in manifest
    }


def test_young_objects_and_the_score_cache_stay(task, photos):
    chain(task, photos)
    task.store.write("scores/similarity/x/seg-1-1.parquet", b"x")
    assert find_garbage(task.store, [], min_age=DAY).files == []
    paths = [path for path, _ in find_garbage(task.store, [], min_age=DAY, now=LATER).files]
    assert paths and not any(path.startswith("scores/") for path in paths)


def test_nothing_is_collected_when_a_manifest_in_use_is_missing(tmp_path):
    with pytest.raises(ManifestError, match="named by a run but is not there"):
        find_garbage(open_store(str(tmp_path)), ["dogs/manifests/none.json"], min_age=DAY)

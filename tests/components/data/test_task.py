"""Adding column groups: resumable, incremental, equal for any partition; every row accounted for."""

import pytest

from components.data import identity
from components.data import task as task_module
from components.data.manifest import DatasetManifest
from components.data.options import StepOptions, option
from components.data.shards import ShardError, read_table
from components.data.task import Task, add_group, add_whole_group, artifact_metadata


class Options(StepOptions):
    offset: int = option(0, "added to the count")
    workers: int = option(0, "threads", identity=False)


@pytest.fixture(autouse=True)
def toy_code_version(monkeypatch):
    monkeypatch.setattr(task_module, "code_version", lambda step: f"code of {step}")


class Scorer:
    """Counts the letters of captions, and how often it was asked."""

    def __init__(self, offset=0, broken=False):
        self.offset, self.broken, self.rows = offset, broken, 0

    def __call__(self, batches):
        for batch in batches:
            captions = batch.column("caption").to_pylist()
            self.rows += len(captions)
            ids = batch.column("image_id").to_pylist()
            yield {
                "image_id": ids[1:] if self.broken else ids,
                "caption_words": [len(c) + self.offset for c in captions][1 if self.broken else 0 :],
                "captions_error": [None for _ in captions][1 if self.broken else 0 :],
            }


def add(task, dataset, scorer, **options):
    return add_group(
        task,
        dataset,
        step="captions",
        options=Options(**options),
        columns=["caption_words", "captions_error"],
        reads=["caption"],
        score=scorer,
    )


def test_a_group_has_the_scores_of_every_row_and_counts_them(store_uri, photos):
    task = Task(store_uri)
    dataset = add(task, photos(task.store), Scorer())
    assert read_table(task.store, dataset, ["caption_words"]).column(0).to_pylist() == [9] * 8
    assert dataset.counters == {"rows": 8, "error": 0}
    assert [record.step for record in dataset.history] == ["ingest"]


def test_running_again_scores_nothing_and_gives_the_same_manifest(store_uri, photos):
    task = Task(store_uri)
    first = add(task, photos(task.store), Scorer())
    scorer = Scorer()
    assert add(task, photos(task.store), scorer, workers=7) == first
    assert scorer.rows == 0


def test_another_option_gives_another_id_and_scores_again(store_uri, photos):
    task = Task(store_uri)
    first = add(task, photos(task.store), Scorer())
    scorer = Scorer(offset=1)
    second = add(task, photos(task.store), scorer, offset=1)
    assert (scorer.rows, second.id != first.id) == (8, True)


def test_only_the_new_shards_of_a_grown_dataset_are_scored(store_uri, photos):
    task = Task(store_uri)
    add(task, photos(task.store, shards=((0, 5), (5, 3))), Scorer())
    scorer = Scorer()
    grown = add(task, photos(task.store, shards=((0, 5), (5, 3), (8, 2))), scorer)
    assert (scorer.rows, grown.rows) == (2, 10)


def test_partitions_and_their_merge_equal_one_run(store_uri, photos, tmp_path):
    shards = tuple((start, 2) for start in range(0, 14, 2))
    whole_task = Task(str(tmp_path))
    whole = add(whole_task, photos(whole_task.store, shards=shards), Scorer())
    parts = []
    for partition in range(3):
        task = Task(store_uri, partition=partition, partitions=3)
        dataset = photos(task.store, shards=shards)
        scorer = Scorer()
        assert add(task, dataset, scorer) == dataset
        parts.append(scorer.rows)
    merge = Scorer()
    merged = add(Task(store_uri), photos(task.store, shards=shards), merge)
    assert (sum(parts), max(parts) - min(parts) <= 2, merge.rows) == (14, True, 0)
    assert (merged.id, merged.content_digest) == (whole.id, whole.content_digest)


def test_a_step_that_loses_a_row_is_an_error(store_uri, photos):
    task = Task(store_uri)
    with pytest.raises(ShardError, match="no row may be lost"):
        add(task, photos(task.store), Scorer(broken=True))


def test_a_step_over_all_rows_has_one_file_and_recomputes_nothing(store_uri, photos):
    task = Task(store_uri)
    dataset = photos(task.store)
    calls = []

    def compute():
        calls.append(1)
        ids = read_table(task.store, dataset, ["image_id"]).column(0)
        return {"image_id": ids, "keep": [True] * 8}

    def run():
        return add_whole_group(
            task, dataset, step="selection", options=Options(), columns=["keep"], compute=compute
        )

    assert run() == run()
    assert len(calls) == 1
    assert run().groups["selection"].shards == []


def test_a_manifest_whose_shard_was_wiped_is_made_again(store_uri, photos):
    task = Task(store_uri)
    dataset = photos(task.store)
    first = add(task, dataset, Scorer())
    task.store.delete(first.groups["captions"].shards[1].path)
    scorer = Scorer()
    again = add(task, dataset, scorer)
    assert (scorer.rows, again.missing_files(task.store), again.id) == (3, [], first.id)


@pytest.mark.parametrize(("partition", "partitions"), [(3, 3), (-2, 1), (0, 0)])
def test_impossible_partitions_are_refused(tmp_path, partition, partitions):
    with pytest.raises(ValueError, match="partition must be"):
        Task(str(tmp_path), partition=partition, partitions=partitions)


def test_artifact_metadata_is_flat_finite_and_names_what_made_it(store_uri, photos):
    task = Task(store_uri)
    dataset = add(task, photos(task.store), Scorer())
    metadata = artifact_metadata(dataset, store_uri, 1.0)
    assert all(isinstance(value, str | float) for value in metadata.values())
    assert metadata["data_uri"].endswith(dataset.path)
    assert metadata["dataset_id"] == dataset.id
    assert metadata["option_offset"] == "0"
    assert DatasetManifest.load(task.store, dataset.path).id == dataset.id


def test_canonical_id_of_a_step_depends_on_parent_options_policy_and_code():
    base = {"step": "s", "parents": ["p"], "options": {"a": 1}, "policy": {}, "code_version": "c"}
    ids = {
        identity.derive_id(**{**base, **change})
        for change in (
            {},
            {"parents": ["q"]},
            {"options": {"a": 2}},
            {"policy": {"m": 1}},
            {"code_version": "d"},
        )
    }
    assert len(ids) == 5

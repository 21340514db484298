"""A rerun makes what a fresh run with its options would make, and runs nothing else."""

import shutil
from pathlib import Path

import pytest

from components.data.manifest import DatasetManifest
from components.data.storage import open_store
from pipelines.launch import launch
from pipelines.launch import plan as plan_run
from pipelines.runners.rerun import RerunError, plan, start
from pipelines.runners.view import SilentView
from pipelines.runs.diff import diff, selected_dataset
from pipelines.runs.diff_page import diff_page
from pipelines.values import resolve

pytestmark = pytest.mark.slow
CAP = "selection.breed_cap=2"


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    monkeypatch.setenv("DOGFLOW_HOME", str(folder))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return folder


@pytest.fixture
def first(home, photo_source, models, check):
    """Runs the pipeline on the small set with more options; returns its record."""

    def run(data_root, *assignments):
        from rerun_pipelines import selections

        given = {
            f"{step.name}.{option}": value
            for step in check.curation(photo_source, models)
            for option, value in step.options.items()
        }
        general = {key.replace("selection", "general_selection"): v for key, v in given.items()}
        values = resolve(
            selections, assignments=assignments, given={**general, **given, "data_root": data_root}
        )
        planned = plan_run(selections, values, runner="subprocess")
        record = launch(planned, home, SilentView())
        assert record.state == "succeeded", record.error
        return record

    return run


def objects(uri):
    return {entry.path: entry.modified for entry in open_store(uri).list("")}


def ran(record):
    return {task.name for task in record.tasks if task.state == "succeeded"}


def made(home, record, task):
    dataset = selected_dataset(home, record, task)
    assert isinstance(dataset, DatasetManifest)
    return dataset.id, dataset.content_digest, dataset.counters


def test_a_rerun_of_selection_equals_a_fresh_run_and_runs_only_what_depends_on_it(
    home, first, store_uri, tmp_path
):
    earlier = first(store_uri)
    before = objects(store_uri)
    shutil.rmtree(home / "runs" / earlier.run_id / "kfp")  # what a rerun needs is in the data root
    planned = plan(home, earlier.run_id, "selection", [CAP], downstream=True)
    record = start(planned, home, SilentView())
    assert record.state == "succeeded", record.error
    assert ran(record) == {"selection", "report"}
    assert {task.state for task in record.tasks if task.name not in ran(record)} == {"reused"}

    after = objects(store_uri)
    assert {path: after[path] for path in before} == before, "nothing that was there is written again"
    new = {path.split("/")[1] for path in after.keys() - before.keys()}
    assert new <= {"selection", "manifests", "reports", "timings"}

    fresh = first((tmp_path / "fresh").as_uri(), CAP)
    for task in ("selection", "general-selection"):
        assert made(home, record, task) == made(home, fresh, task)
    assert made(home, record, "selection") != made(home, earlier, "selection")
    assert made(home, record, "general-selection") == made(home, earlier, "general-selection")
    for name in record.options:
        assert record.options[name] == fresh.options[name]
    assert record.code_versions == fresh.code_versions

    compared = diff(home, earlier.run_id, record.run_id)
    assert {key: (c.before, c.after) for key, c in compared.options.items()} == {
        "selection.breed_cap": (5200, 2)
    }
    assert compared.code_versions == compared.tasks == {} and compared.notes == []
    changed = compared.rows["selection"]
    assert changed.came == [] and changed.went
    assert {tuple(row.reasons) for row in changed.went} == {("breed_cap",)}
    assert changed.kept_before - changed.kept_after == len(changed.went)
    assert (compared.rows["general-selection"].came, compared.rows["general-selection"].went) == ([], [])
    assert diff_page(home, compared).count("data:image/jpeg;base64,") == len(changed.went)
    assert diff(home, record.run_id, fresh.run_id).rows["selection"].went == []


def test_inputs_that_were_collected_are_named_and_made_again_by_the_command_of_the_message(
    home, first, tmp_path
):
    root = (tmp_path / "data").as_uri()
    earlier = first(root)
    store = open_store(root)
    gone = [path for path in objects(root) if "/prompts/" in path or "/manifests/prompts-" in path]
    assert len(gone) > 2
    for path in gone:
        store.delete(path)
    message = r"result of prompts, but .* no longer in .* prompts --until selection`"
    with pytest.raises(RerunError, match=message):
        plan(home, earlier.run_id, "selection")
    again = start(plan(home, earlier.run_id, "prompts", until="selection"), home, SilentView())
    assert again.state == "succeeded", again.error
    assert made(home, again, "selection") == made(home, earlier, "selection")


def test_a_threshold_looser_than_the_scope_names_the_backfill_which_reruns_the_scores(home, first, tmp_path):
    earlier = first(
        (tmp_path / "data").as_uri(),
        "similarity.scope_min_side_px=4000",
        "foreground.scope_min_side_px=4000",
        "selection.min_side_px=4000",
        "general_selection.min_side_px=4000",
        "selection.clip_similarity=-0.99",  # a rule that needs the score and rejects nothing
    )
    loose = ["selection.min_side_px=128"]
    failed = start(plan(home, earlier.run_id, "selection", loose), home, SilentView())
    assert failed.state == "failed" and "--backfill" in failed.error
    planned = plan(home, earlier.run_id, "selection", loose, backfill=True)
    assert list(planned.runs) == ["similarity", "foreground", "prompts", "selection"]
    assert planned.runs["similarity"].rows == 32, "the good pictures; the copy is one of them"
    record = start(planned, home, SilentView())
    assert record.state == "succeeded", record.error
    assert made(home, record, "selection")[2]["kept"] > 0

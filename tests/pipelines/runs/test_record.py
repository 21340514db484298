"""Run records: whole files, found by id, honest about runs that were killed."""

import json
from datetime import UTC, datetime

import pytest

from pipelines.runs.record import (
    ArtifactRecord,
    RunError,
    RunRecord,
    Runs,
    TaskRecord,
    new_run_id,
    this_process,
)


def record(run_id, **fields):
    return RunRecord(
        run_id=run_id,
        pipeline="toy",
        runner="subprocess",
        started_at="2025-01-31T10:00:00+00:00",
        data_root="/d",
        **fields,
    )


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


def test_a_saved_record_is_loaded_as_it_was(runs):
    tasks = [
        TaskRecord(name="photos", step="photos", outputs={"result": ArtifactRecord(type="t", path="/p")})
    ]
    saved = record(
        "20250131-100000-toy-aaaa", state="succeeded", tasks=tasks, options={"photos": {"rows": 3}}
    )
    runs.save(saved)
    assert runs.load("20250131-100000-toy-aaaa") == saved
    assert [path.name for path in (runs.folder / saved.run_id).iterdir()] == ["run.json"]


def test_runs_are_found_by_a_beginning_and_as_the_latest(runs):
    for day in ("01", "02", "11"):
        runs.save(record(f"202501{day}-100000-toy-aaaa"))
    assert [found.run_id[:8] for found in runs] == ["20250111", "20250102", "20250101"]
    assert runs.load("latest").run_id.startswith("20250111")
    assert runs.load("20250111").run_id.startswith("20250111")
    with pytest.raises(RunError, match="2 runs begin with '2025010'"):
        runs.load("2025010")
    with pytest.raises(RunError, match="No run begins with '2024'"):
        runs.load("2024")


@pytest.mark.parametrize("run_id", ["", "../x", "a/b", ".", "..", ".hidden"])
def test_what_is_no_run_id_reads_nothing(runs, run_id):
    with pytest.raises(RunError, match="is not a run id"):
        runs.load(run_id)


def test_no_runs_is_an_error_that_says_what_to_do(runs):
    with pytest.raises(RunError, match="start one with `dogflow run`"):
        runs.load("latest")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"run_id": "a"}'])
def test_an_unreadable_record_is_an_error_and_does_not_hide_the_others(runs, text):
    runs.save(record("20250131-100000-toy-aaaa"))
    (runs.folder / "20250131-100000-toy-bbbb").mkdir()
    (runs.folder / "20250131-100000-toy-bbbb" / "run.json").write_text(text)
    assert [found.run_id for found in runs] == ["20250131-100000-toy-aaaa"]
    with pytest.raises(RunError, match="not a readable run record"):
        runs.load("20250131-100000-toy-bbbb")


def test_a_running_record_of_this_process_is_running(runs):
    runs.save(record("20250131-100000-toy-aaaa", state="running", **this_process()))
    assert runs.load("latest").state == "running"


@pytest.mark.parametrize("state", ["pending", "running"])
@pytest.mark.parametrize("changes", [{"process": 2**22 + 1}, {"process_started": 1.0}])
def test_a_record_going_on_whose_process_is_gone_was_interrupted(runs, changes, state):
    """Gone, or gone with its process id in use again."""
    tasks = [TaskRecord(name=state, step="s", state=state) for state in ("succeeded", "running", "pending")]
    runs.save(record("20250131-100000-toy-aaaa", state=state, tasks=tasks, **{**this_process(), **changes}))
    found = runs.load("latest")
    assert found.state == "interrupted" and found.error
    assert [task.state for task in found.tasks] == ["succeeded", "interrupted", "skipped"]
    assert json.loads((runs.folder / found.run_id / "run.json").read_text())["state"] == state


def test_a_task_that_started_after_the_last_look_of_a_killed_run_was_interrupted_too(runs):
    tasks = [TaskRecord(name=name, step="s", state="pending") for name in ("started", "not_yet")]
    killed = record("20250131-100000-toy-aaaa", state="running", tasks=tasks, process=2**22 + 1)
    runs.save(killed)
    state = runs.folder_of(killed.run_id) / "tasks" / "started" / "state.json"
    state.parent.mkdir(parents=True)
    state.write_text("{}")
    assert [task.state for task in runs.load("latest").tasks] == ["interrupted", "skipped"]


def test_ids_sort_by_time_and_name_the_pipeline():
    assert new_run_id("curation").split("-")[2] == "curation"
    assert (
        abs(
            (
                datetime.strptime(new_run_id("a")[:15], "%Y%m%d-%H%M%S")
                - datetime.now(UTC).replace(tzinfo=None)
            ).total_seconds()
        )
        < 5
    )
    assert new_run_id("a") != new_run_id("a")


def test_seconds_are_those_between_start_and_end():
    task = TaskRecord(
        name="a", step="a", started_at="2025-01-31T10:00:00+00:00", ended_at="2025-01-31T10:01:01.500+00:00"
    )
    assert (task.seconds, TaskRecord(name="a", step="a").seconds) == (61.5, 0)


def test_a_result_is_that_of_the_merge_where_there_is_one():
    part, merge = ArtifactRecord(type="t", path="part"), ArtifactRecord(type="t", path="merge")
    tasks = [
        TaskRecord(name="marks.0", step="marks", outputs={"result": part}),
        TaskRecord(name="marks-merge", step="marks", outputs={"result": merge}),
        TaskRecord(name="photos", step="photos", state="failed"),
    ]
    found = record("a", tasks=tasks)
    assert found.result("marks") == merge
    with pytest.raises(RunError, match="Task photos of run a failed: it has no result"):
        found.result("photos")
    with pytest.raises(RunError, match=r"no task x: it has marks\.0, marks-merge, photos"):
        found.task("x")

"""Whole runs of toy pipelines through kfp.local."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pipelines.launch import plan
from pipelines.runners import subprocess as runner
from pipelines.runners.view import SilentView
from pipelines.runs.record import Runs
from pipelines.values import resolve


@pytest.fixture
def start(home, tmp_path, monkeypatch):
    """Runs a pipeline with options; returns (record, what the tasks were called with)."""
    monkeypatch.setattr("pipelines.compile.code_version", lambda step: f"code-of-{step}")

    def run(pipeline, *assignments, partitions=1, environment=None):
        values = resolve(pipeline, assignments=assignments, given={"data_root": str(tmp_path / "data")})
        planned = plan(pipeline, values, partitions=partitions, runner="subprocess")
        record = runner.run(planned.ir, planned.record, Runs(home), environment or {}, SilentView())
        calls = (tmp_path / "data" / "calls.jsonl").read_text().splitlines()
        return record, [json.loads(line) for line in calls]

    return run


def states(record):
    return {task.name: task.state for task in record.tasks}


def wait_until(condition, limit_s=60):
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {limit_s} s")


def test_every_task_runs_once_and_the_record_says_how(start, toy, home):
    record, calls = start(toy, "photos.rows=4", "marks.threshold=0.75", partitions=3)
    assert record.state == "succeeded" and record.error == ""
    assert states(record) == dict.fromkeys(
        ["photos", "marks.0", "marks.1", "marks.2", "marks-merge"], "succeeded"
    )
    assert [call["step"] for call in calls] == ["photos", "marks", "marks", "marks", "marks"]
    assert sorted(call["partition"] for call in calls[1:]) == [-1, 0, 1, 2]
    assert {call["threshold"] for call in calls[1:]} == {0.75}
    assert calls[0]["code_version"] == "code-of-photos" == record.code_versions["photos"]
    photos = record.task("photos")
    assert (photos.attempts, photos.parameters["rows"], photos.error) == (1, 4, "")
    assert photos.progress.startswith("4/4 rows, ")
    assert record.task("marks.1").inputs["dataset"].metadata["count_rows"] == 4
    assert record.task("marks-merge").started_at >= record.task("marks.2").ended_at
    assert record.result("marks").metadata == {"count_rows": 4, "step": "marks"}
    assert json.loads(Path(record.result("marks").path).read_text()) == {"rows": 4}
    assert record.task("marks-merge").outputs["metrics"].type == "system.Metrics"
    assert Runs(home).load(record.run_id) == record


def test_kfps_own_output_and_its_print_stay_in_its_log(start, toy, home, capsys):
    record, _ = start(toy, partitions=3)
    print("after")
    assert capsys.readouterr().out == "after\n"
    assert "Executing task" in (Runs(home).folder_of(record.run_id) / "kfp.log").read_text()


def test_values_reach_tasks_as_they_are(start, toy):
    note = 'python3 "quoted" \N{DOG FACE}\N{LINE SEPARATOR} $HOME `id` \\'
    record, calls = start(toy, f"photos.note={note}", "photos.words=", 'photos.weights={"a": 1.5}')
    assert record.state == "succeeded"
    assert (calls[0]["note"], calls[0]["words"], calls[0]["weights"]) == (note, [], {"a": 1.5})


def test_tasks_get_the_environment_and_no_file_keeps_it(start, toy, home):
    _, calls = start(toy, environment={"TOY_KEY": "s3cr3t-value"})
    assert {call["key"] for call in calls} == {"s3cr3t-value"}
    assert "TOY_KEY" not in os.environ
    kept = [path for path in home.rglob("*") if path.is_file()]
    assert kept and not [path for path in kept if b"s3cr3t-value" in path.read_bytes()]


def test_nothing_temporary_is_left(start, toy, home, tmp_path):
    record, _ = start(toy)
    folder = Runs(home).folder_of(record.run_id)
    assert not (folder / "workspace").exists()
    assert not list(folder.rglob("tmp"))
    assert {path.name for path in folder.iterdir()} == {"kfp", "kfp.log", "run.json", "tasks"}


def test_a_failed_task_says_why_and_what_needs_it_is_skipped(start, twice):
    record, calls = start(twice, "first.behave=fail")
    assert record.state == "failed"
    assert states(record) == {"photos": "succeeded", "first": "failed", "second": "skipped"}
    assert record.task("first").error == "photo_7.jpg has no dog in it: remove it."
    assert record.error == "first: photo_7.jpg has no dog in it: remove it."
    assert record.task("first").attempts == 1
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("behave", "error"), [("break", "KeyError: 'breed'"), ("die", "It was killed (SIGKILL): usually because")]
)
def test_errors_that_are_no_sentences_are_named(start, toy, behave, error):
    record, _ = start(toy, f"marks.behave={behave}")
    assert states(record)["marks"] == "failed"
    assert record.task("marks").error.startswith(error)


def test_a_failed_part_fails_the_run_without_a_merge(start, toy):
    record, _ = start(toy, "marks.behave=fail", partitions=2)
    assert record.state == "failed"
    assert states(record)["marks-merge"] == "skipped"


@pytest.fixture
def waiting(toys, home, tmp_path):
    """A `dogflow run` in a process, whose second task waits for ever; gives (process, pids of the task)."""
    command = [sys.executable, str(toys / "toy_dogflow.py"), "run", "toy_pipelines:toy"]
    data = tmp_path / "data"
    with subprocess.Popen(
        [*command, "--data-root", str(data), "-p", "marks.behave=wait"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "DOGFLOW_STOP_GRACE_S": "5"},
    ) as process:
        file = data / "waiting.json"
        wait_until(lambda: (file.exists() and file.stat().st_size) or process.poll() is not None)
        yield process, list(json.loads(file.read_text()).values())
        process.kill()


def gone(pids):
    return [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_stops_the_tasks_and_is_recorded(waiting, home, number):
    process, pids = waiting
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "was interrupted" in errors and "goes on from there" in errors
    wait_until(lambda: gone(pids), limit_s=10)
    record = Runs(home).load("latest")
    assert record.state == "interrupted"
    assert states(record) == {"photos": "succeeded", "marks": "interrupted"}


def test_a_killed_run_leaves_no_task_behind_and_is_listed_as_interrupted(waiting, home):
    process, pids = waiting
    wait_until(lambda: states(Runs(home).load("latest"))["marks"] == "running")
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
    wait_until(lambda: gone(pids), limit_s=30)
    record = Runs(home).load("latest")
    assert (record.state, states(record)["marks"]) == ("interrupted", "interrupted")

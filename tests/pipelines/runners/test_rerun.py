"""Reruns of toy pipelines: what runs, with which inputs and options, and what is refused."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest

from components.data.options import OptionError
from pipelines import cli
from pipelines.launch import launch
from pipelines.launch import plan as plan_run
from pipelines.runners.rerun import RerunError, plan, start
from pipelines.runners.view import SilentView
from pipelines.runs.record import RunError, Runs
from pipelines.values import resolve


@pytest.fixture
def first(toys, home, tmp_path, monkeypatch):
    """Runs a pipeline of toy_pipelines; returns its record."""
    monkeypatch.setattr("pipelines.compile.code_version", lambda step: f"code-of-{step}")

    def run(name, *assignments, partitions=1):
        import toy_pipelines

        pipeline = getattr(toy_pipelines, name)
        values = resolve(pipeline, assignments=assignments, given={"data_root": str(tmp_path / "data")})
        planned = plan_run(pipeline, values, partitions=partitions, runner="subprocess")
        return launch(planned, home, SilentView())

    return run


@pytest.fixture
def calls(tmp_path):
    """What the tasks were called with since the last time it was asked."""
    seen = 0

    def new():
        nonlocal seen
        lines = [json.loads(line) for line in (tmp_path / "data/calls.jsonl").read_text().splitlines()]
        seen, made = len(lines), lines[seen:]
        return made

    return new


def states(record):
    return {task.name: task.state for task in record.tasks}


def test_only_the_task_runs_and_takes_the_runs_inputs(first, home, calls):
    earlier = first("fork", "photos.rows=4", "left.threshold=0.25")
    calls()
    planned = plan(home, earlier.run_id, "left", ["left.threshold=0.75"])
    assert (list(planned.runs), planned.reused) == (["left"], ["photos", "aside", "right"])
    assert planned.left_out == ["middle", "end"]
    assert planned.changes == {"left.threshold": (0.25, 0.75)}
    assert calls() == [], "a plan starts nothing"
    record = start(planned, home, SilentView())
    assert record.state == "succeeded"
    assert [(call["step"], call["threshold"]) for call in calls()] == [("marks", 0.75)]
    assert record.result("left").metadata["count_rows"] == 4
    assert states(record) == {
        "photos": "reused",
        "left": "succeeded",
        "right": "reused",
        "aside": "reused",
        "middle": "skipped",
        "end": "skipped",
    }
    assert (record.parent_run, record.rerun_of) == (earlier.run_id, "left")
    assert record.task("right").outputs == earlier.task("right").outputs
    assert record.task("right").reused_from == earlier.run_id
    assert record.options["left"]["threshold"] == 0.75
    assert Runs(home).load(record.run_id) == record


PARTS = [
    ("photos", {"downstream": True}, {"photos", "left", "right", "aside", "middle", "end"}),
    ("photos", {"until": "middle"}, {"photos", "left", "middle"}),
    ("left", {"downstream": True}, {"left", "middle", "end"}),
    ("left", {"until": "left"}, {"left"}),
    ("end", {"downstream": True}, {"end"}),
]


def test_downstream_is_all_that_depends_on_it_and_until_what_lies_between(first, home):
    first("fork")
    for task, changes, runs in PARTS:
        planned = plan(home, "latest", task, **changes)
        assert set(planned.runs) == runs, (task, changes)
        assert sorted([*planned.runs, *planned.reused, *planned.left_out]) == sorted(PARTS[0][2])


def test_an_option_of_two_tasks_reruns_both(first, home, calls):
    first("fork")
    calls()
    planned = plan(home, "latest", "middle", ["shared.threshold=0.125"])
    assert sorted(planned.runs) == ["aside", "middle"]
    assert start(planned, home, SilentView()).state == "succeeded"
    assert [call["threshold"] for call in calls()] == [0.125, 0.125]


def test_a_split_step_runs_whole_and_its_name_or_a_part_names_it(first, home, calls):
    earlier = first("toy", partitions=3)
    calls()
    for name in ("marks", "marks.1", "marks-merge"):
        assert list(plan(home, "latest", name).runs) == ["marks"]
    record = start(plan(home, earlier.run_id, "marks", ["marks.threshold=1"]), home, SilentView())
    assert record.state == "succeeded"
    assert sorted(call["partition"] for call in calls()) == [-1, 0, 1, 2]
    assert states(record) == {
        "photos": "reused",
        "marks.0": "succeeded",
        "marks.1": "succeeded",
        "marks.2": "succeeded",
        "marks-merge": "succeeded",
    }


def test_a_failed_task_and_what_it_kept_from_running(first, home, calls):
    earlier = first("fork", "left.behave=fail")
    assert earlier.state == "failed"
    calls()
    planned = plan(home, earlier.run_id, "left", ["left.behave="], downstream=True)
    record = start(planned, home, SilentView())
    assert record.state == "succeeded"
    assert {task.name for task in record.tasks if task.state == "succeeded"} >= {"left", "middle", "end"}
    assert record.task("photos").state == "reused"
    assert "photos" not in {call["step"] for call in calls()}


def test_a_rerun_can_be_rerun(first, home, calls):
    earlier = first("fork")
    second = start(plan(home, earlier.run_id, "left", downstream=True), home, SilentView())
    third = start(plan(home, second.run_id, "end", ["end.threshold=0"]), home, SilentView())
    assert third.state == "succeeded"
    assert third.task("right").reused_from == earlier.run_id
    assert third.task("left").reused_from == second.run_id


def test_a_failing_rerun_says_why(first, home):
    first("fork")
    record = start(plan(home, "latest", "left", ["left.behave=fail"], downstream=True), home, SilentView())
    assert record.state == "failed"
    assert record.error == "left: photo_7.jpg has no dog in it: remove it."
    assert states(record)["end"] == "skipped"


REFUSED = [
    ("lefty", [], {}, RerunError, "has no task lefty; did you mean left"),
    ("left", [], {"until": "rigt"}, RerunError, "has no task rigt; did you mean right"),
    ("left", [], {"until": "right"}, RerunError, "right does not depend on left: .* left, middle, end"),
    ("left", [], {"until": "end", "downstream": True}, RerunError, "give one"),
    ("left", ["left.treshold=1"], {}, OptionError, "no option left.treshold; did you mean left.thresh"),
    ("left", ["left.threshold=2"], {}, OptionError, "left.threshold"),
    ("left", ["left.threshold"], {}, OptionError, "has no '='"),
    ("left", ["data_root=/x"], {}, RerunError, "data_root cannot be changed"),
    ("left", ["photos.rows=9"], {}, RerunError, "is one of photos, .* photos --until left`"),
    ("left", ["end.threshold=1"], {}, RerunError, "is one of end, .*add --downstream, or --until end"),
    ("left", ["right.threshold=1"], {}, RerunError, "is one of right, .* by itself"),
]


def test_what_cannot_be_done_is_said_before_anything_starts(first, home):
    first("fork")
    for task, assignments, changes, kind, message in REFUSED:
        with pytest.raises(kind, match=message):
            plan(home, "latest", task, assignments, **changes)
    assert len(list(Runs(home))) == 1


def test_an_unknown_run_is_an_error(first, home):
    first("toy")
    with pytest.raises(RunError, match="No run begins with '1999'"):
        plan(home, "1999", "marks")


def test_a_task_whose_inputs_were_never_made_names_where_to_start(first, home):
    earlier = first("fork", "left.behave=fail")
    with pytest.raises(
        RerunError, match=rf"left, which .* `dogflow rerun {earlier.run_id} left --until middle`"
    ):
        plan(home, earlier.run_id, "middle")


def test_inputs_that_are_gone_are_named_with_the_fix(first, home):
    earlier = first("toy")
    shutil.rmtree(home / "runs" / earlier.run_id / "kfp")
    with pytest.raises(RerunError, match=r"needs the result of photos, but .* photos --until marks`"):
        plan(home, earlier.run_id, "marks")


def wait_until(condition, limit_s=60):
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"not within {limit_s} s")


def gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie"


def test_a_killed_rerun_leaves_no_task_and_the_same_command_ends_it(first, toys, home, tmp_path, calls):
    earlier = first("fork")
    calls()
    command = [sys.executable, str(toys / "toy_dogflow.py"), "rerun", earlier.run_id, "left", "--downstream"]
    command += ["-p", "left.behave=wait once"]
    waiting = tmp_path / "data/waiting.json"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: (waiting.exists() and waiting.stat().st_size) or process.poll() is not None)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=30)
    wait_until(lambda: all(gone(pid) for pid in json.loads(waiting.read_text()).values()))
    killed = Runs(home).load("latest")
    assert (killed.state, states(killed)["left"]) == ("interrupted", "interrupted")
    assert (states(killed)["right"], states(killed)["end"]) == ("reused", "skipped")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    record = Runs(home).load("latest")
    assert record.run_id != killed.run_id and record.state == "succeeded"
    assert states(record)["end"] == "succeeded"
    assert "photos" not in {call["step"] for call in calls()}


def test_the_command_says_what_runs_before_it_starts_and_how_to_go_on(first, home, calls, capsys):
    earlier = first("fork")
    calls()
    arguments = ["rerun", earlier.run_id, "left", "-p", "left.threshold=0.75", "--until", "middle"]
    assert cli.main([*arguments, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "  left.threshold: 0.5 -> 0.75" in out
    assert "Reuses: photos, aside, right" in out and "Leaves out: end" in out
    assert "as long as it took before" in out and out.endswith("Nothing was started.\n")
    assert cli.main([*arguments, "--dry-run", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert list(printed["runs"]) == ["left", "middle"]
    seconds = sum(earlier.task(name).seconds for name in ("left", "middle"))
    assert printed["seconds"] == pytest.approx(seconds, abs=0.11)
    assert calls() == [] and len(list(Runs(home))) == 1

    failing = ["rerun", earlier.run_id, "left", "-p", "left.behave=fail"]
    assert cli.main(failing) == 1
    capsys.readouterr()
    assert cli.main(["runs", "show"]) == 0
    shown = capsys.readouterr().out
    failed = Runs(home).load("latest")
    assert f"Rerun of left of {earlier.run_id}" in shown
    assert "ToyError: photo_7.jpg has no dog in it" in shown and "tasks/left/log.txt" in shown
    assert f"`dogflow rerun {failed.run_id} left --downstream`" in shown
    assert cli.main(["rerun", "latest", "lft"]) == 1
    assert "has no task lft; did you mean left?" in capsys.readouterr().err
    assert cli.main(["rerun", failed.run_id, "left", "-p", "left.behave=", "--downstream", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "succeeded"

"""What a run looks like while it goes."""

import io
import sys

import pytest
from rich.console import Console

from pipelines.runners.view import LiveView, PlainView, duration, view_for
from pipelines.runs.record import ArtifactRecord, RunRecord, TaskRecord


def record():
    tasks = [TaskRecord(name="photos", step="photos"), TaskRecord(name="marks[red]", step="marks")]
    return RunRecord(
        run_id="r", pipeline="toy", runner="subprocess", started_at="", data_root="", tasks=tasks
    )


def test_plain_lines_appear_once_for_each_change(capsys):
    out = io.StringIO()
    view, run = PlainView(Console(file=out, width=40)), record()
    view.update(run)
    run.tasks[0].state = "running"
    view.update(run)
    view.update(run)
    run.tasks[0].state = "succeeded"
    run.tasks[0].outputs = {"result": ArtifactRecord(type="t", path="p", metadata={"count_rows": 1234.0})}
    run.tasks[1].state = "failed"
    run.tasks[1].error = "photo [bold]7[/bold] has no dog: remove it, and then run the same command again."
    view.close(run)
    assert [line.split() for line in out.getvalue().splitlines()] == [
        ["photos", "running"],
        ["photos", "succeeded", "1,234", "rows"],
        ["marks[red]", "failed", *run.tasks[1].error.split()],
    ]


def test_a_running_task_says_now_and_then_what_it_does():
    out = io.StringIO()
    view, run = PlainView(Console(file=out), every_s=0), record()
    run.tasks[0].state, run.tasks[0].progress = "running", "1/9 rows, 3 rows/s"
    view.update(run)
    run.tasks[0].progress = "5/9 rows, 3 rows/s"
    view.update(run)
    assert "1/9 rows" in out.getvalue() and "5/9 rows" in out.getvalue()


def test_on_a_terminal_the_table_ends_with_every_task():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80)
    view, run = view_for(console), record()
    assert isinstance(view, LiveView)
    before = sys.stdout
    view.update(run)
    assert sys.stdout is before  # kfp's output, which goes there, must not get into the table
    run.tasks[0].state = "succeeded"
    view.close(run)
    last = out.getvalue().rpartition("task ")[2]
    assert "succeeded" in last and "pending" in last and "marks[red]" in last


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.44, "0.4 s"), (9.94, "9.9 s"), (12.4, "12 s"), (185, "3 min 5 s"), (7800, "2 h 10 min")],
)
def test_durations_are_readable(seconds, text):
    assert duration(seconds) == text

"""Shows a run while it goes: a table that stays in place on a terminal, plain lines elsewhere."""

import time
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pipelines.runs.record import DONE, RunRecord, TaskRecord

_STYLES = {
    "pending": "dim",
    "running": "cyan",
    "succeeded": "green",
    "reused": "green dim",
    "failed": "bold red",
    "skipped": "dim",
    "interrupted": "yellow",
}


class View(Protocol):
    """Is told about a run again and again, and once when it ends."""

    def update(self, record: RunRecord) -> None:
        """The run as it is now."""

    def close(self, record: RunRecord) -> None:
        """The run as it ended."""


class LiveView:
    """The table of tasks, redrawn in place."""

    def __init__(self, console: Console) -> None:
        # What kfp prints meanwhile goes to its own log; rich would bring it here.
        self._live = Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        self._started = False

    def update(self, record: RunRecord) -> None:
        if not self._started:
            self._live.start()
            self._started = True
        self._live.update(run_table(record), refresh=True)

    def close(self, record: RunRecord) -> None:
        self.update(record)
        self._live.stop()


class PlainView:
    """One line per change of state, and one every ten seconds for what a running task has done."""

    def __init__(self, console: Console, *, every_s: float = 10.0) -> None:
        self._console = console
        self._every_s = every_s
        self._shown: dict[str, str] = {}
        self._last: dict[str, float] = {}

    def update(self, record: RunRecord) -> None:
        if not self._shown:
            # What a rerun takes over or leaves out was said before it started.
            kept = ("reused", "skipped")
            self._shown = {t.name: t.state if t.state in kept else "pending" for t in record.tasks}
        for task in record.tasks:
            if task.state != self._shown[task.name]:
                self._shown[task.name] = task.state
                self._last[task.name] = time.monotonic()
                self._print(task)
            elif task.state == "running" and time.monotonic() - self._last[task.name] >= self._every_s:
                self._last[task.name] = time.monotonic()
                self._print(task)

    def close(self, record: RunRecord) -> None:
        self.update(record)

    def _print(self, task: TaskRecord) -> None:
        parts = [
            f"{task.name:<20} {task.state:<11}",
            duration(task.seconds) if task.seconds else "",
            _work(task),
        ]
        line = "  ".join(part for part in parts if part).rstrip()
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


class SilentView:
    """Shows nothing, for `--json` and for tests."""

    def update(self, record: RunRecord) -> None:
        pass

    def close(self, record: RunRecord) -> None:
        pass


def view_for(console: Console) -> View:
    """The view that suits where the output goes."""
    return LiveView(console) if console.is_terminal else PlainView(console)


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest_s = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest_s} s"
    return f"{minutes // 60} h {minutes % 60} min"


def run_table(record: RunRecord) -> Table:
    """The tasks of a run with their state, time and work."""
    table = Table(
        box=None, pad_edge=False, title=Text(f"{record.pipeline}  {record.run_id}"), title_justify="left"
    )
    table.add_column("task")
    table.add_column("state")
    table.add_column("time", justify="right")
    table.add_column("work", overflow="ellipsis", no_wrap=True)
    for task in record.tasks:
        time_text = duration(task.seconds) if task.started_at else ""
        state = Text(task.state, style=_STYLES[task.state])
        table.add_row(Text(task.name), state, time_text, Text(_work(task), style="dim"))
    return table


def _work(task: TaskRecord) -> str:
    """What it is doing, or what it did."""
    if task.state == "failed":
        return task.error
    rows = next(
        (int(a.metadata["count_rows"]) for a in task.outputs.values() if "count_rows" in a.metadata), 0
    )
    if task.state in DONE and rows and not task.progress:
        return f"{rows:,} rows"
    return task.progress

"""The end of a task's log, from inside the run's folder alone."""

import os
from pathlib import Path

from components.report.wording import printable
from pipelines.runs.record import Runs, TaskRecord

TAIL_BYTES = 32_768
TAIL_LINES = 200


def log_tail(runs: Runs, run_id: str, task: TaskRecord) -> str:
    """The last lines of a task's log; "" when there is none, or when it lies outside its run's folder."""
    if not task.log:
        return ""
    try:
        folder = runs.folder_of(task.reused_from or run_id).resolve()
        path = (folder / task.log).resolve()
        if not path.is_relative_to(folder) or not folder.is_relative_to(runs.folder.resolve()):
            return ""
        return _tail(path)
    except (OSError, ValueError, RuntimeError):
        return ""


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL_BYTES))
        lines = file.read(TAIL_BYTES).decode("utf-8", "replace").splitlines()
    return "\n".join(printable(line) for line in lines[-TAIL_LINES:])

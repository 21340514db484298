"""Starts a rerun in a process of its own, which goes on when the console ends.

`python -m pipelines.lineage.console.relaunch HOME plan|start` reads what to run as JSON from stdin and prints
one line of JSON: the plan, the id of the new run, or why there is none. Nothing passes through a shell.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict


class RelaunchError(ValueError):
    """A rerun that could not be planned or started; the message is that of the planner."""


class Request(BaseModel):
    """What to run again; see `pipelines.runners.rerun.plan`."""

    model_config = ConfigDict(extra="forbid")

    run: str
    task: str
    assignments: list[str] = []
    downstream: bool = True
    backfill: bool = False


def planned(home: Path, request: Request) -> dict[str, Any]:
    """What a rerun would run, reuse and cost, as plain data. Raises RelaunchError."""
    return _ask(home, request, start=False)


def started(home: Path, request: Request) -> str:
    """Start a rerun; returns its run id. Raises RelaunchError."""
    return str(_ask(home, request, start=True)["run_id"])


def _ask(home: Path, request: Request, *, start: bool) -> dict[str, Any]:
    # Planning changes the environment (the store's address) and loads the compiler: not in the server.
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(home), "start" if start else "plan"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdin is not None and process.stdout is not None
    with process.stdin as stdin:
        stdin.write(request.model_dump_json().encode())
    with process.stdout as stdout:
        line = stdout.readline()
    # Nobody else would: an ended child stays until its parent has asked for it.
    threading.Thread(target=process.wait, daemon=True).start()
    try:
        answer = json.loads(line)
    except ValueError:
        raise RelaunchError("The process that plans the rerun ended without an answer.") from None
    if "error" in answer:
        raise RelaunchError(answer["error"])
    return answer


def _main(arguments: Sequence[str]) -> None:
    from pipelines.runners.rerun import plan, start
    from pipelines.runners.view import SilentView

    home, what = Path(arguments[0]), arguments[1]
    request = Request.model_validate_json(sys.stdin.buffer.read())
    try:
        rerun = plan(
            home,
            request.run,
            request.task,
            request.assignments,
            downstream=request.downstream,
            backfill=request.backfill,
        )
    except Exception as error:
        _answer({"error": " ".join(str(error).split()) or type(error).__name__})
        return
    if what == "plan":
        _answer(rerun.to_dict())
        return
    from pipelines.runs.record import Runs, this_process

    # The console leads its reader to the run's page at once, so its record must be there, and name the
    # process without which nothing will come of it.
    record = rerun.planned.record
    record.process, record.process_started = this_process().values()
    Runs(home).save(record)
    _answer({"run_id": record.run_id})
    start(rerun, home, SilentView())


def _answer(answer: dict[str, Any]) -> None:
    """Print the one line, and let go of the pipe."""
    print(json.dumps(answer), flush=True)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


if __name__ == "__main__":
    # As in pipelines.cli: spinning threads would slow each other down on a busy machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    _main(sys.argv[1:])

"""Runs one task of a local pipeline: `python3 -m pipelines.runners.supervise COMMAND...`.

kfp.local starts it in place of the task's command. It keeps the task's log and state in files of the run's
folder, and takes care that a task never outlives its run: SIGTERM and the death of the parent stop the task's
whole process group, with time to save first. Imports the standard library only, since it starts with every
task.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

RUN_FOLDER = "DOGFLOW_RUN_FOLDER"
GRACE = "DOGFLOW_STOP_GRACE_S"
STOP_FILE = "stop"
STATE_FILE = "state.json"
INTERRUPTED = 130
_POLL_S = 0.1


def task_folder(run_folder: Path, name: str) -> Path:
    """Where a task's log and state lie."""
    return run_folder / "tasks" / name


def task_name(output_file: str) -> str:
    """Name of the task that writes this executor output: `quality`, or `quality.3` in a parallel loop."""
    parts = Path(output_file).parts
    name = parts[-2]
    _, iteration, index = parts[-3].rpartition("-iteration-")
    return f"{name}.{index}" if iteration and index.isdigit() else name


def write_json(path: Path, value: Any) -> None:
    """Write whole or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(value))
    partial.replace(path)


def restore(command: list[str]) -> list[str]:
    """The command with its inputs as they were.

    kfp.local replaces the word python3 by the interpreter's path in all arguments, and so in any option,
    path or URI that contains it.
    """
    restored = list(command)
    index = restored.index("--executor_input") + 1
    restored[index] = restored[index].replace(sys.executable, "python3")
    return restored


class Supervisor:
    """One task's process, log and state."""

    def __init__(self, run_folder: Path, command: list[str]) -> None:
        self.command = restore(command)
        executor_input = json.loads(self.command[self.command.index("--executor_input") + 1])
        name = task_name(executor_input["outputs"]["outputFile"])
        self.run_folder = run_folder
        self.folder = task_folder(run_folder, name)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.parent = os.getppid()
        self.process: subprocess.Popen[bytes] | None = None
        self.stopping_since = 0.0
        self.state: dict[str, Any] = {
            "name": name,
            "attempt": self._earlier_attempts() + 1,
            "supervisor": os.getpid(),
            "started": time.time(),
            "ended": 0.0,
            "returncode": None,
            "interrupted": False,
            "executor_input": executor_input,
        }

    def _earlier_attempts(self) -> int:
        try:
            return int(json.loads((self.folder / STATE_FILE).read_text())["attempt"])
        except (OSError, ValueError, KeyError):
            return 0

    def save(self) -> None:
        """Write the state file."""
        write_json(self.folder / STATE_FILE, self.state)

    def run(self) -> int:
        """Run the task to its end; returns its exit code, 130 when it was stopped."""
        if (self.run_folder / STOP_FILE).exists():
            return INTERRUPTED
        scratch = self.folder / "tmp"
        scratch.mkdir(exist_ok=True)
        self.save()
        signal.signal(signal.SIGTERM, lambda *_: self._stop())
        with (self.folder / "log.txt").open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "TMPDIR": str(scratch), "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            )
            returncode = self._wait(self.process)
        shutil.rmtree(scratch, ignore_errors=True)
        self.state |= {"ended": time.time(), "returncode": returncode}
        self.save()
        return returncode

    def _wait(self, process: "subprocess.Popen[bytes]") -> int:
        grace_s = float(os.environ.get(GRACE) or 20)
        if self.stopping_since:  # told to stop while the process was being started
            _signal_group(process, signal.SIGTERM)
        while True:
            try:
                returncode = process.wait(_POLL_S)
                break
            except subprocess.TimeoutExpired:
                pass
            if os.getppid() != self.parent and not self.stopping_since:
                self._stop()
            if self.stopping_since and time.monotonic() - self.stopping_since > grace_s:
                _signal_group(process, signal.SIGKILL)
        # What the task itself started must not outlive it either.
        _signal_group(process, signal.SIGKILL)
        return INTERRUPTED if self.stopping_since else returncode

    def _stop(self) -> None:
        """First call: ask. Second call: do not ask."""
        number = signal.SIGKILL if self.stopping_since else signal.SIGTERM
        self.stopping_since = self.stopping_since or time.monotonic()
        self.state["interrupted"] = True
        if self.process is not None:
            _signal_group(self.process, number)


def _signal_group(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def main(command: list[str]) -> int:
    """Supervise one task."""
    # Ctrl-C reaches every process of the terminal's group; only the run decides what to do about it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = Supervisor(Path(os.environ[RUN_FOLDER]), command).run()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

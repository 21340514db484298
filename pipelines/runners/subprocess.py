"""Runs a compiled pipeline on this machine: kfp.local starts every task as a process.

kfp.local runs in a thread with its own output kept in `kfp.log`; this thread follows the tasks' state files,
keeps the run's record, shows progress and hears Ctrl-C.
"""

import builtins
import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from pipelines.runners.localise import localise
from pipelines.runners.supervise import RUN_FOLDER, STOP_FILE
from pipelines.runners.tracking import Tracker
from pipelines.runners.view import View
from pipelines.runs.record import DONE, RunRecord, Runs, now, this_process

_POLL_S = 0.2


def run(ir: str, record: RunRecord, runs: Runs, environment: Mapping[str, str], view: View) -> RunRecord:
    """Run the IR with `record.parameters`, to its end; returns the record, whose state says how it went.

    `environment` is added to the tasks' (the store's address and keys; it is written nowhere). On Ctrl-C or
    SIGTERM the tasks are stopped and the state is "interrupted"; the same command goes on from there.
    """
    folder = runs.folder_of(record.run_id)
    folder.mkdir(parents=True, exist_ok=True)
    record.state = "running"
    record.process, record.process_started = this_process().values()
    runs.save(record)
    tracker = Tracker(folder, record)
    with _environment({**environment, RUN_FOLDER: str(folder)}), (folder / "kfp.log").open("w") as log:
        work = _Work(localise(yaml.safe_load(ir.partition("\n---")[0])), record.parameters, folder)
        with contextlib.redirect_stdout(log), _own_print():
            work.start()
            interrupted = _follow(work, tracker, record, runs, view)
    tracker.update()
    _conclude(record, interrupted, work.error)
    runs.save(record)
    view.close(record)
    return record


class _Work(threading.Thread):
    """kfp.local's run."""

    def __init__(self, ir: dict[str, Any], arguments: dict[str, Any], folder: Path) -> None:
        super().__init__(name="kfp.local", daemon=True)
        self._ir, self._arguments, self._folder = ir, arguments, folder
        self.error = ""
        self.done = threading.Event()

    def run(self) -> None:
        from kfp import components, local

        try:
            local.init(
                runner=local.SubprocessRunner(use_venv=False),
                pipeline_root=str(self._folder / "kfp"),
                # kfp deletes this folder when the pipeline ends.
                workspace_root=str(self._folder / "workspace"),
                raise_on_error=False,
                enable_caching=False,
            )
            components.load_component_from_text(yaml.safe_dump(self._ir))(**self._arguments)
        except Exception as error:
            self.error = f"kfp.local failed: {type(error).__name__}: {error}"
        finally:
            local.config.LocalExecutionConfig.instance = None
            self.done.set()


def _follow(work: _Work, tracker: Tracker, record: RunRecord, runs: Runs, view: View) -> bool:
    """Keep record and view up to date until the work ends; returns whether it was interrupted."""
    heard = 0
    with _Interrupts() as interrupts:
        while not work.done.wait(_POLL_S):
            if interrupts.count > heard:
                heard = interrupts.count
                (tracker.folder / STOP_FILE).touch()
                tracker.stop()
            if tracker.update():
                runs.save(record)
            view.update(record)
    return heard > 0


def _conclude(record: RunRecord, interrupted: bool, error: str) -> None:
    complete = all(task.state in (*DONE, "skipped") for task in record.tasks)
    for task in record.tasks:
        if task.state == "pending":
            task.state = "skipped"
        elif task.state == "running" and interrupted:
            task.state = "interrupted"
        elif task.state == "running":
            task.state, task.error = "failed", "The process that watches it was killed."
    failed = [task for task in record.tasks if task.state == "failed"]
    record.ended_at = now()
    record.state = "interrupted" if interrupted else "succeeded" if complete and not error else "failed"
    record.error = "; ".join(f"{task.name}: {task.error}" for task in failed) or error
    if record.state == "failed" and not record.error:
        record.error = "Not every task ran; kfp.log in the run's folder says why."


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """kfp.local has no way to give tasks an environment: they inherit this process's."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _own_print() -> Iterator[None]:
    """kfp.local replaces the built-in print in every task thread, and two of them leave theirs behind."""
    before = builtins.print
    try:
        yield
    finally:
        builtins.print = before


class _Interrupts:
    """Counts Ctrl-C and SIGTERM instead of raising somewhere, where signals can be heard at all."""

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "_Interrupts":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, *_: object) -> None:
        self.count += 1

"""The record of a run: one JSON file in `<home>/runs/<run_id>/`, the same for every runner.

It is written whole at every change of state, so that a reader never sees half of one.
"""

import json
import os
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

import psutil
from pydantic import BaseModel, ConfigDict, ValidationError

from pipelines.runners.supervise import STATE_FILE, task_folder

# "reused": taken over from the run it was rerun from. "skipped": not asked for, or what it needs failed.
State = Literal["pending", "running", "succeeded", "reused", "failed", "skipped", "interrupted"]
DONE: tuple[State, ...] = ("succeeded", "reused")
GOING: tuple[State, ...] = ("pending", "running")
FILE_NAME = "run.json"
Parsed = TypeVar("Parsed", bound=BaseModel)


class RunError(ValueError):
    """A run that does not exist or whose record cannot be read."""


class ArtifactRecord(BaseModel):
    """An artifact that went into or came out of a task. `metadata` is KFP's, flat str and float."""

    model_config = ConfigDict(extra="forbid")

    type: str
    path: str
    metadata: dict[str, Any] = {}


class TaskRecord(BaseModel):
    """One task. Times are ISO 8601 in UTC, "" before they are known; `log` is relative to the run folder.

    `reused_from` is the run that did the work of a task in state "reused"; the log lies in that run's folder.
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    step: str
    state: State = "pending"
    started_at: str = ""
    ended_at: str = ""
    attempts: int = 0
    parameters: dict[str, Any] = {}
    inputs: dict[str, ArtifactRecord] = {}
    outputs: dict[str, ArtifactRecord] = {}
    log: str = ""
    progress: str = ""
    error: str = ""
    reused_from: str = ""

    @property
    def seconds(self) -> float:
        """How long it took, or has taken up to now."""
        return _seconds(self.started_at, self.ended_at)

    @property
    def counters(self) -> dict[str, float]:
        """What the step counted and measured, by name; {} before it is done."""
        metrics = self.outputs.get("metrics")
        return dict(metrics.metadata) if metrics is not None else {}


class RunRecord(BaseModel):
    """One run of a pipeline. `options` are by prefix, `code_versions` by step, `parameters` by KFP name.

    `process` and `process_started` tell a run that is going on from one whose process was killed.
    `definition` is the pipeline's `module:attribute`. A rerun names the run whose inputs it takes
    (`parent_run`) and the task that was asked for (`rerun_of`).
    """

    model_config = ConfigDict(extra="forbid")

    format: Literal[1] = 1
    run_id: str
    pipeline: str
    definition: str = ""
    runner: str
    parent_run: str = ""
    rerun_of: str = ""
    state: State = "pending"
    started_at: str
    ended_at: str = ""
    data_root: str
    embedded_store: bool = False
    profile: str = ""
    partitions: int = 1
    parameters: dict[str, Any] = {}
    options: dict[str, dict[str, Any]] = {}
    code_versions: dict[str, str] = {}
    tasks: list[TaskRecord] = []
    error: str = ""
    process: int = 0
    process_started: float = 0.0

    @property
    def seconds(self) -> float:
        """How long it took, or has taken up to now."""
        return _seconds(self.started_at, self.ended_at)

    def task(self, name: str) -> TaskRecord:
        """The task called `name`; RunError that lists those there are."""
        for task in self.tasks:
            if task.name == name:
                return task
        names = ", ".join(task.name for task in self.tasks)
        raise RunError(f"Run {self.run_id} has no task {name}: it has {names}.")

    def result(self, name: str) -> ArtifactRecord:
        """The `result` artifact of a task, of its merge when it was split; RunError before there is one."""
        merged = f"{name}-merge"
        task = self.task(merged if any(task.name == merged for task in self.tasks) else name)
        if "result" not in task.outputs:
            raise RunError(f"Task {task.name} of run {self.run_id} {task.state}: it has no result.")
        return task.outputs["result"]


class TaskSummary(BaseModel):
    """What a list of runs says of a task."""

    state: State = "pending"


class RunSummary(BaseModel):
    """What a list says of a run: a part of its record, read several times faster than the whole."""

    run_id: str
    pipeline: str
    state: State = "pending"
    profile: str = ""
    parent_run: str = ""
    rerun_of: str = ""
    started_at: str
    ended_at: str = ""
    tasks: list[TaskSummary] = []
    error: str = ""

    @property
    def seconds(self) -> float:
        """How long it took, or has taken up to now."""
        return _seconds(self.started_at, self.ended_at)


class Runs:
    """The runs under one home folder."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "runs"

    def folder_of(self, run_id: str) -> Path:
        """Folder of a run; RunError for an id that is no plain name."""
        if not run_id or run_id != Path(run_id).name or run_id.startswith("."):
            raise RunError(f"{run_id!r} is not a run id: `dogflow runs` lists them.")
        return self.folder / run_id

    def save(self, record: RunRecord) -> None:
        """Replace the run's record."""
        folder = self.folder_of(record.run_id)
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f".{FILE_NAME}.{os.getpid()}"
        partial.write_text(record.model_dump_json(indent=1))
        partial.replace(folder / FILE_NAME)

    def load(self, run_id: str) -> RunRecord:
        """A run by its id, the beginning of one that no other shares, or `latest`."""
        if run_id == "latest":
            newest = next(iter(self), None)
            if newest is None:
                raise RunError(f"There are no runs in {self.folder}: start one with `dogflow run`.")
            return newest
        self.folder_of(run_id)
        matches = [name for name in self.ids() if name.startswith(run_id)]
        if run_id in matches:
            matches = [run_id]
        if len(matches) != 1:
            what = f"{len(matches)} runs begin" if matches else "No run begins"
            raise RunError(f"{what} with {run_id!r} in {self.folder}: `dogflow runs` lists them.")
        return self.read(matches[0])

    def __iter__(self) -> Iterator[RunRecord]:
        """All runs that have a readable record, the newest first."""
        for name in self.ids():
            try:
                yield self.read(name)
            except RunError:
                continue

    def ids(self) -> list[str]:
        """Ids of all runs with a record, the newest first. Reads no record."""
        return sorted((path.parent.name for path in self.folder.glob(f"*/{FILE_NAME}")), reverse=True)

    def read(self, run_id: str) -> RunRecord:
        """The run of exactly this id; RunError when its record is not there or not readable."""
        return _without_ghost(self._parse(RunRecord, run_id), self.folder_of(run_id))

    def summary(self, run_id: str) -> RunSummary:
        """What a list says of the run of exactly this id; RunError as `read`."""
        summary = self._parse(RunSummary, run_id)
        # Whether a run still goes on takes the whole record.
        if summary.state not in GOING:
            return summary
        return RunSummary.model_validate(self.read(run_id).model_dump(include=set(RunSummary.model_fields)))

    def _parse(self, model: type[Parsed], run_id: str) -> Parsed:
        path = self.folder_of(run_id) / FILE_NAME
        try:
            return model.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            reason = " ".join(str(error).split())
            raise RunError(f"{path} is not a readable run record: {reason}") from None


def new_run_id(pipeline: str) -> str:
    """An id that sorts by start time: `20250131-142233-curation-9f3a`."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{pipeline}-{secrets.token_hex(2)}"


def now() -> str:
    """This moment in UTC, ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def this_process() -> dict[str, Any]:
    """The record's fields that tell whether the process that runs it is still there."""
    return {"process": os.getpid(), "process_started": psutil.Process().create_time()}


def to_json(value: Any) -> str:
    """JSON for `--json` outputs."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def _without_ghost(record: RunRecord, folder: Path) -> RunRecord:
    """A run whose process is gone did not get to say so: it was interrupted."""
    if record.state not in GOING or not record.process or _is_alive(record):
        return record
    for task in record.tasks:
        # A task writes its own state; the run may not have looked at it any more.
        started = (task_folder(folder, task.name) / STATE_FILE).is_file()
        if task.state == "running" or (task.state == "pending" and started):
            task.state = "interrupted"
        elif task.state == "pending":
            task.state = "skipped"
    record.state = "interrupted"
    record.error = record.error or "The process that ran it was killed."
    return record


def _is_alive(record: RunRecord) -> bool:
    try:
        # A process id is used again after a while; the start time tells the two apart.
        return abs(psutil.Process(record.process).create_time() - record.process_started) < 2
    except psutil.Error:
        return False


def _seconds(start: str, end: str) -> float:
    if not start:
        return 0.0
    stop = datetime.fromisoformat(end) if end else datetime.now(UTC)
    return (stop - datetime.fromisoformat(start)).total_seconds()

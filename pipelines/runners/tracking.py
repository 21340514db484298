"""Follows the tasks of a local run through the files their supervisors write."""

import json
import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipelines.runners.supervise import STATE_FILE, task_folder
from pipelines.runners.tasklog import ProgressReader, error_sentence
from pipelines.runs.record import ArtifactRecord, RunRecord, TaskRecord


class Tracker:
    """Brings a run's record up to date with the state files of its tasks."""

    def __init__(self, folder: Path, record: RunRecord) -> None:
        self.folder = folder
        self._record = record
        self._seen: dict[str, tuple[int, bool]] = {}
        self._progress = {
            task.name: ProgressReader(task_folder(folder, task.name) / "log.txt") for task in record.tasks
        }

    def update(self) -> bool:
        """Read the state files; returns whether any task changed its state."""
        changed = False
        for task in self._record.tasks:
            state = self._state(task.name)
            if not state:
                continue
            task.progress = self._progress[task.name].read()
            key = (int(state["attempt"]), bool(state["ended"]))
            if self._seen.get(task.name) == key:
                continue
            self._seen[task.name] = key
            self._apply(task, state)
            changed = True
        return changed

    def stop(self) -> None:
        """Ask the supervisors of running tasks to stop them; asking again means at once."""
        for task in self._record.tasks:
            state = self._state(task.name)
            if state and not state["ended"]:
                try:
                    os.kill(state["supervisor"], signal.SIGTERM)
                except ProcessLookupError:
                    continue

    def _state(self, name: str) -> dict[str, Any]:
        try:
            return json.loads((task_folder(self.folder, name) / STATE_FILE).read_bytes())
        except (OSError, ValueError):
            return {}

    def _apply(self, task: TaskRecord, state: dict[str, Any]) -> None:
        log = task_folder(self.folder, task.name) / "log.txt"
        inputs = state["executor_input"].get("inputs", {})
        task.attempts = state["attempt"]
        task.log = str(log.relative_to(self.folder))
        task.started_at, task.ended_at = _iso(state["started"]), _iso(state["ended"])
        task.parameters = inputs.get("parameterValues", {})
        task.inputs = _artifacts(inputs.get("artifacts", {}))
        if not state["ended"]:
            task.state = "running"
        elif state["interrupted"]:
            task.state = "interrupted"
        elif state["returncode"] == 0:
            task.state = "succeeded"
            task.outputs = _outputs(state["executor_input"]["outputs"])
        else:
            task.state = "failed"
            returncode = state["returncode"]
            task.error = error_sentence(log, returncode if returncode > 0 else 128 - returncode)


def _outputs(outputs: dict[str, Any]) -> dict[str, ArtifactRecord]:
    """Declared output artifacts, with the metadata that the executor wrote beside them."""
    found = _artifacts(outputs.get("artifacts", {}))
    try:
        written = json.loads(Path(outputs["outputFile"]).read_bytes()).get("artifacts", {})
    except (OSError, ValueError):
        written = {}
    for name, artifact in _artifacts(written).items():
        found[name] = found[name].model_copy(update={"path": artifact.path, "metadata": artifact.metadata})
    return found


def _artifacts(lists: dict[str, Any]) -> dict[str, ArtifactRecord]:
    found = {}
    for name, entry in lists.items():
        for artifact in entry.get("artifacts", [])[:1]:
            kind = artifact.get("type", {}).get("schemaTitle", "")
            found[name] = ArtifactRecord(
                type=kind, path=artifact.get("uri", ""), metadata=artifact.get("metadata", {})
            )
    return found


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds") if seconds else ""

"""Made-up manifests and run records, for graphs of any shape without running a step."""

from typing import Any

import pytest

from components.data.artifacts import MANIFESTS
from components.data.manifest import DatasetManifest, Manifest
from pipelines.runs.record import ArtifactRecord, RunRecord, TaskRecord


class Making:
    """Makes manifests and records. Ids are made of one letter, and read well in a failure."""

    def manifest(self, letter: str, kind: str = "dataset", parents: str = "", **fields: Any) -> Manifest:
        """A manifest with the id `letter` * 16, derived from those of `parents`."""
        steps = {"dataset": "ingest" if not parents else "quality", "model": "training"}
        values: dict[str, Any] = {
            "name": "dogs",
            "id": letter * 16,
            "step": steps.get(kind, kind),
            "parents": [parent * 16 for parent in parents],
            "code_version": "c" * 16,
            "options": {"stage": 1} if kind == "model" else {},
            **fields,
        }
        model = MANIFESTS[kind]
        return model(rows=3, **values) if model is DatasetManifest else model(**values)

    def artifact(self, manifest: Manifest, root: str) -> ArtifactRecord:
        """How a run record names it."""
        from components.data.task import artifact_metadata

        return ArtifactRecord(type="", path="", metadata=artifact_metadata(manifest, root, 1.0))

    def run(self, run_id: str, root: str, *tasks: TaskRecord, **fields: Any) -> RunRecord:
        """A finished run."""
        values: dict[str, Any] = {
            "pipeline": "toy",
            "runner": "subprocess",
            "state": "succeeded",
            "started_at": "2026-01-01T00:00:00.000+00:00",
            "ended_at": "2026-01-01T00:01:00.000+00:00",
            "code_versions": {task.step: "c" * 16 for task in tasks},
            **fields,
        }
        return RunRecord(run_id=run_id, data_root=root, tasks=list(tasks), **values)

    def task(self, step: str, inputs: dict, outputs: dict, **fields: Any) -> TaskRecord:
        """A finished task."""
        values: dict[str, Any] = {
            "name": step,
            "state": "succeeded",
            "started_at": "2026-01-01T00:00:10.000+00:00",
            "ended_at": "2026-01-01T00:00:20.000+00:00",
            **fields,
        }
        return TaskRecord(step=step, inputs=inputs, outputs=outputs, **values)


@pytest.fixture
def making() -> Making:
    """The maker of manifests and records."""
    return Making()

"""A run of dog-breed whose trainings are noted, not done."""

import pytest

from components.data.artifacts import EvaluationManifest, ModelManifest, SamplesManifest
from pipelines.bench import model as bench
from pipelines.runs.record import RunRecord

KINDS = {"sampling": SamplesManifest, "evaluation": EvaluationManifest}
OPTIONS = {
    "initialization": {},
    "stage0": {"stage": 0, "steps": 150},
    "stage1": {"stage": 1, "steps": 450},
    "stage2": {"stage": 2, "steps": 400, "final_lr_share": 0.1},
    "sampling": {},
    "evaluation": {},
}


@pytest.fixture
def trainings(monkeypatch, tmp_path):
    """Options of the trainings in order, and a run; a model's accuracy is .5 + .1 a stage + .01 its seed."""
    seen = []

    def run(self, step, prefix, inputs, values):
        options = {**self._options[prefix], **values}
        counters = {}
        if step == "training":
            seen.append(options)
        if step == "evaluation":
            stage, seed = seen[-1]["stage"], seen[-1]["seed"]
            counters = {
                "breed_accuracy": 0.5 + 0.1 * stage + 0.01 * seed,
                "pairs_accuracy": 0.9,
                "pairs_histogram_accuracy": 0.5 + 0.1 * seed,
                "frechet_distance": 90 - 10 * stage,
            }
        return KINDS.get(step, ModelManifest)(
            name="dogs", id="0" * 16, step=step, parents=[], code_version="c", options={}, counters=counters
        )

    monkeypatch.setattr(bench.ModelBench, "_run", run)
    monkeypatch.setattr(bench.ModelBench, "_dataset", lambda self, record, task: None)
    record = RunRecord(
        run_id="r",
        pipeline="dog-breed",
        runner="subprocess",
        started_at="",
        data_root=str(tmp_path),
        options=OPTIONS,
    )
    return seen, record

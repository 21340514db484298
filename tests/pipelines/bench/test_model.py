"""Which trainings the model bench does, and what it makes of their scores; the steps are stood in for."""

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
    """[(stage, steps, seed)] in order; the accuracy of a model is .5 + .1 a stage + .01 its seed."""
    seen = []

    def run(self, step, prefix, inputs, values):
        options = {**self._options[prefix], **values}
        counters = {}
        if step == "training":
            seen.append((options["stage"], options["steps"], options["seed"]))
        if step == "evaluation":
            stage, _, seed = seen[-1]
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


def test_every_seed_trains_three_stages_and_the_first_a_control_of_as_many_steps_in_stage_0(trainings):
    seen, record = trainings
    bench.bench_model(record, [0, 1])
    assert seen == [
        *[(0, 150, 0), (1, 450, 0), (2, 400, 0)],
        *[(0, 150, 1), (1, 450, 1), (2, 400, 1)],
        (0, 1000, 0),
    ]


def test_figures_are_means_over_seeds_and_the_worst_seed_is_told(trainings):
    report = bench.bench_model(trainings[1], [0, 2])
    assert report.value("breed accuracy, mean of seeds") == pytest.approx(0.71)
    assert report.value("breed accuracy, worst seed") == pytest.approx(0.70)
    assert report.value("pairs: accuracy over colour guesser, mean") == pytest.approx(0.3)
    assert report.value("stage1: frechet distance") == pytest.approx(80)
    assert report.value("stage 0 only: breed accuracy") == pytest.approx(0.50)

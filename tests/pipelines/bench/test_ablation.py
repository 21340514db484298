"""Which trainings the ablation does, and what it makes of their scores; the steps are stood in for."""

import pytest

from components.data.options import parse_options
from pipelines.bench import ablation
from pipelines.bench.ablation import BASE, VARIANTS, bench_ablation
from pipelines.parameters import options_model


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_made_of_options_that_exist(name):
    for task, values in VARIANTS[name].items():
        step = "training" if task.startswith("stage") else task
        parse_options(options_model(f"components.{step}"), dict(values), step=step)


def test_each_variant_trains_its_change_alone_with_the_same_share_of_steps_over_all_seeds(trainings):
    seen, record = trainings
    report = bench_ablation(record, [0, 1, 2], [BASE, "no curriculum", "uniform density"], 0.2)
    assert [(t["stage"], t["steps"], t["seed"]) for t in seen] == [
        (stage, steps, seed)
        for _ in range(3)
        for seed in range(3)
        for stage, steps in enumerate([30, 90, 80])
    ]
    assert [t.get("curriculum", True) for t in seen[9:18]] == [True, True, False] * 3
    assert {t.get("density", "as ever") for t in seen[:18]} == {"as ever"}
    assert {t["density"] for t in seen[18:]} == {"uniform"}
    # As conftest has it: .5 + .1 a stage + .01 a seed.
    found = {figure.name: figure for figure in report.figures}["no curriculum: breed accuracy"]
    assert found.value == pytest.approx(0.71) and found.spread == pytest.approx(0.01)


def test_only_the_last_stage_is_scored(trainings, monkeypatch):
    scored = []
    score = ablation.ModelBench._score
    monkeypatch.setattr(
        ablation.ModelBench,
        "_score",
        lambda self, model, seed: scored.append(seed) or score(self, model, seed),
    )
    bench_ablation(trainings[1], [0, 1], [BASE], 1.0)
    assert scored == [0, 1]

"""Which trainings the model bench does, and what it makes of their scores; the steps are stood in for."""

import pytest

from pipelines.bench import model as bench


def test_every_seed_trains_three_stages_and_the_first_a_control_of_as_many_steps_in_stage_0(trainings):
    seen, record = trainings
    bench.bench_model(record, [0, 1])
    assert [(training["stage"], training["steps"], training["seed"]) for training in seen] == [
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

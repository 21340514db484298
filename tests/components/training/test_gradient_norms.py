"""The alarm for gradient norms of two kinds."""

import numpy as np
import pytest

from components.training.gradient_norms import LEAST, WINDOW, GradientNorms


def norms(values) -> GradientNorms:
    found = GradientNorms()
    for value in values:
        found.add(value)
    return found


@pytest.mark.parametrize("spread", [0.1, 0.3, 0.6])
def test_one_hump_however_wide_is_no_split(spread):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        assert norms(np.exp(rng.normal(0, spread, WINDOW))).split() is None


@pytest.mark.parametrize("share", [0.15, 0.5, 0.8])
def test_two_planted_groups_are_found_with_their_size_and_place(share):
    rng = np.random.default_rng(0)
    high = rng.random(WINDOW) < share
    values = np.exp(rng.normal(0, 0.2, WINDOW)) * np.where(high, 20.0, 1.0)
    split = norms(values).split()
    assert split is not None
    assert split.share == pytest.approx(high.mean())
    assert split.low == pytest.approx(np.exp(np.log(values[~high]).mean()))
    assert split.high == pytest.approx(np.exp(np.log(values[high]).mean()))
    assert f"{split.share:.0%} near {split.high:.3g}" in str(split)


def test_a_few_outliers_or_groups_of_nearly_one_size_are_no_split():
    rng = np.random.default_rng(1)
    values = np.exp(rng.normal(0, 0.1, WINDOW))
    outliers = values.copy()
    outliers[:: WINDOW // 10] *= 50  # one in twenty
    assert norms(outliers).split() is None
    halves = values * np.where(np.arange(WINDOW) % 2, 2.5, 1.0)
    assert norms(halves).split() is None


def test_nothing_is_said_of_a_few_steps_and_only_the_last_ones_count():
    far = [1.0, 100.0] * LEAST
    assert norms(far[: LEAST - 1]).split() is None
    assert norms(far).split() is not None
    assert norms([*far, *np.exp(np.random.default_rng(2).normal(0, 0.2, WINDOW))]).split() is None


def test_norms_that_are_not_numbers_are_left_out():
    assert list(norms([1.0, float("nan"), float("inf"), 0.0, 2.0]).values) == [1.0, 2.0]

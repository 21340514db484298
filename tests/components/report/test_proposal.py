import numpy as np
import pytest

from components.report.data import AT_LEAST, AT_MOST, Threshold
from components.report.proposal import propose, valley

FLOOR = Threshold("s", AT_LEAST, 0.0)


@pytest.mark.parametrize("size", [300, 3000, 30_000])
def test_two_humps_are_parted_in_the_valley_between_them(size):
    generator = np.random.default_rng(size)
    bad = size // 5
    values = np.r_[generator.normal(0, 1, bad), generator.normal(8, 1, size - bad)]
    proposal = propose(values, FLOOR)
    assert proposal.how == "valley"
    assert 2.5 < proposal.value < 5.5
    assert proposal.passes == pytest.approx(0.8, abs=0.01)


def test_two_humps_of_sharpness_are_parted_on_the_logarithmic_axis():
    generator = np.random.default_rng(7)
    values = np.r_[generator.lognormal(3, 0.4, 200), generator.lognormal(6.5, 0.5, 1800)]
    proposal = propose(values, Threshold("laplacian_variance", AT_LEAST, 100))
    assert proposal.how == "valley"
    assert 50 < proposal.value < 150
    assert proposal.now == (values >= 100).mean()


@pytest.mark.parametrize("draw", ["normal", "uniform", "exponential", "poisson"])
@pytest.mark.parametrize("size", [150, 1000, 20_000])
def test_one_hump_has_no_valley(draw, size):
    generator = np.random.default_rng(size)
    seen = 0
    for _ in range(20):
        values = (
            generator.poisson(12, size).astype(float)
            if draw == "poisson"
            else getattr(generator, draw)(size=size)
        )
        seen += valley(values, step=1.0 if draw == "poisson" else 0.0) is not None
    assert seen <= (3 if size == 150 else 0)


@pytest.mark.parametrize("side", [AT_LEAST, AT_MOST])
def test_without_a_valley_at_most_five_percent_are_given_up(side):
    values = np.random.default_rng(2).normal(0.31, 0.035, 4000)
    proposal = propose(values, Threshold("s", side, 0.28))
    assert proposal.how == "tail"
    assert 0.95 <= proposal.passes < 0.985
    assert proposal.value == float(f"{proposal.value:.2g}")


def test_whole_scores_get_a_whole_threshold():
    values = np.random.default_rng(2).poisson(3, 5000).astype(float)
    proposal = propose(values, Threshold("caption_words", AT_MOST, 35))
    assert proposal.value == int(proposal.value)
    assert proposal.how == "tail"
    assert proposal.passes >= 0.95


def test_a_valley_that_would_reject_the_majority_is_not_proposed():
    generator = np.random.default_rng(5)
    values = np.r_[generator.normal(0, 1, 800), generator.normal(8, 1, 200)]
    assert propose(values, FLOOR).how == "tail"
    assert propose(values, Threshold("s", AT_MOST, 3)).how == "valley"


@pytest.mark.parametrize("values", [np.full(100, 0.5), np.arange(19.0), np.full(30, np.nan)])
def test_too_little_to_go_by_gives_no_proposal(values):
    assert propose(values, FLOOR) is None


def test_a_value_already_round_stays_as_it_is():
    values = np.repeat([0.35, 0.9], [100, 900])
    assert propose(values, Threshold("s", AT_LEAST, 0.2)).value in (0.35, pytest.approx(0.6, abs=0.1))

import numpy as np
import pytest

from components.report.data import AT_LEAST, AT_MOST, Threshold
from components.report.histogram import histogram, nearest, passing


def normal(size, seed=0):
    return np.random.default_rng(seed).normal(0.3, 0.05, size).astype(np.float32)


def test_counts_per_bin_are_numpys_and_nothing_is_lost():
    values = normal(5000)
    values[::50] = np.nan
    values[1], values[2] = 40.0, -40.0
    keep = values > 0.31
    shape = histogram(values, keep, [Threshold("s", AT_LEAST, 0.28)])
    finite = values[np.isfinite(values)]
    inside = np.clip(finite, shape.edges[0], shape.edges[-1])
    assert shape.counts.tolist() == np.histogram(inside, shape.edges)[0].tolist()
    assert (shape.counts.sum(), shape.scored, shape.unscored) == (len(finite), len(finite), 100)
    assert shape.kept.sum() == keep.sum()
    assert shape.failing.sum() == (finite < 0.28).sum()
    assert shape.other.sum() == ((finite >= 0.28) & (finite <= 0.31)).sum()


@pytest.mark.parametrize("bound", [0.28, 0.3137, 0.9])
def test_a_bin_edge_lies_on_the_threshold_so_that_no_bin_is_on_both_sides(bound):
    shape = histogram(normal(2000), np.zeros(2000, bool), [Threshold("s", AT_LEAST, bound)])
    assert np.abs(shape.edges - bound).min() < 1e-9
    assert not (np.minimum(shape.failing, shape.other) > 0).any()


def test_whole_numbers_get_one_bin_each_and_the_line_stands_between_two():
    words = np.array([3, 8, 8, 9, 12, 7])
    shape = histogram(
        words.astype(float), words >= 8, [Threshold("w", AT_LEAST, 8), Threshold("w", AT_MOST, 15)]
    )
    assert shape.edges.tolist() == [n - 0.5 for n in range(3, 17)]
    assert shape.counts.tolist() == [1, 0, 0, 0, 1, 2, 1, 0, 0, 1, 0, 0, 0]
    assert shape.place_of(Threshold("w", AT_LEAST, 8)) == pytest.approx(5 / 13)
    assert shape.place_of(Threshold("w", AT_MOST, 15)) == pytest.approx(1.0)


def test_a_long_tail_gets_a_logarithmic_axis_with_the_same_counts():
    values = np.random.default_rng(1).lognormal(5, 1.2, 4000)
    shape = histogram(values, np.ones(4000, bool), [Threshold("v", AT_LEAST, 100)])
    assert shape.log
    assert np.allclose(np.diff(np.log10(shape.edges)), np.diff(np.log10(shape.edges))[0])
    assert np.abs(shape.edges / 100 - 1).min() < 1e-9
    assert shape.counts.sum() == 4000
    assert shape.place(np.sqrt(shape.edges[0] * shape.edges[-1])) == pytest.approx(0.5)


@pytest.mark.parametrize("values", [[], [0.5], [0.5, 0.5], [np.nan, np.inf]])
def test_degenerate_scores_have_a_histogram_too(values):
    values = np.array(values, dtype=float)
    shape = histogram(values, np.zeros(len(values), bool), [Threshold("s", AT_LEAST, 0.3)])
    assert shape.counts.sum() == np.isfinite(values).sum()
    assert (np.diff(shape.edges) > 0).all()


def test_nan_passes_on_neither_side():
    values = np.array([np.nan, 1.0, 2.0])
    assert passing(values, Threshold("s", AT_LEAST, 2)).tolist() == [False, False, True]
    assert passing(values, Threshold("s", AT_MOST, 1)).tolist() == [False, True, False]


@pytest.mark.parametrize("side", [AT_LEAST, AT_MOST])
def test_nearest_rows_are_those_a_full_sort_finds(side):
    values = normal(3000, seed=4)
    values[::7] = np.nan
    threshold = Threshold("s", side, 0.28)
    inside, outside = nearest(values, threshold, 6, np.zeros(3000, bool))
    by_distance = np.argsort(np.abs(values - 0.28), kind="stable")
    passes = passing(values, threshold)
    assert inside.tolist() == [i for i in by_distance if passes[i]][:6]
    assert outside.tolist() == [i for i in by_distance if not passes[i] and np.isfinite(values[i])][:6]


def test_rows_at_the_same_distance_come_by_preference_and_then_in_order():
    values = np.array([8.0] * 6 + [7.0] * 4)
    first = np.array([0, 0, 1, 0, 1, 0, 0, 0, 0, 1], bool)
    inside, outside = nearest(values, Threshold("w", AT_LEAST, 8), 4, first)
    assert inside.tolist() == [2, 4, 0, 1]
    assert outside.tolist() == [9, 6, 7, 8]

import numpy as np
import pytest

from components.metrics.floor import split_half_floor
from components.metrics.frechet import gaussian_frechet
from components.metrics.kid import squared_mmd


def frechet(x, y):
    return gaussian_frechet(x.mean(0), np.cov(x, rowvar=False), y.mean(0), np.cov(y, rowvar=False))


def test_floor_compares_disjoint_halves_of_equal_size():
    seen = []

    def distance(x, y):
        seen.append((set(x[:, 0]), set(y[:, 0])))
        return 1.0

    floor = split_half_floor(np.arange(11.0)[:, None], distance, np.random.default_rng(0), splits=4)
    assert floor == (1.0, 0.0, 5) and len(seen) == 4
    assert all(len(a) == len(b) == 5 and not a & b for a, b in seen)
    assert len({frozenset(a) for a, _ in seen}) > 1


def test_floor_shrinks_with_more_images_and_lies_below_a_real_difference():
    rng = np.random.default_rng(1)
    real = rng.standard_normal((2000, 8))
    few = split_half_floor(real[:100], frechet, rng).mean
    many = split_half_floor(real, frechet, rng).mean
    assert 0 < many < few / 5
    assert frechet(real, real + 0.5) > 10 * many


def test_floor_of_an_unbiased_distance_is_near_zero():
    rng = np.random.default_rng(2)
    floor = split_half_floor(rng.standard_normal((400, 4)), squared_mmd, rng, splits=20)
    assert abs(floor.mean) < 3 * floor.std


def test_too_few_images_are_refused():
    with pytest.raises(ValueError, match="at least 4"):
        split_half_floor(np.ones((3, 2)), frechet, np.random.default_rng(0))

"""Colour shift: known Hellinger distances, bins against the CIELAB formula, and the default reference."""

import math

import numpy as np
import pytest

from components.quality.color import (
    BINS,
    ab_histogram,
    color_shift,
    grey_screen,
    hellinger,
    reference_of,
)


def flat(*rgb: int, size: int = 8) -> np.ndarray:
    return np.full((size, size, 3), rgb, np.uint8)


def lab(r: int, g: int, b: int) -> tuple[float, float]:
    """(a*, b*) of an sRGB colour by CIE 15, white D65, in float64."""
    c = np.array([r, g, b]) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    matrix = [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
    x, y, z = np.array(matrix) @ linear / [0.950456, 1, 1.088754]
    fx, fy, fz = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return 500 * (fx - fy), 200 * (fy - fz)


def test_hellinger_has_its_known_values():
    assert hellinger(np.array([0.5, 0.5]), np.array([0.5, 0.5])) == 0
    assert hellinger(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 1
    assert hellinger(np.array([0.36, 0.64]), np.array([1.0, 0.0])) == pytest.approx(math.sqrt(0.4))
    p, q = np.array([0.2, 0.8]), np.array([0.5, 0.5])
    by_squares = math.sqrt(0.5 * sum((math.sqrt(a) - math.sqrt(b)) ** 2 for a, b in zip(p, q, strict=True)))
    assert hellinger(p, q) == hellinger(q, p) == pytest.approx(by_squares)


@pytest.mark.parametrize("level", [0, 1, 60, 128, 200, 255])
def test_every_grey_is_at_distance_zero(level: int):
    assert color_shift(flat(level, level, level)) == 0


@pytest.mark.parametrize("colour", [(255, 0, 0), (0, 0, 255), (0, 255, 0), (139, 90, 43), (255, 255, 0)])
def test_a_saturated_screen_is_at_distance_one(colour: tuple[int, int, int]):
    assert color_shift(flat(*colour)) == 1


@pytest.mark.parametrize("neutral", [1, 16, 49, 63])
def test_a_mixture_has_the_closed_form(neutral: int):
    picture = flat(200, 30, 30)
    picture.reshape(-1, 3)[:neutral] = 128
    assert color_shift(picture) == pytest.approx(math.sqrt(1 - math.sqrt(neutral / 64)), abs=1e-7)


def test_bins_are_sixteen_wide_and_centred_on_neutral():
    rng = np.random.default_rng(0)
    checked = 0
    for colour in rng.integers(0, 256, (300, 3)):
        a, b = lab(*colour)
        position = np.array([a, b]) / 16 + 7.5
        if np.abs(position - np.rint(position)).min() < 0.1:
            continue  # too near an edge for 8-bit a* and b*
        row, column = np.clip(np.floor(position), 0, BINS - 1).astype(int)
        assert ab_histogram(flat(*colour))[row, column] == 1, colour
        checked += 1
    assert checked > 150


def test_the_histogram_sums_to_one_with_extreme_colours_in_it():
    picture = np.random.default_rng(1).choice(np.array([0, 255], np.uint8), (37, 41, 3))
    assert ab_histogram(picture).sum() == pytest.approx(1, abs=1e-6)


def test_a_reference_of_the_own_backdrop_replaces_the_grey_screen():
    blue = flat(60, 80, 160)
    reference = reference_of([blue, blue])
    assert color_shift(blue, reference) == 0
    assert color_shift(flat(128, 128, 128), reference) == 1
    np.testing.assert_array_equal(reference_of([flat(90, 90, 90)]), grey_screen())


def test_a_reference_that_is_no_distribution_is_refused():
    for wrong in (np.ones((BINS, BINS)), np.eye(3) / 3, -grey_screen()):
        with pytest.raises(ValueError, match="reference_of"):
            color_shift(flat(1, 2, 3), wrong)
    with pytest.raises(ValueError, match="at least one"):
        reference_of([])

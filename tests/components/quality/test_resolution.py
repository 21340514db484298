"""Sizes after fitting a long side."""

import pytest

from components.quality.resolution import fit_long_side, shortest_side_px


def test_the_shortest_side_ignores_which_way_the_picture_stands():
    assert shortest_side_px(1600, 1023) == shortest_side_px(1023, 1600) == 1023


@pytest.mark.parametrize(
    ("size", "fitted"),
    [
        ((1600, 1200), (512, 384)),
        ((1200, 1600), (384, 512)),
        ((512, 100), (512, 100)),
        ((300, 200), (300, 200)),
        ((10_000, 3), (512, 1)),
    ],
)
def test_the_long_side_is_fitted_and_never_enlarged(size: tuple[int, int], fitted: tuple[int, int]):
    assert fit_long_side(*size, 512) == fitted


def test_an_impossible_side_is_named():
    with pytest.raises(ValueError, match="long_side_px is 0"):
        fit_long_side(10, 10, 0)

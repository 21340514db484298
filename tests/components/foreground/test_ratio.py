"""Ratios and boxes of masks whose area is known."""

import numpy as np
import pytest

from components.foreground.ratio import border_share, box_ratio, foreground_ratio, subject_box


def rectangle(height, width, box):
    mask = np.zeros((height, width), bool)
    mask[box[1] : box[3], box[0] : box[2]] = True
    return mask


def test_a_rectangle_has_its_own_area_and_box():
    mask = rectangle(60, 80, (10, 20, 40, 50))
    assert foreground_ratio(mask) == 900 / 4800
    assert subject_box(mask) == (10, 20, 40, 50)
    assert box_ratio(mask, (10, 20, 40, 50)) == 1.0
    assert box_ratio(mask, (0, 0, 80, 60)) == 900 / 4800


def test_a_disc_has_the_area_of_a_circle():
    rows, columns = np.ogrid[:400, :600]
    mask = (rows - 200) ** 2 + (columns - 300) ** 2 < 150**2
    assert foreground_ratio(mask) == pytest.approx(np.pi * 150**2 / (400 * 600), rel=2e-3)
    assert subject_box(mask) == (151, 51, 450, 350)


def test_an_empty_mask_has_no_ratio_rather_than_zero():
    assert foreground_ratio(np.zeros((4, 4), bool)) is None
    assert subject_box(np.zeros((4, 4), bool)) is None


def test_one_pixel_in_a_corner():
    mask = rectangle(5, 7, (6, 4, 7, 5))
    assert subject_box(mask) == (6, 4, 7, 5)
    assert foreground_ratio(mask) == 1 / 35
    assert border_share(mask) == 1 / 20


def test_border_share_is_one_for_a_frame_and_zero_inside():
    assert border_share(np.ones((6, 9), bool)) == 1.0
    assert border_share(rectangle(6, 9, (1, 1, 8, 5))) == 0.0
    assert border_share(rectangle(10, 10, (0, 9, 10, 10))) == 10 / 36


def test_a_box_outside_the_mask_is_refused():
    with pytest.raises(ValueError, match="no pixels inside"):
        box_ratio(np.ones((4, 4), bool), (0, 0, 5, 4))

"""Crops: closed form for rectangles, invariants for any mask."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.foreground.crop import crop_to_subject, scale_box
from components.foreground.ratio import foreground_ratio, subject_box


def rectangle(height, width, box):
    mask = np.zeros((height, width), bool)
    mask[box[1] : box[3], box[0] : box[2]] = True
    return mask


def test_a_centred_square_grows_to_the_wanted_ratio_on_all_sides():
    mask = rectangle(400, 400, (150, 150, 250, 250))
    crop = crop_to_subject(mask, 0.25)
    assert crop.box == (100, 100, 300, 300)
    assert crop.ratio == 0.25


def test_the_subjects_shape_is_kept_while_there_is_room():
    # 100 x 50 at ratio 1/4 is 200 x 100.
    crop = crop_to_subject(rectangle(400, 600, (250, 175, 350, 225)), 0.25)
    assert crop.box == (200, 150, 400, 250)


def test_at_the_pictures_edge_the_crop_is_pushed_back_inside():
    crop = crop_to_subject(rectangle(400, 400, (0, 300, 100, 400)), 0.25)
    assert crop.box == (0, 200, 200, 400)
    assert crop.ratio == 0.25


def test_where_one_side_meets_the_picture_the_other_goes_on():
    # 100 wide and 80 of the 100 px high: at ratio 0.2 the crop is 100 px high and 400 px wide.
    crop = crop_to_subject(rectangle(100, 1000, (450, 10, 550, 90)), 0.2)
    assert crop.box == (300, 0, 700, 100)
    assert crop.ratio == 0.2


def test_a_subject_smaller_than_wanted_everywhere_gets_its_tightest_crop_and_the_true_ratio():
    rows, columns = np.ogrid[:200, :300]
    ring = np.abs(np.hypot(rows - 100, columns - 150) - 50) < 3
    crop = crop_to_subject(ring, 0.65)
    assert crop.box == subject_box(ring)
    assert crop.ratio == pytest.approx(2 * np.pi * 50 * 6 / 106**2, rel=0.05)


def test_a_picture_that_is_full_enough_is_not_cropped():
    mask = rectangle(100, 200, (10, 10, 190, 90))
    crop = crop_to_subject(mask, 0.65)
    assert crop.box == (0, 0, 200, 100)
    assert crop.ratio == foreground_ratio(mask) == 0.72


def test_a_square_crop_around_a_long_subject():
    crop = crop_to_subject(rectangle(400, 600, (200, 180, 400, 220)), 0.1, aspect=1.0)
    assert crop.box == (159, 59, 441, 341)  # side: floor(sqrt(8000 / 0.1)) = 282


def test_a_subject_wider_than_any_square_is_cut_at_both_ends():
    crop = crop_to_subject(rectangle(100, 600, (50, 40, 550, 60)), 0.2, aspect=1.0)
    assert crop.box == (250, 0, 350, 100)
    assert crop.ratio == 0.2


def test_min_side_wins_over_the_ratio():
    mask = rectangle(400, 400, (180, 180, 220, 220))
    crop = crop_to_subject(mask, 0.65, min_side_px=160)
    assert crop.box == (120, 120, 280, 280)
    assert crop.ratio == 1600 / 160**2
    wide = crop_to_subject(mask, 0.65, aspect=2.0, min_side_px=160)
    assert (wide.box[2] - wide.box[0], wide.box[3] - wide.box[1]) == (320, 160)


def test_no_subject_no_crop():
    assert crop_to_subject(np.zeros((9, 9), bool), 0.5) is None


@settings(max_examples=150, deadline=None)
@given(
    st.integers(2, 60),
    st.integers(2, 60),
    st.floats(0.01, 1.0),
    st.sampled_from([0.0, 0.5, 1.0, 4 / 3, 3.0]),
    st.integers(0, 30),
    st.integers(0, 2**32 - 1),
)
def test_every_crop_lies_inside_and_its_ratio_is_counted(height, width, wanted, aspect, min_side, seed):
    rng = np.random.default_rng(seed)
    mask = rng.random((height, width)) < rng.choice([0.05, 0.5, 0.95])
    mask[rng.integers(height), rng.integers(width)] = True
    crop = crop_to_subject(mask, wanted, aspect=aspect, min_side_px=min_side)
    x0, y0, x1, y1 = crop.box
    assert 0 <= x0 < x1 <= width
    assert 0 <= y0 < y1 <= height
    assert crop.ratio == mask[y0:y1, x0:x1].mean()
    subject = subject_box(mask)
    if aspect:
        return
    assert x0 <= subject[0] and y0 <= subject[1] and x1 >= subject[2] and y1 >= subject[3]
    tightest = mask[subject[1] : subject[3], subject[0] : subject[2]].mean()
    if tightest >= wanted and not min_side:
        assert crop.ratio >= wanted - 1e-9


def test_a_square_is_square_whenever_the_picture_can_hold_it():
    rng = np.random.default_rng(8)
    for _ in range(50):
        x, y = rng.integers(0, 60, 2)
        w, h = rng.integers(1, 40, 2)
        crop = crop_to_subject(rectangle(100, 120, (x, y, x + w, y + h)), 0.3, aspect=1.0)
        assert crop.box[2] - crop.box[0] == crop.box[3] - crop.box[1]


@pytest.mark.parametrize("wanted", [0.0, 1.1, -0.5])
def test_impossible_ratios_are_refused(wanted):
    with pytest.raises(ValueError, match="must be above 0"):
        crop_to_subject(np.ones((4, 4), bool), wanted)


def test_a_box_on_a_reduced_picture_maps_back_around_the_same_pixels():
    assert scale_box((10, 20, 30, 40), (100, 100), (400, 200)) == (40, 40, 120, 80)
    assert scale_box((0, 0, 333, 250), (333, 250), (1000, 750)) == (0, 0, 1000, 750)
    x0, y0, x1, y1 = scale_box((1, 1, 2, 2), (3, 3), (10, 10))
    assert (x0, y0, x1, y1) == (3, 3, 7, 7)

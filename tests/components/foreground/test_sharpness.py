"""Sharpness inside the mask: closed form, the whole picture's score, and independence of what is outside."""

import cv2
import numpy as np
import pytest

from components.foreground.sharpness import erode, subject_sharpness


def test_a_checkerboard_has_the_variance_of_its_closed_form():
    # Each pixel differs from its four neighbours by 40: the Laplacian is +-160, its variance 160^2.
    rows, columns = np.indices((60, 60))
    grey = (100 + 40 * ((rows + columns) % 2)).astype(np.uint8)
    assert subject_sharpness(grey, np.ones((60, 60), bool)) == pytest.approx(160**2, rel=1e-3)


def test_only_the_subject_counts():
    rng = np.random.default_rng(3)
    noise = rng.integers(0, 256, (200, 200, 3), dtype=np.uint8)
    mask = np.zeros((200, 200), bool)
    mask[50:150, 50:150] = True
    sharp_dog = np.where(mask[..., None], noise, np.uint8(128))
    soft_dog = np.where(mask[..., None], np.uint8(128), noise)
    assert subject_sharpness(sharp_dog, mask) > 10_000
    assert subject_sharpness(soft_dog, mask) == 0.0
    # The same dog before a busy and a plain background has the very same score.
    assert subject_sharpness(noise, mask) == subject_sharpness(sharp_dog, mask)


def test_a_full_mask_gives_the_picture_score_without_its_rim():
    grey = np.random.default_rng(4).integers(0, 256, (80, 100), dtype=np.uint8)
    expected = cv2.Laplacian(grey, cv2.CV_64F, ksize=1)[2:-2, 2:-2].var()
    assert subject_sharpness(grey, np.ones_like(grey, bool)) == pytest.approx(expected, rel=1e-2)


def test_blur_lowers_it():
    image = np.random.default_rng(6).integers(0, 256, (120, 120, 3), dtype=np.uint8)
    mask = np.zeros((120, 120), bool)
    mask[20:100, 30:90] = True
    scores = [subject_sharpness(cv2.GaussianBlur(image, (0, 0), sigma), mask) for sigma in (0.5, 1, 2, 4)]
    assert scores == sorted(scores, reverse=True)


def test_too_little_subject_has_no_score():
    image = np.zeros((50, 50, 3), np.uint8)
    mask = np.zeros((50, 50), bool)
    assert subject_sharpness(image, mask) is None
    mask[10:15, 10:15] = True
    assert subject_sharpness(image, mask) is None


def test_erosion_takes_the_radius_off_every_side():
    mask = np.ones((21, 31), np.uint8)
    assert erode(mask, 3).sum() == (21 - 6) * (31 - 6)


def test_sizes_must_agree():
    with pytest.raises(ValueError, match="must be equal"):
        subject_sharpness(np.zeros((5, 6, 3), np.uint8), np.zeros((6, 5), bool))

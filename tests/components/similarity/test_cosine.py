"""Cosine against closed forms, the kept fraction as an exact count, and honest calibration warnings."""

import numpy as np
import pytest

from components.similarity.cosine import calibration_warning, cosine, fraction_threshold


def test_cosine_of_known_angles():
    degrees = np.array([0.0, 30.0, 60.0, 90.0, 180.0])
    radians = np.deg2rad(degrees)
    turned = np.stack([np.cos(radians), np.sin(radians)], axis=1)
    fixed = np.tile([[1.0, 0.0]], (5, 1))
    np.testing.assert_allclose(cosine(fixed, turned), [1, np.sqrt(3) / 2, 0.5, 0, -1], atol=1e-7)


def test_cosine_ignores_length_and_never_leaves_the_range():
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(200, 768)).astype(np.float32)
    same = cosine(vectors, vectors * rng.uniform(1e-3, 1e3, size=(200, 1)).astype(np.float32))
    assert np.abs(same - 1).max() < 1e-6
    assert same.max() <= 1.0


def test_cosine_of_a_zero_or_broken_embedding_is_nan_and_leaves_others_alone():
    images = np.array([[1.0, 0.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]], np.float32)
    values = cosine(images, np.ones((4, 2), np.float32))
    assert values[0] == pytest.approx(np.sqrt(0.5))
    assert np.isnan(values[1:]).all()


@pytest.mark.parametrize(("fraction", "kept"), [(0.7, 7), (0.65, 7), (1.0, 10), (0.01, 1)])
def test_a_fraction_keeps_the_rounded_up_count_of_the_best(fraction, kept):
    scores = np.random.default_rng(2).permutation(np.linspace(0.1, 0.4, 10))
    threshold = fraction_threshold(np.append(scores, [np.nan, np.nan]), fraction)
    assert (scores >= threshold).sum() == kept


def test_a_fraction_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="No row has a similarity score"):
        fraction_threshold(np.array([np.nan]), 0.5)
    with pytest.raises(ValueError, match="must be above 0"):
        fraction_threshold(np.array([0.1]), 0.0)


@pytest.mark.parametrize("reference", ["demo", "ViT-B-32/openai", "ViT-B-32-quickgelu/openai"])
def test_no_warning_where_the_threshold_is_calibrated(reference):
    assert calibration_warning(reference, 0.28) == ""


def test_warnings_say_how_far_the_threshold_can_be_trusted():
    assert "only a starting point" in calibration_warning("ViT-L-14/openai", 0.28)
    assert "not calibrated for ViT-H-14/laion2b_s32b_b79k" in calibration_warning(
        "ViT-H-14/laion2b_s32b_b79k", 0.3
    )

"""Values from shared/reference/flow_matching.md section 7, and torch-fidelity on the same features."""

import tracemalloc

import numpy as np
import pytest
import torch
from torch_fidelity.metric_fid import fid_features_to_statistics, fid_statistics_to_metric

from components.metrics.frechet import (
    FeatureIdentity,
    FeatureStatistics,
    MetricMismatch,
    frechet_distance,
    gaussian_frechet,
)

IDENTITY = FeatureIdentity("demo", "0" * 64, "bicubic-antialias-float-32", "image embedding", "set-1")
EYE = np.eye(2)


def statistics(features, identity=IDENTITY):
    return FeatureStatistics(identity, features.shape[1]).add(features)


def correlated(rng, rows, dim, offset=0.0):
    return offset + rng.standard_normal((rows, dim)) @ rng.standard_normal((dim, dim)) / np.sqrt(dim)


@pytest.mark.parametrize(
    ("mean2", "cov1", "cov2", "expected"),
    [
        ((1, 1), EYE, EYE, 2.0),
        ((0, 0), EYE, 4 * EYE, 2.0),
        ((0, 0), EYE, np.array([[1, 0.5], [0.5, 1]]), 0.1362966948),
        ((0, 0), EYE, EYE, 0.0),
    ],
)
def test_gaussians_have_the_closed_form_distance(mean2, cov1, cov2, expected):
    found = gaussian_frechet(np.zeros(2), cov1, np.array(mean2, float), cov2)
    assert found == pytest.approx(expected, abs=1e-9)


def test_two_by_two_matches_the_trace_formula():
    """Tr sqrt(M) = sqrt(tr M + 2 sqrt det M)."""
    rng = np.random.default_rng(0)
    a, b = (np.cov(rng.standard_normal((2, 10))) for _ in range(2))
    m = a @ b
    root = np.sqrt(np.trace(m) + 2 * np.sqrt(np.linalg.det(m)))
    found = gaussian_frechet(np.zeros(2), a, np.zeros(2), b)
    assert found == pytest.approx(np.trace(a) + np.trace(b) - 2 * root, rel=1e-10)


@pytest.mark.parametrize("rows", [500, 40])  # full rank, and fewer images than dimensions
@pytest.mark.filterwarnings("ignore:.*feature dimensions:RuntimeWarning")
def test_distance_equals_torch_fidelity_on_the_same_features(rows):
    rng = np.random.default_rng(1)
    first, second = correlated(rng, rows, 64), correlated(rng, rows, 64, offset=0.3)
    theirs = fid_statistics_to_metric(
        fid_features_to_statistics(torch.from_numpy(first)),
        fid_features_to_statistics(torch.from_numpy(second)),
        verbose=False,
    )["frechet_inception_distance"]
    assert frechet_distance(statistics(first), statistics(second)) == pytest.approx(theirs, rel=1e-6)


def test_shards_merged_in_any_order_equal_all_features_at_once():
    rng = np.random.default_rng(2)
    features = (1000 + correlated(rng, 300, 16)).astype(
        np.float32
    )  # a large mean: a sum of squares would drown
    parts = [statistics(block) for block in np.split(features, [1, 40, 41, 200])]
    merged = FeatureStatistics(IDENTITY, 16)
    for part in parts[::-1]:
        merged.merge(part)
    exact = np.cov(features.astype(np.float64), rowvar=False)
    assert merged.count == 300
    assert np.allclose(merged.mean, features.astype(np.float64).mean(0), rtol=1e-12)
    assert np.allclose(merged.covariance, exact, rtol=1e-9, atol=1e-9)
    again = FeatureStatistics.from_arrays(IDENTITY, merged.to_arrays())
    assert np.array_equal(again.covariance, merged.covariance)


def test_streaming_needs_memory_for_the_matrix_not_for_the_images():
    rng = np.random.default_rng(3)
    stats = FeatureStatistics(IDENTITY, 256)
    tracemalloc.start()
    for _ in range(40):
        stats.add(rng.standard_normal((100, 256), dtype=np.float32))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert stats.count == 4000 and peak < 6 * 256 * 256 * 8


@pytest.mark.parametrize("changed", ["extractor", "weights", "resize", "layer", "data"])
def test_statistics_of_another_identity_are_refused(changed):
    from dataclasses import replace

    features = np.random.default_rng(4).standard_normal((10, 4))
    other = statistics(features, replace(IDENTITY, **{changed: "other"}))
    with pytest.raises(MetricMismatch, match=changed):
        frechet_distance(statistics(features), other)
    with pytest.raises(MetricMismatch, match=changed):
        statistics(features).merge(other)


def test_fewer_images_than_dimensions_plus_one_warn():
    features = np.random.default_rng(5).standard_normal((5, 4))
    assert frechet_distance(statistics(features), statistics(features)) == pytest.approx(0, abs=1e-9)
    with pytest.warns(RuntimeWarning, match="4 images for 4 feature dimensions"):
        frechet_distance(statistics(features[:4]), statistics(features))


def test_bad_features_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        statistics(np.array([[1.0, np.nan]]))
    with pytest.raises(ValueError, match="at least 2 images"):
        _ = statistics(np.ones((1, 3))).covariance

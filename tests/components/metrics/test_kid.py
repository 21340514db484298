import numpy as np
import pytest
import torch
from torch_fidelity.metric_kid import kid_features_to_metric

from components.metrics.kid import kid, squared_mmd


def test_kid_equals_torch_fidelity_on_the_same_subsets():
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((300, 32)), 0.2 + 1.1 * rng.standard_normal((250, 32))
    theirs = kid_features_to_metric(
        torch.from_numpy(first), torch.from_numpy(second), kid_subsets=10, kid_subset_size=100, rng_seed=7,
        verbose=False,
    )  # fmt: skip
    ours = kid(first, second, np.random.RandomState(7), subsets=10, subset_size=100)
    assert ours.mean == pytest.approx(theirs["kernel_inception_distance_mean"], rel=1e-9)
    assert ours.std == pytest.approx(theirs["kernel_inception_distance_std"], rel=1e-9)


def test_squared_mmd_equals_the_double_sum_over_pairs():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((4, 3)), rng.standard_normal((5, 3))

    def k(a, b):
        return (a @ b / 3 + 1) ** 3

    within_x = sum(k(x[i], x[j]) for i in range(4) for j in range(4) if i != j) / 12
    within_y = sum(k(y[i], y[j]) for i in range(5) for j in range(5) if i != j) / 20
    across = sum(k(a, b) for a in x for b in y) / 20
    assert squared_mmd(x, y) == pytest.approx(within_x + within_y - 2 * across, rel=1e-12)


def test_estimate_is_unbiased_and_may_be_negative_for_equal_distributions():
    rng = np.random.default_rng(2)
    values = [squared_mmd(rng.standard_normal((20, 4)), rng.standard_normal((20, 4))) for _ in range(400)]
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(len(values))
    assert min(values) < 0


def test_small_sets_use_all_their_images_and_one_image_is_refused():
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((6, 4)), rng.standard_normal((6, 4))
    found = kid(x, y, np.random.default_rng(0), subsets=3)
    assert found.mean == pytest.approx(squared_mmd(x, y), rel=1e-9)
    assert found.std == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match="at least 2 images"):
        kid(x[:1], y, rng)

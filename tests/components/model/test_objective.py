import math

import pytest
import torch

from components.model.objective import LossByTime, analytic_floor, velocity_loss
from components.model.paths import PATHS, LinearPath, gaussian_velocity, interpolate


def test_loss_is_the_mean_squared_error_of_each_sample():
    predicted = torch.tensor([[1.0, 2.0], [0.0, 0.0]]).reshape(2, 1, 1, 2)
    target = torch.tensor([[0.0, 0.0], [3.0, 4.0]]).reshape(2, 1, 1, 2)
    assert velocity_loss(predicted, target).tolist() == [2.5, 12.5]


def test_weights_scale_samples_and_only_the_right_shape_is_taken():
    g = torch.Generator().manual_seed(0)
    predicted, target = (torch.randn(4, 3, 4, 4, generator=g) for _ in range(2))
    weights = torch.tensor([0.0, 1.0, 2.0, 0.5])
    plain = velocity_loss(predicted, target)
    assert torch.allclose(velocity_loss(predicted, target, weights.reshape(4, 1, 1, 1)), plain * weights)
    with pytest.raises(ValueError, match=r"\(4, 1, 1, 1\)"):
        velocity_loss(predicted, target, weights)  # (4,) would broadcast over the width


def test_loss_is_float32_for_a_bfloat16_model():
    loss = velocity_loss(torch.ones(2, 1, 1, 1, dtype=torch.bfloat16), torch.zeros(2, 1, 1, 1))
    assert loss.dtype == torch.float32 and loss.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("std", [0.4, 1.0, 2.0])
def test_the_optimal_field_has_the_floor_as_its_loss(std):
    g = torch.Generator().manual_seed(1)
    n = 200_000
    for t in (0.1, 0.5, 0.9):
        times = torch.full((n,), t, dtype=torch.float64)
        x1 = 0.3 + std * torch.randn(n, 1, 1, 1, generator=g, dtype=torch.float64)
        eps = torch.randn(n, 1, 1, 1, generator=g, dtype=torch.float64)
        x_t, v = interpolate(LinearPath(), x1, eps, times)
        loss = velocity_loss(gaussian_velocity(x_t, times, 0.3, std), v).double().mean()
        assert loss.item() == pytest.approx(analytic_floor(torch.tensor(t), std).item(), rel=0.02)


def test_floor_rises_with_t_for_data_narrower_than_the_noise():
    floor = analytic_floor(torch.linspace(0, 1, 50), 0.5)
    assert (floor[:40].diff() > 0).all() and floor[-1] == pytest.approx(1.0)
    assert torch.allclose(analytic_floor(torch.tensor([0.0, 1.0]), 0.5), torch.tensor([0.25, 1.0]))


def test_bins_hold_the_means_of_their_samples():
    bins = LossByTime(4)
    bins.add(torch.tensor([0.0, 0.2, 0.3, 1.0, 0.9]), torch.tensor([1.0, 3.0, 5.0, 7.0, 9.0]))
    means = bins.means()
    assert means[0] == 2.0 and means[1] == 5.0 and math.isnan(means[2]) and means[3] == 8.0
    other = LossByTime(4)
    other.load_state_dict(bins.state_dict())
    bins.add(torch.tensor([0.6]), torch.tensor([float("nan")]))
    assert other.means()[3] == 8.0 and bins.counts.tolist() == [2, 1, 0, 2]


@pytest.mark.parametrize("path", sorted(PATHS))
def test_the_optimal_field_of_every_path_has_its_floor_as_its_loss(path):
    g = torch.Generator().manual_seed(2)
    n, t, std = 200_000, 0.35, 0.5
    times = torch.full((n,), t, dtype=torch.float64)
    x1 = 0.3 + std * torch.randn(n, 1, 1, 1, generator=g, dtype=torch.float64)
    eps = torch.randn(n, 1, 1, 1, generator=g, dtype=torch.float64)
    x_t, v = interpolate(PATHS[path], x1, eps, times)
    loss = velocity_loss(gaussian_velocity(x_t, times, 0.3, std, PATHS[path]), v).double().mean()
    floor = analytic_floor(torch.tensor(t, dtype=torch.float64), std, PATHS[path])
    assert loss.item() == pytest.approx(floor.item(), rel=0.02)


def test_huber_squares_small_errors_and_counts_large_ones_linearly():
    error = torch.tensor([0.5, -1.0, 3.0, -10.0]).reshape(4, 1, 1, 1)
    found = velocity_loss(error, torch.zeros_like(error), huber_delta=2.0)
    assert found.tolist() == [0.25, 1.0, 2 * 2 * 3 - 4, 2 * 2 * 10 - 4]
    weights = torch.tensor([1.0, 2.0, 0.5, 0.0]).reshape(4, 1, 1, 1)
    assert velocity_loss(error, torch.zeros_like(error), weights, 2.0).tolist() == [0.25, 2.0, 4.0, 0.0]


def test_huber_with_a_wide_delta_is_the_squared_error():
    g = torch.Generator().manual_seed(3)
    predicted, target = (torch.randn(4, 3, 4, 4, generator=g) for _ in range(2))
    wide = velocity_loss(predicted, target, huber_delta=1e3)
    assert torch.allclose(wide, velocity_loss(predicted, target))

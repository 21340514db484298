"""Values from shared/reference/flow_matching.md section 1."""

import pytest
import torch

from components.model.paths import (
    PATHS,
    LinearPath,
    data_estimate,
    gaussian_velocity,
    interpolate,
    noise_estimate,
    over,
)

LINEAR = LinearPath()


def test_linear_path_matches_the_reference_table_at_a_quarter():
    c = LINEAR.at(torch.tensor(0.25))
    assert (c.alpha.item(), c.sigma.item(), c.d_alpha.item(), c.d_sigma.item()) == (0.25, 0.75, 1.0, -1.0)
    eps, x1 = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 0.5]])
    x_t, v = interpolate(LINEAR, x1, eps, torch.tensor([0.25]))
    assert x_t.tolist() == [[1.5, -1.375]]
    assert v.tolist() == [[2.0, 2.5]]


@pytest.mark.parametrize("name", sorted(PATHS))
def test_the_path_starts_at_noise_and_ends_at_data(name):
    g = torch.Generator().manual_seed(0)
    x1, eps = (torch.randn(2, 3, 4, 4, generator=g) for _ in range(2))
    assert torch.equal(interpolate(PATHS[name], x1, eps, torch.zeros(2))[0], eps)
    assert torch.equal(interpolate(PATHS[name], x1, eps, torch.ones(2))[0], x1)


@pytest.mark.parametrize("name", sorted(PATHS))
def test_velocity_is_the_time_derivative_of_the_path(name):
    g = torch.Generator().manual_seed(1)
    x1, eps = (torch.randn(5, 3, generator=g, dtype=torch.float64) for _ in range(2))
    t = torch.linspace(0.1, 0.9, 5, dtype=torch.float64)
    h = 1e-5
    after, before = (interpolate(PATHS[name], x1, eps, t + d)[0] for d in (h, -h))
    assert torch.allclose((after - before) / (2 * h), interpolate(PATHS[name], x1, eps, t)[1], atol=1e-9)


@pytest.mark.parametrize("name", sorted(PATHS))
def test_both_ends_are_recovered_from_point_and_velocity(name):
    g = torch.Generator().manual_seed(2)
    x1, eps = (torch.randn(6, 3, 2, 2, generator=g, dtype=torch.float64) for _ in range(2))
    t = torch.linspace(0.05, 0.95, 6, dtype=torch.float64)
    x_t, v = interpolate(PATHS[name], x1, eps, t)
    assert torch.allclose(data_estimate(PATHS[name], x_t, v, t), x1, atol=1e-12)
    assert torch.allclose(noise_estimate(PATHS[name], x_t, v, t), eps, atol=1e-12)


def test_linear_estimates_have_the_textbook_form():
    g = torch.Generator().manual_seed(3)
    x, v = (torch.randn(4, 2, generator=g, dtype=torch.float64) for _ in range(2))
    t = torch.tensor([0.0, 0.3, 0.7, 1.0], dtype=torch.float64)
    assert torch.allclose(data_estimate(LINEAR, x, v, t), x + (1 - over(t, x)) * v, atol=1e-15)
    assert torch.allclose(noise_estimate(LINEAR, x, v, t), x - over(t, x) * v, atol=1e-15)


def test_gaussian_field_is_the_regression_of_velocity_on_position():
    """For jointly Gaussian (x_t, v) the conditional mean is linear: compare with least squares on samples."""
    g = torch.Generator().manual_seed(4)
    n, mean, std, t = 400_000, 0.7, 0.4, 0.6
    x1 = mean + std * torch.randn(n, generator=g, dtype=torch.float64)
    eps = torch.randn(n, generator=g, dtype=torch.float64)
    x_t, v = t * x1 + (1 - t) * eps, x1 - eps
    slope = torch.cov(torch.stack([x_t, v]))[0, 1] / x_t.var()
    fitted = v.mean() + slope * (torch.tensor([0.0, 1.0], dtype=torch.float64) - x_t.mean())
    exact = gaussian_velocity(torch.tensor([0.0, 1.0], dtype=torch.float64), torch.tensor(t), mean, std)
    assert torch.allclose(fitted, exact, atol=0.02)

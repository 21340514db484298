"""Values from shared/reference/flow_matching.md section 1."""

import math

import pytest
import torch
from flow_matching.path import AffineProbPath
from flow_matching.path import scheduler as schedulers

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
T_GRID = torch.linspace(0.02, 0.98, 25, dtype=torch.float64)


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


def test_cosine_path_matches_the_reference_table_at_a_quarter():
    c = PATHS["cosine"].at(torch.tensor(0.25, dtype=torch.float64))
    found = [value.item() for value in (c.alpha, c.sigma, c.d_alpha, c.d_sigma)]
    assert found == pytest.approx([0.38268343, 0.92387953, 1.45122658, -0.60111773], abs=5e-9)
    eps, x1 = torch.tensor([[1.0, -2.0]]).double(), torch.tensor([[3.0, 0.5]]).double()
    x_t, v = interpolate(PATHS["cosine"], x1, eps, torch.tensor([0.25]).double())
    assert x_t[0].tolist() == pytest.approx([2.07192983, -1.65641735], abs=5e-9)
    assert v[0].tolist() == pytest.approx([3.75256200, 1.92784875], abs=5e-9)


def test_squared_cosine_path_has_the_linear_direction_at_its_own_speed():
    t = torch.tensor([0.1, 0.25, 0.8], dtype=torch.float64)
    g = torch.Generator().manual_seed(5)
    x1, eps = (torch.randn(3, 4, generator=g, dtype=torch.float64) for _ in range(2))
    _, v = interpolate(PATHS["squared_cosine"], x1, eps, t)
    speed = math.pi / 2 * torch.sin(math.pi * t)[:, None]
    assert torch.allclose(v, speed * (x1 - eps), atol=1e-14)


@pytest.mark.parametrize(
    ("name", "scheduler"), [("linear", "CondOTScheduler"), ("cosine", "CosineScheduler")]
)
def test_paths_equal_those_of_flow_matching(name, scheduler):
    theirs = getattr(schedulers, scheduler)()(T_GRID)
    ours = PATHS[name].at(T_GRID)
    for field in ("alpha", "sigma", "d_alpha", "d_sigma"):
        found, expected = getattr(ours, field), getattr(theirs, f"{field}_t")
        assert torch.allclose(found, torch.as_tensor(expected).double().expand_as(found), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "scheduler"), [("linear", "CondOTScheduler"), ("cosine", "CosineScheduler")]
)
def test_points_velocities_and_both_ends_equal_those_of_flow_matching(name, scheduler):
    g = torch.Generator().manual_seed(6)
    x1, eps = (torch.randn(len(T_GRID), 3, generator=g, dtype=torch.float64) for _ in range(2))
    theirs = AffineProbPath(getattr(schedulers, scheduler)())
    sample = theirs.sample(x_0=eps, x_1=x1, t=T_GRID)
    x_t, v = interpolate(PATHS[name], x1, eps, T_GRID)
    assert torch.allclose(x_t, sample.x_t, atol=1e-12) and torch.allclose(v, sample.dx_t, atol=1e-12)
    t = T_GRID[:, None]
    assert torch.allclose(data_estimate(PATHS[name], x_t, v, T_GRID), theirs.velocity_to_target(v, x_t, t))
    assert torch.allclose(noise_estimate(PATHS[name], x_t, v, T_GRID), theirs.velocity_to_epsilon(v, x_t, t))


@pytest.mark.parametrize("name", sorted(PATHS))
def test_the_gaussian_field_of_every_path_carries_noise_to_data(name):
    """x(t) = alpha m + sqrt(alpha^2 s^2 + sigma^2) eps solves the flow: its derivative is the field."""
    mean, std, h = 0.7, 0.4, 1e-6
    t = torch.linspace(0.05, 0.95, 19, dtype=torch.float64)
    eps = torch.linspace(-2, 2, 19, dtype=torch.float64)

    def at(time):
        c = PATHS[name].at(time)
        return c.alpha * mean + (c.alpha**2 * std**2 + c.sigma**2).sqrt() * eps

    slope = (at(t + h) - at(t - h)) / (2 * h)
    assert torch.allclose(gaussian_velocity(at(t), t, mean, std, PATHS[name]), slope, atol=1e-8)


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

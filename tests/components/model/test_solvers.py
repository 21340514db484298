"""Values from shared/reference/flow_matching.md section 5, and the closed Gaussian field."""

import math

import pytest
import torch
from diffusers import FlowMatchEulerDiscreteScheduler

from components.model.paths import PATHS, gaussian_velocity
from components.model.solvers import SOLVERS, solve
from components.model.timesteps import sampling_times

# Errors with 8, 16 and 32 steps, and the order.
REFERENCE = {
    "euler": (4.549e-3, 2.264e-3, 1.121e-3, 1.0),
    "heun": (1.409e-3, 3.669e-4, 9.312e-5, 2.0),
    "midpoint": (-6.050e-4, -1.286e-4, -2.981e-5, 2.1),
    "rk4": (1.393e-6, 9.812e-8, 6.401e-9, 3.9),
}
EVALUATIONS = {"euler": 1, "heun": 2, "midpoint": 2, "rk4": 4}


def decay(x, t):
    """x' = -2 t x^2, x(0) = 1, so x(1) = 1/2."""
    return -2 * t * x**2


def error(solver, steps):
    x = torch.ones(1, dtype=torch.float64)
    return solve(decay, x, torch.linspace(0, 1, steps + 1, dtype=torch.float64), solver).x.item() - 0.5


@pytest.mark.parametrize("solver", sorted(REFERENCE))
def test_errors_and_order_match_the_reference_table(solver):
    *expected, order = REFERENCE[solver]
    found = [error(solver, steps) for steps in (8, 16, 32)]
    assert found == pytest.approx(expected, rel=5e-3)
    assert math.log2(abs(found[1] / found[2])) == pytest.approx(order, abs=0.05)


@pytest.mark.parametrize(("solver", "per_step"), EVALUATIONS.items())
def test_evaluations_are_counted_not_steps(solver, per_step):
    calls = []

    def field(x, t):
        calls.append(float(t))
        return x

    solution = solve(field, torch.ones(2, 3), sampling_times(7), solver)
    assert solution.nfe == len(calls) == 7 * per_step


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
def test_the_adaptive_solver_stays_within_its_tolerance_and_takes_what_it_needs(tolerance):
    """Its own error estimate is local: ten times the tolerance is allowed for the whole way."""
    x = torch.ones(3, dtype=torch.float64)
    ends = torch.tensor([0.0, 0.4, 1.0], dtype=torch.float64)  # where it stops in between is its own choice
    loose = solve(decay, x, ends, "dopri5", tolerance)
    assert torch.allclose(loose.x, torch.full_like(x, 0.5), atol=10 * tolerance)
    assert loose.nfe < solve(decay, x, ends, "dopri5", tolerance / 100).nfe


@pytest.mark.parametrize("path", sorted(PATHS))
@pytest.mark.parametrize("solver", ["rk4", "dopri5"])
def test_every_path_leads_from_noise_to_the_data_distribution(solver, path):
    mean, std = 0.5, 0.3
    eps = torch.randn(200, generator=torch.Generator().manual_seed(2), dtype=torch.float64)

    def field(x, t):
        return gaussian_velocity(x, t, mean, std, PATHS[path])

    found = solve(field, eps, sampling_times(100), solver, 1e-7).x
    assert torch.allclose(found, mean + std * eps, atol=1e-5)


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_noise_becomes_the_data_distribution_under_the_optimal_field(solver):
    """The linear map of the Gaussian flow is x1 = m + s eps; a fine grid must reproduce it."""
    mean, std = 0.5, 0.3
    eps = torch.randn(500, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    steps = {"euler": 4000, "heun": 200, "midpoint": 200, "rk4": 50, "dopri5": 1}[solver]
    found = solve(lambda x, t: gaussian_velocity(x, t, mean, std), eps, sampling_times(steps), solver).x
    assert torch.allclose(found, mean + std * eps, atol=2e-3)


def test_euler_equals_the_diffusers_scheduler_step_by_step():
    steps, shift = 8, 3.0
    scheduler = FlowMatchEulerDiscreteScheduler(shift=shift)
    scheduler.set_timesteps(sigmas=torch.linspace(1, 1 / steps, steps).numpy())
    eps = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(1))
    theirs = eps
    for timestep in scheduler.timesteps:
        v = gaussian_velocity(theirs, 1 - timestep / 1000, 0.2, 0.5)
        theirs = scheduler.step(-v, timestep, theirs).prev_sample  # their output is eps - data = -v
    ours = solve(lambda x, t: gaussian_velocity(x, t, 0.2, 0.5), eps, sampling_times(steps, shift)).x
    assert torch.allclose(ours, theirs, atol=1e-5)


def test_an_unknown_solver_is_refused_by_name():
    with pytest.raises(ValueError, match="euler, heun, midpoint, rk4, dopri5"):
        solve(decay, torch.ones(1), sampling_times(2), "dpm")

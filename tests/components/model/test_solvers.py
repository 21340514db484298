"""Values from shared/reference/flow_matching.md section 5, and the closed Gaussian field."""

import math

import pytest
import torch
from diffusers import FlowMatchEulerDiscreteScheduler

from components.model.paths import gaussian_velocity
from components.model.solvers import SOLVERS, solve
from components.model.timesteps import sampling_times

REFERENCE = {"euler": (4.549e-3, 2.264e-3, 1.121e-3, 1.0), "heun": (1.409e-3, 3.669e-4, 9.312e-5, 2.0)}


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
    assert [abs(e) for e in found] == pytest.approx(expected, rel=5e-3)
    assert math.log2(abs(found[1] / found[2])) == pytest.approx(order, abs=0.05)


@pytest.mark.parametrize(("solver", "per_step"), [("euler", 1), ("heun", 2)])
def test_evaluations_are_counted_not_steps(solver, per_step):
    calls = []

    def field(x, t):
        calls.append(float(t))
        return x

    solution = solve(field, torch.ones(2, 3), sampling_times(7), solver)
    assert solution.nfe == len(calls) == 7 * per_step


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_noise_becomes_the_data_distribution_under_the_optimal_field(solver):
    """The linear map of the Gaussian flow is x1 = m + s eps; a fine grid must reproduce it."""
    mean, std = 0.5, 0.3
    eps = torch.randn(500, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    steps = {"euler": 4000, "heun": 200}[solver]
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
    with pytest.raises(ValueError, match="euler, heun"):
        solve(decay, torch.ones(1), sampling_times(2), "dpm")

"""Values from shared/reference/flow_matching.md section 2."""

import math

import pytest
import torch
from diffusers import FlowMatchEulerDiscreteScheduler

from components.model.timesteps import DENSITIES, Density, sampling_sigmas, sampling_times, shift_sigma

SIGMA = torch.linspace(0, 1, 101, dtype=torch.float64)


def test_logit_normal_has_the_reference_moments_and_quantiles():
    sigma = 1 - Density("logit_normal").times(400_000, torch.Generator().manual_seed(0)).double()
    assert sigma.mean().item() == pytest.approx(0.5, abs=2e-3)
    assert sigma.std().item() == pytest.approx(0.208276, abs=2e-3)
    found = torch.quantile(sigma, torch.tensor([0.05, 0.25, 0.5, 0.75, 0.95], dtype=torch.float64))
    expected = torch.tensor([0.161806, 0.337492, 0.5, 0.662508, 0.838194], dtype=torch.float64)
    assert torch.allclose(found, expected, atol=3e-3)


def test_uniform_quantiles_are_the_identity():
    t = Density("uniform").times(400_000, torch.Generator().manual_seed(1)).double()
    at = torch.tensor([0.05, 0.25, 0.5, 0.75, 0.95], dtype=torch.float64)
    assert torch.allclose(torch.quantile(t, at), at, atol=3e-3)


@pytest.mark.parametrize("name", sorted(DENSITIES))
def test_times_come_from_the_given_generator_alone(name):
    first = Density(name).times(8, torch.Generator().manual_seed(5))
    torch.rand(3)  # the global generator moves on
    assert torch.equal(first, Density(name).times(8, torch.Generator().manual_seed(5)))
    assert first.dtype == torch.float32 and ((first >= 0) & (first <= 1)).all()


def test_logit_normal_mean_moves_the_median_towards_noise():
    sigma = 1 - Density(mean=1.0).times(100_000, torch.Generator().manual_seed(2)).double()
    assert sigma.median().item() == pytest.approx(1 / (1 + math.exp(-1)), abs=5e-3)


def test_shift_adds_its_logarithm_to_the_logit():
    inside = SIGMA[1:-1]
    moved = torch.logit(shift_sigma(inside, 3.0)) - torch.logit(inside)
    assert torch.allclose(moved, torch.full_like(moved, math.log(3.0)), atol=1e-12)


def test_shifts_compose_by_multiplication_and_keep_the_ends():
    assert torch.allclose(shift_sigma(shift_sigma(SIGMA, 2.0), 1.5), shift_sigma(SIGMA, 3.0), atol=1e-15)
    assert torch.equal(shift_sigma(SIGMA, 1.0), SIGMA)
    assert shift_sigma(SIGMA, 7.0)[[0, -1]].tolist() == [0.0, 1.0]


def test_a_shifted_density_is_the_shift_of_the_density():
    plain = Density("logit_normal").times(64, torch.Generator().manual_seed(3)).double()
    shifted = Density("logit_normal", shift=3.0).times(64, torch.Generator().manual_seed(3)).double()
    assert torch.allclose(1 - shifted, shift_sigma(1 - plain, 3.0), atol=1e-6)


def test_grid_of_8_steps_with_shift_3_is_shifted_once():
    expected = [1, 0.954545, 0.9, 0.833333, 0.75, 0.642857, 0.5, 0.3, 0]
    assert sampling_sigmas(8, 3.0).tolist() == pytest.approx(expected, abs=5e-7)
    twice = shift_sigma(sampling_sigmas(8, 3.0), 3.0)
    assert twice[-2].item() != pytest.approx(0.3, abs=0.1)


@pytest.mark.parametrize(("steps", "shift"), [(1, 1.0), (8, 1.0), (8, 3.0), (25, 2.205886)])
def test_grid_equals_the_diffusers_scheduler(steps, shift):
    scheduler = FlowMatchEulerDiscreteScheduler(shift=shift)
    scheduler.set_timesteps(sigmas=torch.linspace(1, 1 / steps, steps).numpy())
    assert torch.allclose(sampling_sigmas(steps, shift).float(), scheduler.sigmas, atol=1e-6)


def test_times_rise_from_noise_to_data():
    times = sampling_times(10, 2.0)
    assert times[0] == 0 and times[-1] == 1 and (times.diff() > 0).all()


@pytest.mark.parametrize("bad", [{"name": "cosine"}, {"std": 0.0}, {"shift": -1.0}])
def test_impossible_densities_are_refused(bad):
    with pytest.raises(ValueError, match="density"):
        Density(**bad)


def test_impossible_grids_are_refused():
    with pytest.raises(ValueError, match="at least 1 step"):
        sampling_sigmas(0)
    with pytest.raises(ValueError, match="positive"):
        shift_sigma(SIGMA, 0.0)

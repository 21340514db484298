"""Values from shared/reference/flow_matching.md section 2."""

import math

import pytest
import torch
from diffusers import FlowMatchEulerDiscreteScheduler
from scipy import stats

from components.model.timesteps import (
    DENSITIES,
    Density,
    diffusers_timestep,
    flow_time,
    mode_sigma,
    sampling_sigmas,
    sampling_times,
    shift_for,
    shift_sigma,
)

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


@pytest.mark.filterwarnings("ignore:density truncated_normal")
@pytest.mark.parametrize("name", sorted(DENSITIES))
def test_times_come_from_the_given_generator_alone(name):
    first = Density(name).times(8, torch.Generator().manual_seed(5))
    torch.rand(3)  # the global generator moves on
    assert torch.equal(first, Density(name).times(8, torch.Generator().manual_seed(5)))
    assert first.dtype == torch.float32 and ((first >= 0) & (first <= 1)).all()


@pytest.mark.filterwarnings("ignore:density truncated_normal")
@pytest.mark.parametrize("name", sorted(DENSITIES))
def test_a_batch_has_one_time_in_each_equally_likely_part_and_each_row_any_of_them(name):
    many = 1 - Density(name).times(200_000, torch.Generator().manual_seed(6)).double()
    edges = torch.quantile(many, torch.linspace(0, 1, 9, dtype=torch.float64)[1:-1])
    batches = torch.stack(
        [1 - Density(name).times(8, torch.Generator().manual_seed(seed)).double() for seed in range(400)]
    )
    clear = (batches[..., None] - edges).abs().min(-1).values > 2e-3  # the edges are estimates
    parts = torch.bucketize(batches, edges)
    for batch, sure in zip(parts, clear, strict=True):
        if sure.all():
            assert sorted(batch.tolist()) == list(range(8))
    first = torch.bincount(parts[:, 0], minlength=8)
    assert stats.chisquare(first.numpy()).pvalue > 1e-3


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


def test_mode_map_has_the_reference_values_and_the_density_its_quantiles():
    u = torch.tensor([0, 0.1, 0.25, 0.5, 1], dtype=torch.float64)
    assert mode_sigma(u).tolist() == pytest.approx([1, 0.802569, 0.616416, 0.5, 0], abs=5e-7)
    sigma = 1 - Density("mode").times(400_000, torch.Generator().manual_seed(4)).double()
    # f falls, so the quantile of sigma at q is f(1 - q).
    assert torch.allclose(torch.quantile(sigma, 1 - u[1:4]), mode_sigma(u[1:4]), atol=3e-3)


def test_truncated_normal_is_scipys_and_says_that_the_ends_stay_untrained():
    with pytest.warns(RuntimeWarning, match=r"below \.05 or above \.95"):
        density = Density("truncated_normal")
    sigma = 1 - density.times(100_000, torch.Generator().manual_seed(5)).double()
    assert sigma.min() >= 0.05 - 1e-6 and sigma.max() <= 0.95 + 1e-6
    theirs = stats.truncnorm(-3, 3, loc=0.5, scale=0.15)
    assert stats.kstest(sigma.numpy(), theirs.cdf).statistic < 0.006
    assert sigma.std().item() == pytest.approx(theirs.std(), abs=2e-3)


SIZES = (256, 512, 1024, 1328)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("flux", (1.6487, 1.8776, 3.1582, 5.0671)), ("qwen_image", (1.6487, 1.7138, 2.0008, 2.3033))],
)
def test_shift_by_resolution_has_the_reference_values(rule, expected):
    assert [shift_for(rule, 1.0, size, size)[0] for size in SIZES] == pytest.approx(expected, abs=5e-5)


def test_shift_of_a_wide_picture_counts_its_tokens():
    shift, terminal = shift_for("qwen_image", 1.0, 928, 1664)
    assert math.log(shift) == pytest.approx(0.791129, abs=5e-7) and shift == pytest.approx(2.205886, abs=5e-7)
    assert terminal == 0.02
    assert shift_for("qwen_image", 3.0, 928, 1664)[0] == pytest.approx(3 * shift)
    assert shift_for("static", 3.0, 928, 1664) == (3.0, 0.0)
    with pytest.raises(ValueError, match="static, flux, qwen_image"):
        shift_for("sd3", 1.0, 64, 64)


@pytest.mark.parametrize(("rule", "steps"), [("flux", 8), ("qwen_image", 8), ("qwen_image", 30)])
def test_dynamic_grids_equal_the_diffusers_scheduler(rule, steps):
    shift, terminal = shift_for(rule, 1.0, 928, 1664)
    scheduler = FlowMatchEulerDiscreteScheduler(
        use_dynamic_shifting=True, time_shift_type="exponential", shift_terminal=terminal or None
    )
    scheduler.set_timesteps(sigmas=torch.linspace(1, 1 / steps, steps).numpy(), mu=math.log(shift))
    ours = sampling_sigmas(steps, shift, terminal)
    assert torch.allclose(ours.float(), scheduler.sigmas, atol=1e-6)
    if terminal:
        assert ours[-2].item() == pytest.approx(0.02, abs=1e-12)


@pytest.mark.parametrize("bad", [{"name": "cosine"}, {"std": 0.0}, {"shift": -1.0}])
def test_impossible_densities_are_refused(bad):
    with pytest.raises(ValueError, match="density"):
        Density(**bad)


def test_impossible_grids_are_refused():
    with pytest.raises(ValueError, match="at least 1 step"):
        sampling_sigmas(0)
    with pytest.raises(ValueError, match="positive"):
        shift_sigma(SIGMA, 0.0)
    with pytest.raises(ValueError, match="terminal"):
        sampling_sigmas(4, terminal=1.0)


def test_time_conversion_round_trips_and_refuses_half_precision():
    t = torch.linspace(0, 1, 11)
    assert torch.allclose(flow_time(diffusers_timestep(t)), t, atol=1e-6)
    assert diffusers_timestep(torch.tensor([0.0, 1.0])).tolist() == [1000.0, 0.0]
    with pytest.raises(AssertionError, match="float32"):
        diffusers_timestep(t.to(torch.bfloat16))

"""Where on the path training looks, and where sampling stops: densities over sigma, the shift, the grid.

sigma = 1 - t is the noise share. Densities are stated over sigma because the papers do so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Density:
    """How often training visits each sigma, and by how much the result is shifted towards noise.

    name: "uniform" or "logit_normal" (sigmoid of N(mean, std^2); Stable Diffusion 3, arXiv:2403.03206).
    shift: the static s of `shift_sigma`; 1 leaves the density as it is.
    """

    name: str = "logit_normal"
    mean: float = 0.0
    std: float = 1.0
    shift: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in DENSITIES:
            raise ValueError(f"timestep density {self.name!r} is unknown; use one of: {', '.join(DENSITIES)}")
        if self.std <= 0 or self.shift <= 0:
            raise ValueError(f"timestep density needs std > 0 and shift > 0, got {self.std} and {self.shift}")

    def times(self, count: int, generator: torch.Generator) -> Tensor:
        """`count` times t = 1 - sigma, (count,) float32 on the CPU, drawn from `generator` alone."""
        sigma = DENSITIES[self.name](self, count, generator)
        return (1 - shift_sigma(sigma, self.shift)).to(torch.float32)


def uniform(density: Density, count: int, generator: torch.Generator) -> Tensor:
    """sigma ~ U(0, 1)."""
    return torch.rand(count, generator=generator, dtype=torch.float64)


def logit_normal(density: Density, count: int, generator: torch.Generator) -> Tensor:
    """sigma = sigmoid(m + s z), z ~ N(0, 1)."""
    z = torch.randn(count, generator=generator, dtype=torch.float64)
    return torch.sigmoid(density.mean + density.std * z)


DENSITIES: dict[str, Callable[[Density, int, torch.Generator], Tensor]] = {
    "uniform": uniform,
    "logit_normal": logit_normal,
}


def shift_sigma(sigma: Tensor, shift: float) -> Tensor:
    """The Moebius shift: sigma' = s sigma / (1 + (s - 1) sigma); it adds ln s to logit(sigma).

    So shifts compose by multiplication, s = 1 is the identity, and 0 and 1 stay where they are.
    """
    if shift <= 0:
        raise ValueError(f"the shift must be positive, got {shift}; 1 means no shift")
    return shift * sigma / (1 + (shift - 1) * sigma)


def sampling_sigmas(steps: int, shift: float = 1.0) -> Tensor:
    """The sigmas a sampler visits, from 1 down to 0: (steps + 1,) float64.

    sigmas = linspace(1, 1/N, N), then shifted once, then 0 appended. Shifting an already shifted grid (a
    known trainer's bug) would end at .0089 for 8 steps of shift 3 where .3 is right.
    """
    if steps < 1:
        raise ValueError(f"sampling needs at least 1 step, got {steps}")
    sigmas = shift_sigma(torch.linspace(1, 1 / steps, steps, dtype=torch.float64), shift)
    return torch.cat([sigmas, torch.zeros(1, dtype=torch.float64)])


def sampling_times(steps: int, shift: float = 1.0) -> Tensor:
    """`sampling_sigmas` as times t = 1 - sigma, rising from 0 (noise) to 1 (data): (steps + 1,) float64."""
    return 1 - sampling_sigmas(steps, shift)

"""Where on the path training looks, and where sampling stops: densities over sigma, the shift, the grid.

sigma = 1 - t is the noise share. Densities are stated over sigma because the papers do so.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Density:
    """How often training visits each sigma, and by how much the result is shifted towards noise.

    name: a key of DENSITIES. mean and std are those of "logit_normal" (sigmoid of N(mean, std^2); Stable
    Diffusion 3, arXiv:2403.03206); the others have none. shift: the static s of `shift_sigma`; 1 leaves the
    density as it is.
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
        if self.name == "truncated_normal":
            warnings.warn(
                "density truncated_normal never trains t below .05 or above .95, the ends of sampling",
                RuntimeWarning,
                stacklevel=3,
            )

    def times(self, count: int, generator: torch.Generator) -> Tensor:
        """`count` times t = 1 - sigma, (count,) float32 on the CPU, drawn from `generator` alone.

        Each has this density; together they are spread evenly over it, one in each of `count` equally likely
        parts. A batch then never looks at one end only, and its gradient varies less from step to step.
        """
        parts = torch.randperm(count, generator=generator)
        within = torch.rand(count, generator=generator, dtype=torch.float64)
        sigma = DENSITIES[self.name](self, (parts + within) / max(count, 1))
        return (1 - shift_sigma(sigma, self.shift)).to(torch.float32)


def uniform(density: Density, u: Tensor) -> Tensor:
    """sigma ~ U(0, 1)."""
    return u


def logit_normal(density: Density, u: Tensor) -> Tensor:
    """sigma = sigmoid(m + s z), z ~ N(0, 1)."""
    return torch.sigmoid(density.mean + density.std * torch.special.ndtri(u))


def mode(density: Density, u: Tensor) -> Tensor:
    """sigma = f(u): heavy in the middle and at no place zero (arXiv:2403.03206, equation 20)."""
    return mode_sigma(u)


def mode_sigma(u: Tensor, scale: float = 1.29) -> Tensor:
    """f(u) = 1 - u - scale (cos^2(pi u / 2) - 1 + u), falling from f(0) = 1 to f(1) = 0."""
    return 1 - u - scale * (torch.cos(math.pi / 2 * u) ** 2 - 1 + u)


def truncated_normal(density: Density, u: Tensor) -> Tensor:
    """sigma ~ N(.5, .15^2) within [.05, .95], by the inverse of its distribution function."""
    low, high = (torch.special.ndtr(torch.tensor((end - 0.5) / 0.15).double()) for end in (0.05, 0.95))
    return 0.5 + 0.15 * torch.special.ndtri(low + u * (high - low))


# From numbers evenly distributed in [0, 1) to sigma.
DENSITIES: dict[str, Callable[[Density, Tensor], Tensor]] = {
    "uniform": uniform,
    "logit_normal": logit_normal,
    "mode": mode,
    "truncated_normal": truncated_normal,
}


@dataclass(frozen=True)
class ResolutionShift:
    """A shift that grows with the picture: s = exp(mu), mu on a line through two numbers of image tokens.

    mu(L) = base + (L - tokens[0]) (most - base) / (tokens[1] - tokens[0]). terminal: where sampling's last
    sigma before 0 is stretched to, 0 for not.
    """

    base: float
    most: float
    tokens: tuple[int, int]
    terminal: float = 0.0

    def shift(self, height_px: int, width_px: int) -> float:
        """s for a picture of this size, of which every 16 x 16 px are one token."""
        count = (height_px / TOKEN_PX) * (width_px / TOKEN_PX)
        first, last = self.tokens
        return math.exp(self.base + (count - first) * (self.most - self.base) / (last - first))


TOKEN_PX = 16
RESOLUTION_SHIFTS = {
    "flux": ResolutionShift(0.5, 1.15, (256, 4096)),
    "qwen_image": ResolutionShift(0.5, 0.9, (256, 8192), terminal=0.02),
}


def shift_for(rule: str, static: float, height_px: int, width_px: int) -> tuple[float, float]:
    """The shift and the terminal sigma of a rule: "static" (as given) or a name of RESOLUTION_SHIFTS.

    With such a rule `static` multiplies its shift, for shifts compose by multiplication. Raises ValueError.
    """
    if rule == "static":
        return static, 0.0
    if rule not in RESOLUTION_SHIFTS:
        raise ValueError(
            f"shift rule {rule!r} is unknown; use one of: static, {', '.join(RESOLUTION_SHIFTS)}"
        )
    found = RESOLUTION_SHIFTS[rule]
    return static * found.shift(height_px, width_px), found.terminal


def shift_sigma(sigma: Tensor, shift: float) -> Tensor:
    """The Moebius shift: sigma' = s sigma / (1 + (s - 1) sigma); it adds ln s to logit(sigma).

    So shifts compose by multiplication, s = 1 is the identity, and 0 and 1 stay where they are.
    """
    if shift <= 0:
        raise ValueError(f"the shift must be positive, got {shift}; 1 means no shift")
    return shift * sigma / (1 + (shift - 1) * sigma)


def sampling_sigmas(steps: int, shift: float = 1.0, terminal: float = 0.0) -> Tensor:
    """The sigmas a sampler visits, from 1 down to 0: (steps + 1,) float64.

    sigmas = linspace(1, 1/N, N), then shifted once, then 0 appended. Shifting an already shifted grid (a
    known trainer's bug) would end at .0089 for 8 steps of shift 3 where .3 is right. A `terminal` above 0
    stretches 1 - sigma evenly so that the last sigma before 0 is this one (Qwen-Image's .02).
    """
    if steps < 1:
        raise ValueError(f"sampling needs at least 1 step, got {steps}")
    if not 0 <= terminal < 1:
        raise ValueError(f"the terminal sigma must lie in [0, 1), got {terminal}")
    sigmas = shift_sigma(torch.linspace(1, 1 / steps, steps, dtype=torch.float64), shift)
    if terminal and steps > 1:
        sigmas = 1 - (1 - sigmas) * (1 - terminal) / (1 - sigmas[-1])
    return torch.cat([sigmas, torch.zeros(1, dtype=torch.float64)])


def sampling_times(steps: int, shift: float = 1.0, terminal: float = 0.0) -> Tensor:
    """`sampling_sigmas` as times t = 1 - sigma, rising from 0 (noise) to 1 (data): (steps + 1,) float64."""
    return 1 - sampling_sigmas(steps, shift, terminal)


def diffusers_timestep(t: Tensor) -> Tensor:
    """The time that diffusers' embedding expects: 1000 (1 - t), the one place where conventions meet.

    Always float32: bfloat16 has 8 bits of mantissa and would turn 750 into 752.
    """
    assert t.dtype in (torch.float32, torch.float64), f"t must be float32, got {t.dtype}"
    return (1000 * (1 - t)).to(torch.float32)


def flow_time(timestep: Tensor) -> Tensor:
    """Inverse of `diffusers_timestep`."""
    return 1 - timestep.to(torch.float32) / 1000

"""Probability paths between noise and data, and what a velocity says about both ends.

Convention (the only one inside dogflow): t in [0, 1], **t = 0 is noise, t = 1 is data**, as in Lipman et al.
(arXiv:2210.02747) and facebookresearch/flow_matching. diffusers counts the other way (sigma = 1 - t, output
= -v); the conversion stands in `unet.py` (time embedding) and nowhere else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


@dataclass(frozen=True)
class Coefficients:
    """alpha, sigma and their time derivatives at t, each with the shape of t after `over`."""

    alpha: Tensor
    sigma: Tensor
    d_alpha: Tensor
    d_sigma: Tensor


class Path(Protocol):
    """An affine path x_t = alpha(t) x1 + sigma(t) eps."""

    def at(self, t: Tensor) -> Coefficients: ...


class LinearPath:
    """Conditional optimal transport: alpha = t, sigma = 1 - t, so the velocity x1 - eps is constant in t."""

    def at(self, t: Tensor) -> Coefficients:
        one = torch.ones_like(t)
        return Coefficients(alpha=t, sigma=1 - t, d_alpha=one, d_sigma=-one)


class CosinePath:
    """alpha = sin(pi t / 2), sigma = cos(pi t / 2): alpha^2 + sigma^2 = 1, so unit variance stays unit."""

    def at(self, t: Tensor) -> Coefficients:
        # The sine of the complement is exactly 0 at t = 1, where the cosine is only nearly so.
        alpha, sigma = torch.sin(math.pi / 2 * t), torch.sin(math.pi / 2 * (1 - t))
        return Coefficients(alpha, sigma, d_alpha=math.pi / 2 * sigma, d_sigma=-math.pi / 2 * alpha)


class SquaredCosinePath:
    """alpha = sin^2(pi t / 2), sigma = cos^2(pi t / 2): v = (pi / 2) sin(pi t) (x1 - eps).

    The points of the linear path, passed slowly near both ends. There v is 0, whatever the ends are, so that
    they cannot be told from it.
    """

    def at(self, t: Tensor) -> Coefficients:
        alpha, sigma = torch.sin(math.pi / 2 * t) ** 2, torch.sin(math.pi / 2 * (1 - t)) ** 2
        speed = math.pi * torch.sin(math.pi / 2 * t) * torch.sin(math.pi / 2 * (1 - t))
        return Coefficients(alpha, sigma, d_alpha=speed, d_sigma=-speed)


PATHS: dict[str, Path] = {
    "linear": LinearPath(),
    "cosine": CosinePath(),
    "squared_cosine": SquaredCosinePath(),
}


def over(t: Tensor, x: Tensor) -> Tensor:
    """Times (B,) or a scalar, shaped to broadcast over x (B, ...): (B, 1, 1, ...)."""
    return t if t.dim() == 0 else t.reshape(-1, *([1] * (x.dim() - 1)))


def interpolate(path: Path, x1: Tensor, eps: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
    """The point on the path and its velocity, for data x1 (B, ...), noise eps (B, ...) and times t (B,).

    x_t = alpha x1 + sigma eps ;  v = alpha' x1 + sigma' eps
    """
    c = path.at(over(t, x1))
    return c.alpha * x1 + c.sigma * eps, c.d_alpha * x1 + c.d_sigma * eps


def data_estimate(path: Path, x_t: Tensor, v: Tensor, t: Tensor) -> Tensor:
    """x1_hat: the data end that x_t and v imply. On the linear path it is x_t + (1 - t) v.

    Solves the 2x2 system of `interpolate`: x1 = (sigma' x_t - sigma v) / (alpha sigma' - alpha' sigma).
    """
    c = path.at(over(t, x_t))
    return (c.d_sigma * x_t - c.sigma * v) / (c.alpha * c.d_sigma - c.d_alpha * c.sigma)


def noise_estimate(path: Path, x_t: Tensor, v: Tensor, t: Tensor) -> Tensor:
    """eps_hat: the noise end that x_t and v imply. On the linear path it is x_t - t v.

    eps = (alpha v - alpha' x_t) / (alpha sigma' - alpha' sigma).
    """
    c = path.at(over(t, x_t))
    return (c.alpha * v - c.d_alpha * x_t) / (c.alpha * c.d_sigma - c.d_alpha * c.sigma)


def gaussian_velocity(x: Tensor, t: Tensor, mean: float, std: float, path: Path = PATHS["linear"]) -> Tensor:
    """The optimal field when the data are N(mean, std^2): a closed form to test against.

    E(v | x_t) = alpha' m + (alpha alpha' s^2 + sigma sigma') / (alpha^2 s^2 + sigma^2) (x - alpha m); on the
    linear path m + (t s^2 - (1 - t)) / (t^2 s^2 + (1 - t)^2) (x - t m).
    """
    c = path.at(over(t, x))
    slope = (c.alpha * c.d_alpha * std**2 + c.sigma * c.d_sigma) / (c.alpha**2 * std**2 + c.sigma**2)
    return c.d_alpha * mean + slope * (x - c.alpha * mean)

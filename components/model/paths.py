"""Probability paths between noise and data, and what a velocity says about both ends.

Convention (the only one inside dogflow): t in [0, 1], **t = 0 is noise, t = 1 is data**, as in Lipman et al.
(arXiv:2210.02747) and facebookresearch/flow_matching. diffusers counts the other way (sigma = 1 - t, output
= -v); the conversion stands in `unet.py` (time embedding) and nowhere else.
"""

from __future__ import annotations

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


PATHS: dict[str, Path] = {"linear": LinearPath()}


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


def gaussian_velocity(x: Tensor, t: Tensor, mean: float, std: float) -> Tensor:
    """The optimal field of the linear path when the data are N(mean, std^2): a closed form to test against.

    v(x, t) = m + (t s^2 - (1 - t)) / (t^2 s^2 + (1 - t)^2) (x - t m)
    """
    t = over(t, x)
    slope = (t * std**2 - (1 - t)) / (t**2 * std**2 + (1 - t) ** 2)
    return mean + slope * (x - t * mean)

"""The training objective: squared error on the velocity, its weights, and how it should look over t."""

from __future__ import annotations

import torch
from torch import Tensor


def velocity_loss(predicted: Tensor, target: Tensor, weights: Tensor | None = None) -> Tensor:
    """Squared error per sample, (B,) float32: the mean over C, H, W of weights * (predicted - target)^2.

    Only the squared error has the conditional mean, hence the marginal field, as its minimiser (Lipman et
    al., theorem 2). The difference is taken in float32, also when the network answers in bfloat16.

    predicted, target: (B, C, H, W). weights: (B, 1, 1, 1); any other shape is a ValueError, because (B,)
    would broadcast over the width of the picture without a word.
    """
    error = (predicted.float() - target.float()).square()
    if weights is not None:
        expected = (len(target), *([1] * (target.dim() - 1)))
        if tuple(weights.shape) != expected:
            raise ValueError(
                f"loss weights must have shape {expected}, one a sample; got {tuple(weights.shape)}"
            )
        error = error * weights.float()
    return error.flatten(1).mean(1)


def analytic_floor(t: Tensor, std: float) -> Tensor:
    """The loss that the best possible field still has at t, for Gaussian data of standard deviation `std`.

    Var(v | x_t) = s^2 / (t^2 s^2 + (1 - t)^2), the same shape as t. For s < 1 it RISES with t.
    """
    return std**2 / (t**2 * std**2 + (1 - t) ** 2)


class LossByTime:
    """Running means of the per-sample loss in equal bins of t; `means` is NaN where a bin saw no sample."""

    def __init__(self, bins: int = 10) -> None:
        self.bins = bins
        self.clear()

    def clear(self) -> None:
        self.sums = torch.zeros(self.bins, dtype=torch.float64)
        self.counts = torch.zeros(self.bins, dtype=torch.int64)

    def add(self, t: Tensor, losses: Tensor) -> None:
        """t and losses: (B,). t = 1 belongs to the last bin; losses that are not finite are left out."""
        finite = torch.isfinite(losses).cpu()
        index = (t.detach().cpu().double() * self.bins).long().clamp(0, self.bins - 1)[finite]
        self.sums.index_add_(0, index, losses.detach().cpu().double()[finite])
        self.counts.index_add_(0, index, torch.ones_like(index))

    def means(self) -> list[float]:
        return (self.sums / self.counts).tolist()

    def state_dict(self) -> dict[str, Tensor]:
        return {"sums": self.sums.clone(), "counts": self.counts.clone()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.sums, self.counts = state["sums"].clone(), state["counts"].clone()

"""The training objective: squared error on the velocity, its weights, and how it should look over t."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from components.model.paths import PATHS, Path


def velocity_loss(
    predicted: Tensor, target: Tensor, weights: Tensor | None = None, huber_delta: float = 0.0
) -> Tensor:
    """Squared error per sample, (B,) float32: the mean over C, H, W of weights * (predicted - target)^2.

    Only the squared error has the conditional mean, hence the marginal field, as its minimiser (Lipman et
    al., theorem 2). The difference is taken in float32, also when the network answers in bfloat16. With a
    huber_delta d above 0, errors e beyond it count 2 d |e| - d^2, which is less: robust, and biased.

    predicted, target: (B, C, H, W). weights: (B, 1, 1, 1); any other shape is a ValueError, because (B,)
    would broadcast over the width of the picture without a word.
    """
    error = predicted.float() - target.float()
    if huber_delta > 0:
        # torch's is half of what is squared here.
        cost = 2 * functional.huber_loss(error, torch.zeros_like(error), reduction="none", delta=huber_delta)
    else:
        cost = error.square()
    if weights is not None:
        expected = (len(target), *([1] * (target.dim() - 1)))
        if tuple(weights.shape) != expected:
            raise ValueError(
                f"loss weights must have shape {expected}, one a sample; got {tuple(weights.shape)}"
            )
        cost = cost * weights.float()
    return cost.flatten(1).mean(1)


def analytic_floor(t: Tensor, std: float, path: Path = PATHS["linear"]) -> Tensor:
    """The squared loss that the best possible field still has at t, for Gaussian data of std `std`.

    Var(v | x_t) = s^2 (alpha' sigma - alpha sigma')^2 / (alpha^2 s^2 + sigma^2), the same shape as t; on the
    linear path s^2 / (t^2 s^2 + (1 - t)^2), which for s < 1 RISES with t.
    """
    c = path.at(t)
    turn = c.d_alpha * c.sigma - c.alpha * c.d_sigma
    return std**2 * turn**2 / (c.alpha**2 * std**2 + c.sigma**2)


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

"""Classifier-free guidance: v = v_null + w (v_cond - v_null) (Ho and Salimans, arXiv:2207.12598)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from components.model.solvers import Field


@dataclass(frozen=True)
class Condition:
    """What an image is made from. text (B, L, D); mask (B, L) bool, True = real token; breed (B,) int64."""

    text: Tensor
    mask: Tensor
    breed: Tensor

    def __len__(self) -> int:
        return len(self.breed)

    def __getitem__(self, rows: slice) -> Condition:
        return Condition(self.text[rows], self.mask[rows], self.breed[rows])

    def to(self, device: torch.device | str) -> Condition:
        return Condition(self.text.to(device), self.mask.to(device), self.breed.to(device))

    def expand(self, count: int) -> Condition:
        """One condition (B = 1) repeated `count` times, as a view."""
        return Condition(
            self.text.expand(count, -1, -1), self.mask.expand(count, -1), self.breed.expand(count)
        )

    def padded(self, length: int) -> Condition:
        """The same condition with text padded to `length` tokens (zeros, masked out)."""
        extra = length - self.text.shape[1]
        text = functional.pad(self.text, (0, 0, 0, extra))
        return Condition(text, functional.pad(self.mask, (0, extra)), self.breed)


def join(first: Condition, second: Condition) -> Condition:
    """Both conditions in one batch, padded to the longer text."""
    length = max(first.text.shape[1], second.text.shape[1])
    first, second = first.padded(length), second.padded(length)
    return Condition(
        torch.cat([first.text, second.text]),
        torch.cat([first.mask, second.mask]),
        torch.cat([first.breed, second.breed]),
    )


Network = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
"""net(x_t (B,C,H,W), t (B,), text (B,L,D), mask (B,L), breed (B,)) -> v (B,C,H,W)."""


def guided_field(
    network: Network,
    condition: Condition,
    null: Condition,
    weight: float,
    interval: tuple[float, float] = (0.0, 1.0),
) -> Field:
    """The guided velocity as a field for `solvers.solve`.

    One evaluation is one forward of a batch of 2B rows (null rows first); weight 1 needs only the
    conditional half and weight 0 only the null half, so those run B rows.
    condition: B rows; null: B rows, or one row that stands for all. interval: the times t, both ends
    included, where guidance acts; the velocity is the conditional one at others, of B rows. Near noise
    guidance narrows what is drawn, near the picture it roughens it (Kynkaanniemi et al., arXiv:2404.07724).
    """
    rows = len(condition)
    null = null if len(null) == rows else null.expand(rows)
    both = join(null, condition)
    first, last = interval

    def field(x: Tensor, t: Tensor) -> Tensor:
        guided = weight != 1 and first <= float(t) <= last
        if not guided:
            return _velocity(network, condition, x, t)
        if weight == 0:
            return _velocity(network, null, x, t)
        v_null, v_cond = _velocity(network, both, x.repeat(2, *([1] * (x.dim() - 1))), t).chunk(2)
        return v_null + weight * (v_cond - v_null)

    return field


def _velocity(network: Network, batch: Condition, x: Tensor, t: Tensor) -> Tensor:
    times = t.to(torch.float32).expand(len(batch))
    return network(x, times, batch.text, batch.mask, batch.breed)

"""The random numbers of one step: a function of (seed, stage, step) alone.

So a resumed run draws what an unbroken one would have drawn, sampling in between changes nothing, and how a
batch is split into micro-batches does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from components.model.timesteps import Density


@dataclass(frozen=True)
class Dropout:
    """Shares of rows without text and breed (guidance needs both absent), without text, without breed."""

    both: float = 0.1
    caption: float = 0.05
    breed: float = 0.05

    def __post_init__(self) -> None:
        if min(self.both, self.caption, self.breed) < 0 or self.both + self.caption + self.breed > 1:
            raise ValueError(
                f"dropout shares must not be negative and must add up to at most 1, got {self.both} (both), "
                f"{self.caption} (caption) and {self.breed} (breed)"
            )


@dataclass(frozen=True)
class Draws:
    """t: (B,) float32; noise: (B, C, H, W) float32; flip, drop_text, drop_breed: (B,) bool."""

    t: Tensor
    noise: Tensor
    flip: Tensor
    drop_text: Tensor
    drop_breed: Tensor


def step_generator(seed: int, stage: int, step: int) -> torch.Generator:
    """A generator of its own for each step."""
    words = np.random.SeedSequence([seed, stage, step]).generate_state(2, np.uint32)
    return torch.Generator().manual_seed(int(words[0]) << 32 | int(words[1]))


def draw(
    generator: torch.Generator, shape: tuple[int, ...], density: Density, dropout: Dropout, flips: bool
) -> Draws:
    """Everything random about a batch of shape (B, C, H, W). Noise is fresh for every row and step."""
    rows = shape[0]
    t = density.times(rows, generator)
    noise = torch.randn(shape, generator=generator)
    flip = torch.rand(rows, generator=generator) < (0.5 if flips else 0.0)
    u = torch.rand(rows, generator=generator)
    both = u < dropout.both
    text = (u >= dropout.both) & (u < dropout.both + dropout.caption)
    breed = (u >= dropout.both + dropout.caption) & (u < dropout.both + dropout.caption + dropout.breed)
    return Draws(t, noise, flip, both | text, both | breed)


def with_pairs(draws: Draws, pairs: int) -> Draws:
    """The draws of a batch whose last `pairs` rows, those for the contrastive loss, lack text and breed."""
    last = torch.arange(len(draws.t)) >= len(draws.t) - pairs
    return replace(draws, drop_text=draws.drop_text | last, drop_breed=draws.drop_breed | last)


def without_text(hidden: Tensor, mask: Tensor, drop: Tensor, null: Tensor) -> tuple[Tensor, Tensor]:
    """Replace the dropped rows' states by those of the empty text. hidden (B,L,D), mask (B,L), null (l,D)."""
    if not drop.any():
        return hidden, mask
    extra = max(len(null) - hidden.shape[1], 0)
    hidden = torch.nn.functional.pad(hidden, (0, 0, 0, extra)).clone()
    mask = torch.nn.functional.pad(mask, (0, extra)).clone()
    hidden[drop], mask[drop] = 0, False
    hidden[drop, : len(null)] = null.to(hidden)
    mask[drop, : len(null)] = True
    return hidden, mask

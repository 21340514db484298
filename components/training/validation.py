"""Loss on held-out rows at fixed times and noise, so that between two numbers only the model differs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from components.model.cores import Cores
from components.model.objective import velocity_loss
from components.model.paths import PATHS, interpolate
from components.training.batches import Rows

TIMES = (0.1, 0.3, 0.5, 0.7, 0.9)
AT_MOST_ROWS = 64
Velocity = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
"""x_t (B,C,H,W), t (B,), hidden (B,L,D), mask (B,L), breed (B,) -> v (B,C,H,W)."""


class Validation:
    """Up to 64 held-out rows, chosen and given their noise once, by `seed`.

    Without shifts, dropout or flips: every row with its own text and breed. The noise of a row is the same at
    every time, and takes nothing from a generator of the training.
    """

    def __init__(self, rows: Rows, seed: int) -> None:
        order = np.random.default_rng([seed, len(rows)]).permutation(len(rows))
        self._batch = rows.load(np.sort(order[:AT_MOST_ROWS]))
        self._samples = self._batch.samples
        generator = torch.Generator().manual_seed(seed)
        self._noise = torch.randn(self._samples.shape, generator=generator)

    def __len__(self) -> int:
        return len(self._samples)

    def losses(
        self, velocity: Velocity, path: str, breed: Tensor | None, cores: Cores, at_most: int
    ) -> list[float]:
        """Mean loss at each of TIMES. breed: (rows,) ids to use instead of the rows' own, or None.

        at_most: rows in work at a time.
        """
        own = self._batch.breed if breed is None else breed

        @torch.no_grad()  # holds for its own thread only
        def total(part: slice, time: float) -> float:
            samples, noise = self._samples[part], self._noise[part]
            t = torch.full((len(samples),), time)
            x_t, v = interpolate(PATHS[path], samples, noise, t)
            predicted = velocity(x_t, t, self._batch.hidden[part], self._batch.mask[part], own[part])
            return float(velocity_loss(predicted.cpu(), v).sum())

        parts = cores.parts(len(self), at_most)
        work = [(part, time) for time in TIMES for part in parts]
        sums = list(cores.map(lambda item: total(*item), work))
        return [sum(sums[i : i + len(parts)]) / len(self) for i in range(0, len(sums), len(parts))]

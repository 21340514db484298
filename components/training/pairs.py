"""Rows for the contrastive loss: P breeds and K rows of each, drawn anew for every batch.

A random batch holds few rows of one breed (a fifth of the rows find another of theirs at 32 rows and 120
breeds), so these are drawn by breed. They come without text and breed, which guidance needs anyway and which
keeps the loss honest: told the breed, the network would only have to repeat it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


class TooFewBreeds(ValueError):
    """Fewer breeds with enough rows than a batch should have."""


@dataclass(frozen=True)
class PairsPlan:
    """How many breeds a batch, and how many rows of each."""

    breeds: int = 2
    rows: int = 2

    def __len__(self) -> int:
        return self.breeds * self.rows


class Pairs:
    """breed: (N,) int64 by row; a row whose breed is `null_breed` never takes part."""

    def __init__(self, plan: PairsPlan, breed: np.ndarray, null_breed: int) -> None:
        self.plan, self._breed, self._null_breed = plan, np.asarray(breed), null_breed

    def __len__(self) -> int:
        return len(self.plan)

    def check(self, eligible: np.ndarray) -> None:
        """Raises TooFewBreeds when `draw` could not serve these rows."""
        enough = len(self._by_breed(eligible))
        if enough < self.plan.breeds:
            raise TooFewBreeds(
                f"the contrastive loss takes {self.plan.breeds} breeds with {self.plan.rows} rows each, but "
                f"in this stage only {enough} breeds have so many. Set training.contrastive=0, lower "
                "training.contrastive_rows, or let more rows through selection"
            )

    def draw(self, eligible: np.ndarray, seed: list[int]) -> np.ndarray:
        """(P*K,) rows out of `eligible`, those of one breed side by side; a function of the arguments.

        The order of `eligible` does not matter.
        """
        rng = np.random.default_rng(seed)
        by_breed = self._by_breed(eligible)
        chosen = rng.choice(len(by_breed), self.plan.breeds, replace=False)
        return np.concatenate([rng.choice(by_breed[i], self.plan.rows, replace=False) for i in chosen])

    def _by_breed(self, eligible: np.ndarray) -> list[np.ndarray]:
        """The rows of each breed that has enough.

        Breeds come in the order of their first rows, so that it does not matter how a model numbers them.
        """
        rows = np.sort(eligible)
        order = np.argsort(self._breed[rows], kind="stable")
        edges = np.flatnonzero(np.diff(self._breed[rows][order])) + 1
        groups = [rows[group] for group in np.split(order, edges)] if len(rows) else []
        enough = [g for g in groups if self._breed[g[0]] != self._null_breed and len(g) >= self.plan.rows]
        return sorted(enough, key=lambda group: group[0])

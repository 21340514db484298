"""Rows to train on, in a shuffled order that depends on (seed, epoch) alone and resumes at the exact row."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor

from components.training.pairs import Pairs
from components.training.stages import Stage


@dataclass(frozen=True)
class Batch:
    """samples: (B, C, H, W) float32, pixels in [-1, 1] or latents; hidden: (B, L, D) lower text states; mask:
    (B, L) bool; breed: (B,) int64, with the null breed where none is known; mirrored: samples of the mirrored
    pictures, None when mirroring the samples gives them."""

    samples: Tensor
    hidden: Tensor
    mask: Tensor
    breed: Tensor
    mirrored: Tensor | None = None


class Rows(Protocol):
    """A source of training rows. `load` is called from one background thread, never by two at once.

    tiers: (N,) int8, 0 reviewed, 1 confident, -1 neither. breed: (N,) int64, as in batches. null_text: lower
    states (l, D) of the empty text.
    """

    tiers: np.ndarray
    breed: np.ndarray
    null_text: Tensor

    def __len__(self) -> int: ...

    def load(self, indices: np.ndarray) -> Batch: ...


class EmptyTier(ValueError):
    """A stage needs rows of a tier, and there are none."""


@dataclass(frozen=True)
class Position:
    """How far a run has read: `offset` rows of `epoch` are consumed."""

    epoch: int = 0
    offset: int = 0


class Order:
    """Which rows come when: every eligible row exactly once an epoch, in batches, the last one short.

    With `pairs`, each batch ends in rows drawn for the contrastive loss; these do not count as read, and the
    others are so many fewer.
    """

    def __init__(
        self, tiers: np.ndarray, stage: Stage, batch: int, seed: int, pairs: Pairs | None = None
    ) -> None:
        self.tiers, self.stage, self.seed, self.pairs = np.asarray(tiers), stage, seed, pairs
        self.batch = batch - len(pairs or ())
        if self.batch < 1:
            raise ValueError(
                f"a batch of {batch} rows has no room beside {len(pairs or ())} for the contrastive loss; "
                "make training.batch larger, or training.contrastive_breeds or contrastive_rows smaller"
            )
        for phase in stage.phases:
            if not np.isin(self.tiers, phase.tiers).any():
                wanted = " or ".join(str(tier) for tier in phase.tiers)
                raise EmptyTier(
                    f"stage {stage.number} ({stage.name}) trains on rows of tier {wanted} from epoch "
                    f"{phase.epoch} on, but none of the {len(self.tiers)} rows has it. Review pictures "
                    "(tier 0) or loosen the breed-confidence threshold (tier 1) in selection, or leave the "
                    "stage out"
                )
            if pairs:
                pairs.check(self._eligible(phase.epoch))

    def epoch(self, number: int) -> np.ndarray:
        """Row indices of an epoch, in order: a function of seed, stage, epoch and tiers, nothing else."""
        rows = self._eligible(number)
        rng = np.random.default_rng([self.seed, self.stage.number, number])
        return rng.permutation(rows)

    def batches(self, position: Position) -> Iterator[tuple[np.ndarray, Position]]:
        """Endless: the indices of the next batch, pairs last, and the position after it.

        Batches never cross epochs.
        """
        epoch, offset = position.epoch, position.offset
        while True:
            rows = self.epoch(epoch)
            while offset < len(rows):
                indices = rows[offset : offset + self.batch]
                if self.pairs:
                    seed = [self.seed, self.stage.number, epoch, offset]
                    indices = np.concatenate([indices, self.pairs.draw(rows, seed)])
                offset = min(offset + self.batch, len(rows))
                yield indices, Position(epoch, offset)
            epoch, offset = epoch + 1, 0

    def steps(self, epochs: int) -> int:
        """Optimizer steps that this many epochs take."""
        return sum(-(-len(self._eligible(number)) // self.batch) for number in range(epochs))

    def _eligible(self, epoch: int) -> np.ndarray:
        return np.flatnonzero(np.isin(self.tiers, self.stage.tiers_at(epoch)))


def prefetched(rows: Rows, order: Order, start: Position, steps: int) -> Iterator[tuple[Batch, Position]]:
    """`steps` batches from `start` on, the next one loading while the present one trains.

    Positions are those of consumed batches, so a batch that was loaded ahead is loaded again after a resume.
    """
    plan = order.batches(start)
    with ThreadPoolExecutor(1, thread_name_prefix="rows") as pool:
        ahead = None
        for remaining in range(steps, 0, -1):
            indices, position = ahead[1:] if ahead else next(plan)
            future = ahead[0] if ahead else pool.submit(rows.load, indices)
            if remaining > 1:
                following = next(plan)
                ahead = (pool.submit(rows.load, following[0]), *following)
            yield future.result(), position

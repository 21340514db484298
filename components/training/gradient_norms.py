"""Gradient norms of the last steps, and an alarm when they split into two groups.

A healthy run's norms are one hump on a log scale. Two humps mean that some rows pull far harder than the
rest: damaged pictures, another scale, a part of the data that the model cannot fit.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

WINDOW = 200  # steps
LEAST = 40  # norms before anything is said
SMALL_GROUP = 0.1  # of the norms: fewer are outliers, not a group
APART = 3.0  # Ashman's D; two groups show as two humps from 2 on
TIMES_LARGER = 3.0  # below, two humps do not matter


@dataclass(frozen=True)
class Split:
    """low and high: geometric means of the two groups. share: part of the steps in the higher one."""

    low: float
    high: float
    share: float

    def __str__(self) -> str:
        return (
            f"gradient norms are of two kinds: {1 - self.share:.0%} of the last steps near {self.low:.3g}, "
            f"{self.share:.0%} near {self.high:.3g}. Some rows pull far harder than the others: look for "
            "damaged pictures or a part of the data that is of another kind"
        )


class GradientNorms:
    """The norms before clipping of the last 200 steps."""

    def __init__(self) -> None:
        self.values: deque[float] = deque(maxlen=WINDOW)

    def add(self, norm: float) -> None:
        """Take in a step's norm; one that is not finite or zero is left out."""
        if np.isfinite(norm) and norm > 0:
            self.values.append(float(norm))

    def split(self) -> Split | None:
        """The two groups of the norms, if there are two.

        The cut with the least variance within both sides of it (Otsu 1979), on the logarithm; two groups if
        the sides are further apart than their spread: D = |m1 - m2| / sqrt((s1^2 + s2^2) / 2) > 3 (Ashman,
        Bird & Zepf 1994), and neither is a handful.
        """
        if len(self.values) < LEAST:
            return None
        logs = np.sort(np.log(np.asarray(self.values)))
        count = np.arange(1, len(logs))
        sums, squares = np.cumsum(logs)[:-1], np.cumsum(logs**2)[:-1]
        rest = len(logs) - count
        within = squares - sums**2 / count
        within += (np.square(logs).sum() - squares) - (logs.sum() - sums) ** 2 / rest
        few = SMALL_GROUP * len(logs)
        allowed = (count >= few) & (rest >= few)
        cut = int(np.argmin(np.where(allowed, within, np.inf))) + 1
        low, high = logs[:cut], logs[cut:]
        gap = float(high.mean() - low.mean())
        spread = float(np.sqrt((low.var() + high.var()) / 2))
        if gap <= APART * spread or gap <= np.log(TIMES_LARGER):
            return None
        return Split(float(np.exp(low.mean())), float(np.exp(high.mean())), len(high) / len(logs))

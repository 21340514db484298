"""A threshold proposed from the user's own scores: the valley between two humps, or a small tail."""

import math
from dataclasses import dataclass, replace

import numpy as np

from components.report.data import AT_LEAST, Threshold
from components.report.histogram import is_skewed, is_whole, passing, to_axis

TAIL = 0.05
VALLEY_DEPTH = 0.5
MIN_HUMP = 0.05
_MIN_SCORES = 20
_MIN_FOR_VALLEY = 100
_GRID = 256


@dataclass(frozen=True)
class Proposal:
    """A proposed threshold. how: "valley" or "tail".

    passes, now: shares of the scored rows that pass it, and that pass the threshold in use.
    """

    value: float
    how: str
    passes: float
    now: float


def propose(values: np.ndarray, threshold: Threshold) -> Proposal | None:
    """A threshold for (N,) scores (NaN: none), or None with fewer than 20 of them or only one value.

    Where the scores have two humps, each with 5% of them or more, and their density between them falls below
    half of the lower hump, the proposal is the lowest place between them (the deepest such valley), unless
    that would reject over half of the scores. Otherwise it is the quantile that gives up 5% at most.
    Whole numbers for whole scores, else two significant digits, rounded so that no more is given up.
    """
    scores = values[np.isfinite(values)].astype(np.float64)
    if len(scores) < _MIN_SCORES or scores.min() == scores.max():
        return None
    log, whole = is_skewed(scores), is_whole(scores)
    now = float(passing(scores, threshold).mean())
    place = valley(to_axis(scores, log), step=1.0 if whole and not log else 0.0)
    if place is not None:
        value = _rounded(float(10.0**place if log else place), threshold.side, whole=whole)
        passes = float(passing(scores, replace(threshold, value=value)).mean())
        if passes >= 0.5:
            return Proposal(value, "valley", passes, now)
    if threshold.side == AT_LEAST:
        value = float(np.quantile(scores, TAIL, method="lower"))
    else:
        value = float(np.quantile(scores, 1 - TAIL, method="higher"))
    value = _rounded(value, threshold.side, whole=whole)
    return Proposal(value, "tail", float(passing(scores, replace(threshold, value=value)).mean()), now)


def valley(scores: np.ndarray, *, step: float = 0.0) -> float | None:
    """Lowest place between two humps of the scores' density, or None without a clear one.

    Density: Gaussian kernel with Silverman's bandwidth 0.9 min(sd, IQR / 1.34) N^-1/5 (Silverman 1986, eq.
    3.31), on a grid. The bandwidth is wide for two humps, which errs on the side of seeing one. `step` is the
    scores' own grid: a narrower bandwidth would see gaps between whole numbers. None for fewer than 100
    scores, whose valleys are noise.
    """
    if len(scores) < _MIN_FOR_VALLEY:
        return None
    low, high = np.quantile(scores, [0.002, 0.998])
    quartiles = np.quantile(scores, [0.25, 0.75])
    spread = min(scores.std(), (quartiles[1] - quartiles[0]) / 1.34) or scores.std()
    bandwidth = max(0.9 * spread * len(scores) ** -0.2, step)
    if not bandwidth or low == high:
        return None
    counts, edges = np.histogram(np.clip(scores, low, high), _GRID, (low, high))
    density = _smoothed(counts, bandwidth / (edges[1] - edges[0]))
    below = np.cumsum(counts) / counts.sum()
    left = np.maximum.accumulate(density)
    right = np.maximum.accumulate(density[::-1])[::-1]
    depth = density / np.minimum(left, right)
    depth[np.minimum(below, 1 - below) < MIN_HUMP] = 1.0
    lowest = depth.min()
    if lowest >= VALLEY_DEPTH:
        return None
    # Where nothing lies between the humps, the ground is level: take the middle of the stretch.
    level = np.flatnonzero(depth <= lowest + 0.01)
    stretch = np.split(level, np.flatnonzero(np.diff(level) > 1) + 1)
    widest = max(stretch, key=len)
    return float((edges[widest[0]] + edges[widest[-1] + 1]) / 2)


def _smoothed(counts: np.ndarray, sigma: float) -> np.ndarray:
    """Counts convolved with a Gaussian of `sigma` bins; mirrored at the ends, so that edges do not sink."""
    sigma = min(max(sigma, 1.0), _GRID / 6)
    reach = int(np.ceil(3 * sigma))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    padded = np.pad(counts.astype(np.float64), reach, mode="symmetric")
    return np.convolve(padded, kernel / kernel.sum(), mode="valid")


def _rounded(value: float, side: str, *, whole: bool) -> float:
    """`value` in two significant digits (or as a whole number), rounded to the side that lets more pass."""
    rounding = math.floor if side == AT_LEAST else math.ceil
    if whole:
        return float(rounding(value))
    if not value:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 1)
    # The inner rounding keeps 0.35 / 0.01 = 34.99999 from becoming 0.34.
    return float(f"{rounding(round(value / unit, 6)) * unit:.2g}")

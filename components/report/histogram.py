"""Histogram of one score with its thresholds, and the rows nearest to a threshold."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from components.report.data import AT_LEAST, Threshold

BINS = 44
# Share of rows that the two end bins may swallow on each side, so that one outlier does not flatten the rest.
_TAIL = 0.002
_LOG_SPAN = 40.0
_INTEGER_BINS = 64


@dataclass(frozen=True)
class Histogram:
    """Counts per bin. Scores outside the edges are counted in the end bins.

    edges: (B+1,) increasing. kept, other, failing: (B,) int; their sum is the number of scores in the bin.
      kept are kept rows, failing the rest on the wrong side of a threshold, other the rest on its right side.
    log: whether the axis is logarithmic (edges are in units of the score, evenly spaced in log10).
    whole: whether each bin is one whole number, between the halves beside it.
    """

    edges: np.ndarray
    kept: np.ndarray
    other: np.ndarray
    failing: np.ndarray
    log: bool
    scored: int
    unscored: int
    whole: bool = False

    @property
    def counts(self) -> np.ndarray:
        return self.kept + self.other + self.failing

    def place_of(self, threshold: Threshold) -> float:
        """Where a threshold's line stands: between the bins that pass and those that fail."""
        half = 0.5 if self.whole else 0.0
        return self.place(threshold.value - half if threshold.side == AT_LEAST else threshold.value + half)

    def place(self, value: float) -> float:
        """Where a score stands on the axis, 0 at the left edge and 1 at the right."""
        low, high, at = to_axis(np.array([self.edges[0], self.edges[-1], value]), self.log)
        return float(np.clip((at - low) / (high - low), 0.0, 1.0))


def passing(values: np.ndarray, threshold: Threshold) -> np.ndarray:
    """(N,) bool: values on the right side; NaN never passes."""
    with np.errstate(invalid="ignore"):
        if threshold.side == AT_LEAST:
            return values >= threshold.value
        return values <= threshold.value


def histogram(values: np.ndarray, keep: np.ndarray, thresholds: Sequence[Threshold]) -> Histogram:
    """Histogram of (N,) scores, NaN where a row has none, with the thresholds' sides told apart."""
    finite = np.isfinite(values)
    scores, kept = values[finite], keep[finite]
    log = is_skewed(scores)
    edges = _edges(scores, [t.value for t in thresholds if t.active], log)
    passes = np.ones(len(scores), dtype=bool)
    for threshold in thresholds:
        if threshold.active:
            passes &= passing(scores, threshold)
    whole = bool(edges[0] % 1 == 0.5)
    inside = np.clip(scores, edges[0], edges[-1])
    count_kept, count_other, count_failing = (
        np.histogram(inside[part], edges)[0] for part in (kept, ~kept & passes, ~kept & ~passes)
    )
    return Histogram(
        edges, count_kept, count_other, count_failing, log, len(scores), int((~finite).sum()), whole
    )


def is_skewed(scores: np.ndarray) -> bool:
    """Whether a logarithmic axis serves better: positive scores over a factor of 40, skewed to the right."""
    if not len(scores):
        return False
    low, middle, high = np.quantile(scores, [0.01, 0.5, 0.99])
    return bool(low > 0 and high > _LOG_SPAN * low and high - middle > middle - low)


def is_whole(scores: np.ndarray) -> bool:
    """Whether all scores are whole numbers."""
    return bool((scores == np.round(scores)).all())


def to_axis(values: np.ndarray, log: bool) -> np.ndarray:
    """Scores on the axis: themselves, or their log10."""
    return np.log10(np.maximum(values, 1e-12)) if log else values


def _edges(scores: np.ndarray, bounds: list[float], log: bool) -> np.ndarray:
    """Bin edges over nearly all scores and all bounds; an edge lies on the first bound."""
    if not len(scores):
        return np.array([0.0, 1.0])
    low, high = np.quantile(scores, [_TAIL, 1 - _TAIL])
    shown = [b for b in bounds if not log or b > 0]
    low, high = min([low, *shown]), max([high, *shown])
    if not log and high - low <= _INTEGER_BINS and is_whole(scores):
        return np.arange(np.floor(low) - 0.5, np.ceil(high) + 1.0)
    low, high = to_axis(np.array([low, high], dtype=np.float64), log)
    margin = 0.03 * (high - low) or 0.5
    width = (high - low + 2 * margin) / BINS
    start = low - margin
    if shown:
        bound = to_axis(np.array([shown[0]], dtype=np.float64), log)[0]
        start = bound - width * np.ceil((bound - start) / width)
    edges = start + width * np.arange(BINS + 2)
    return 10.0**edges if log else edges


def nearest(
    values: np.ndarray, threshold: Threshold, count: int, first: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Row indices just inside and just outside a threshold, nearest first, `count` of each at most.

    first: (N,) bool; among rows at the same distance these come first, then the order of the rows.
    """
    inside = passing(values, threshold)
    distance = np.abs(values - threshold.value)
    outside = np.isfinite(values) & ~inside
    return _smallest(distance, inside, count, first), _smallest(distance, outside, count, first)


def _smallest(distance: np.ndarray, mask: np.ndarray, count: int, first: np.ndarray) -> np.ndarray:
    rows = np.flatnonzero(mask)
    if len(rows) > count:
        bound = np.partition(distance[rows], count - 1)[count - 1]
        rows = rows[distance[rows] <= bound]
    return rows[np.lexsort((rows, ~first[rows], distance[rows]))][:count]

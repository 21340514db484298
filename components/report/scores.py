"""One section per score: its histogram, its thresholds, and the photos just on either side of each."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.report.data import ReportData, ReportError, Rule, Threshold
from components.report.histogram import Histogram, histogram, nearest
from components.report.photos import Album, Photo
from components.report.proposal import Proposal, propose
from components.report.reasons import Reasons


@dataclass(frozen=True)
class Bound:
    """One threshold on a score. inside, outside: the photos nearest to it, nearest first."""

    rule: Rule
    threshold: Threshold
    proposal: Proposal | None
    inside: tuple[Photo, ...]
    outside: tuple[Photo, ...]


@dataclass(frozen=True)
class Score:
    """One score column. `histogram` is None when no row has a score."""

    column: str
    step: str
    histogram: Histogram | None
    bounds: tuple[Bound, ...]


def scores(data: ReportData, reasons: Reasons, album: Album, photos_per_side: int) -> list[Score]:
    """The score columns that rules have thresholds on, in the order of the rules."""
    by_column: dict[str, list[Rule]] = {}
    for rule in reasons.rules:
        if rule.threshold is not None:
            by_column.setdefault(rule.threshold.column, []).append(rule)
    return [_score(data, reasons, album, photos_per_side, *item) for item in by_column.items()]


def score_values(rows: pa.Table, column: str) -> np.ndarray:
    """(N,) float64 of a score column, NaN for null. Raises ReportError for a column that is not there."""
    if column not in rows.column_names:
        raise ReportError(
            f"A rule has a threshold on {column!r}, which is not a column of the report's rows."
        )
    numbers = pc.cast(rows.column(column), pa.float64())
    return pc.fill_null(numbers, float("nan")).to_numpy()


def _score(
    data: ReportData, reasons: Reasons, album: Album, photos_per_side: int, column: str, rules: list[Rule]
) -> Score:
    values = score_values(data.rows, column)
    if not np.isfinite(values).any():
        return Score(column, rules[0].step, None, ())
    thresholds = [rule.threshold for rule in rules if rule.threshold is not None]
    bounds = tuple(_bound(reasons, album, photos_per_side, values, rule) for rule in rules)
    return Score(column, rules[0].step, histogram(values, reasons.keep, thresholds), bounds)


def _bound(reasons: Reasons, album: Album, photos_per_side: int, values: np.ndarray, rule: Rule) -> Bound:
    assert rule.threshold is not None
    inside: tuple[Photo, ...] = ()
    outside: tuple[Photo, ...] = ()
    if rule.threshold.active:
        # Of rows at the same distance, those that this rule alone decides tell the most.
        first = reasons.keep | reasons.fails_only(rule.name)
        sides = nearest(values, rule.threshold, photos_per_side, first)
        inside, outside = (tuple(album.photo(int(r), float(values[r])) for r in side) for side in sides)
    return Bound(rule, rule.threshold, propose(values, rule.threshold), inside, outside)

"""The score scope: which rows an expensive score is worth computing for.

A scope uses the cheap rules, looser than any threshold meant for selection. A row outside has no score, and a
`skipped_by` that names the first rule it fails; selection says how to score it when it is needed after all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

UNDECODABLE = "undecodable"


@dataclass(frozen=True)
class ScopeRule:
    """Rows pass with `column` >= `bound` (`at_least`) or <= `bound`. `min_side_px` reads both sides."""

    name: str
    bound: float
    at_least: bool = True

    @property
    def columns(self) -> list[str]:
        """The columns it needs."""
        return ["width_px", "height_px"] if self.name == "min_side_px" else [self.name]

    def passes(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """(N,) bool; a missing or non-finite value fails."""
        if self.name == "min_side_px":
            value = np.minimum(values["width_px"], values["height_px"])
        else:
            value = values[self.name]
        return value >= self.bound if self.at_least else value <= self.bound


def scope_rules(bounds: Mapping[str, float]) -> list[ScopeRule]:
    """Rules of the options `scope_<name>`; a bound that everything passes (see the options) makes no rule."""
    rules = []
    for name, bound in bounds.items():
        at_least = name != "color_shift"
        if (at_least and bound > (-1 if name == "clip_similarity" else 0)) or (not at_least and bound < 1):
            rules.append(ScopeRule(name, bound, at_least))
    return rules


def scope_columns(rules: Sequence[ScopeRule]) -> list[str]:
    """Columns a step must read to apply its scope."""
    return list(
        dict.fromkeys(["ingest_error", "quality_error", *(c for rule in rules for c in rule.columns)])
    )


def skipped_by(batch: pa.RecordBatch | pa.Table, rules: Sequence[ScopeRule]) -> list[str | None]:
    """Per row: the first rule it fails, `undecodable` for a row in error, or None for a row to score."""
    values = {
        name: float_column(batch, name) for name in {column for rule in rules for column in rule.columns}
    }
    out: list[str | None] = [None] * batch.num_rows
    for rule in reversed(rules):
        for row in np.flatnonzero(~rule.passes(values)):
            out[row] = rule.name
    for name in ("ingest_error", "quality_error"):
        column = batch.column(name)
        for row in np.flatnonzero(np.asarray(column.is_valid())):
            out[row] = UNDECODABLE
    return out


def float_column(table: pa.RecordBatch | pa.Table, name: str) -> np.ndarray:
    """A numeric column as (N,) float64 with NaN for null."""
    column = table.column(name).cast(pa.float64())
    if column.null_count:
        column = column.fill_null(float("nan"))
    return np.asarray(column.to_numpy(zero_copy_only=False))

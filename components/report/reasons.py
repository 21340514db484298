"""Reasons of rejected rows as bit masks, and what follows from them: counts, funnel, overlap.

A row's mask has bit j set when it fails rule j. Everything after `reason_masks` is numpy over one uint64 per
row, so that a million rows take a fraction of a second.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.report.data import ReportError, Rule

MAX_RULES = 64


@dataclass(frozen=True)
class Reasons:
    """rules: in funnel order, then those that occur without a rule. masks: (N,) uint64. keep: (N,) bool."""

    rules: tuple[Rule, ...]
    masks: np.ndarray
    keep: np.ndarray

    def fails(self, name: str) -> np.ndarray:
        """(N,) bool: rows that fail a rule; all False for a rule that is unknown."""
        for bit, rule in enumerate(self.rules):
            if rule.name == name:
                return (self.masks >> np.uint64(bit)) & np.uint64(1) == 1
        return np.zeros(len(self.masks), dtype=bool)

    def fails_only(self, name: str) -> np.ndarray:
        """(N,) bool: rows for which this rule is the only reason."""
        return self.fails(name) & (self.masks & (self.masks - np.uint64(1)) == 0)


@dataclass(frozen=True)
class FunnelStep:
    """Rows before the rule, rows it takes out, and rows left."""

    rule: Rule
    before: int
    dropped: int

    @property
    def left(self) -> int:
        return self.before - self.dropped


@dataclass(frozen=True)
class RuleCount:
    """How many rows fail a rule at all, and how many fail nothing else."""

    rule: Rule
    fails: int
    alone: int


@dataclass(frozen=True)
class Combination:
    """Rows that fail exactly these rules."""

    rules: tuple[str, ...]
    rows: int


def reason_masks(rows: pa.Table, rules: Sequence[Rule]) -> Reasons:
    """Masks of the table's `reasons`. Raises ReportError for over 64 rules, or a row kept with a reason."""
    column = rows.column("reasons").combine_chunks()
    column = column.cast(pa.list_(pa.string())).fill_null([])
    occurring = pc.unique(column.flatten()).to_pylist()
    known = {rule.name for rule in rules}
    rules = (*rules, *(Rule(name, "") for name in sorted(set(occurring) - known)))
    if len(rules) > MAX_RULES:
        raise ReportError(f"A report shows at most {MAX_RULES} rules; these rows have {len(rules)}.")
    names = pa.array([rule.name for rule in rules], pa.string())
    bits = pc.index_in(column.flatten(), names).to_numpy(zero_copy_only=False).astype(np.uint64)
    lengths = np.diff(column.offsets.to_numpy())
    masks = np.zeros(len(column), dtype=np.uint64)
    np.bitwise_or.at(masks, np.repeat(np.arange(len(column)), lengths), np.uint64(1) << bits)
    keep = pc.fill_null(rows.column("keep"), False).combine_chunks().to_numpy(zero_copy_only=False)
    if bool((keep & (masks != 0)).any()):
        raise ReportError("Some rows are kept although they have a reason: run selection again.")
    return Reasons(tuple(rules), masks, keep)


def funnel(reasons: Reasons) -> list[FunnelStep]:
    """Rules one after the other; each row leaves at the first rule it fails, so that drops add up."""
    lowest = reasons.masks & (~reasons.masks + np.uint64(1))
    failed = lowest[lowest != 0]
    first = np.bincount(np.log2(failed.astype(np.float64)).astype(np.int64), minlength=len(reasons.rules))
    steps = []
    before = len(reasons.masks)
    for rule, dropped in zip(reasons.rules, first, strict=True):
        steps.append(FunnelStep(rule, before, int(dropped)))
        before -= int(dropped)
    return steps


def rule_counts(reasons: Reasons) -> list[RuleCount]:
    """Rows per rule, in the order of the rules."""
    return [
        RuleCount(rule, int(reasons.fails(rule.name).sum()), int(reasons.fails_only(rule.name).sum()))
        for rule in reasons.rules
    ]


def combinations(reasons: Reasons, limit: int) -> tuple[list[Combination], int]:
    """The most frequent combinations of reasons, and the number of rows in all the others."""
    masks, counts = np.unique(reasons.masks[reasons.masks != 0], return_counts=True)
    order = np.lexsort((masks, -counts))
    top = [
        Combination(
            tuple(rule.name for bit, rule in enumerate(reasons.rules) if int(masks[i]) >> bit & 1),
            int(counts[i]),
        )
        for i in order[:limit]
    ]
    return top, int(counts[order[limit:]].sum())

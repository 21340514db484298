"""What a selection with other thresholds would keep, at once: only a rule that changed is evaluated again.

Every rule is the real selection's own, run with all others switched off; what it rejects is kept by the
values it was asked with. A selection then is a sum of a dozen masks: milliseconds for a million rows.
"""

import math
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import annotated_types
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.data.judged import judged_min_side_px, judged_ratio_column
from components.data.manifest import DatasetManifest
from components.data.options import parse_options
from components.data.scope import float_column
from components.data.storage import Store
from components.report.data import ReportError
from components.report.verdicts import selection_record
from components.selection.columns import equals, exactly, flag, numbers
from components.selection.options import SelectionOptions
from components.selection.quota import breed_codes, id_order, under_minimum
from components.selection.rules import SKIPPED_BY, evaluate, needed_columns
from components.selection.tiers import CONFIDENT, REVIEWED, tiers
from pipelines.lineage.console.columns import Columns

# Every rule switched off, so that `evaluate` applies the one rule that is switched on again.
OFF = SelectionOptions(
    min_side_px=0,
    laplacian_variance=0,
    color_shift=1,
    clip_similarity=-1,
    clip_similarity_fraction=1,
    foreground_ratio=0,
    crop_to_subject=False,
    subject_sharpness=0,
    caption_words_min=0,
    caption_words_max=0,
    caption_vague=False,
    caption_truncated=False,
    caption_has_dog_word=False,
    duplicate_exact=False,
    duplicate_near=False,
    licenses=[],
    sources=[],
    breed_required=False,
    breed_min=0,
    breed_cap=0,
)
# Rule -> the options it depends on, in the order in which a selection applies them.
RULES: dict[str, tuple[str, ...]] = {
    "undecodable": (),
    "min_side_px": ("min_side_px", "crop_to_subject"),
    "laplacian_variance": ("laplacian_variance",),
    "color_shift": ("color_shift",),
    "duplicate_exact": ("duplicate_exact",),
    "duplicate_near": ("duplicate_near",),
    "caption_words_min": ("caption_words_min",),
    "caption_words_max": ("caption_words_max",),
    "caption_vague": ("caption_vague",),
    "caption_truncated": ("caption_truncated",),
    "caption_has_dog_word": ("caption_has_dog_word",),
    "license": ("licenses", "license_unknown"),
    "source": ("sources",),
    "breed": ("breed_required",),
    "clip_similarity": ("clip_similarity", "clip_similarity_fraction"),
    "foreground_ratio": ("foreground_ratio", "crop_to_subject"),
    "subject_sharpness": ("subject_sharpness",),
}
# The step whose scores a rule needs; rows outside that step's scope have none.
_SCORED_BY = {rule: step for step, rules in SKIPPED_BY.items() for rule in rules}
_KEPT_MASKS = 96
_BINS = 48


@dataclass(frozen=True)
class Outcome:
    """What a selection would keep. `keep`: (N,) bool. `failed`: rows that fail each rule, also the quotas.

    `unscored`: rows that pass every rule before a step's scores but were left out of its scope, by step: the
    real selection refuses to guess about them, so here they are not kept.
    """

    keep: np.ndarray
    failed: dict[str, int]
    tier: np.ndarray
    unscored: dict[str, int]


@dataclass(frozen=True)
class Slider:
    """A threshold to drag. `shares`: heights 0 to 1 of the bars of a histogram between low and high.

    `side` says which rows pass, "at_least" or "at_most", or "" for a quota or a share.
    """

    name: str
    help: str
    low: float
    high: float
    step: float
    whole: bool
    value: float
    side: str
    shares: tuple[float, ...]


class Explorer:
    """The columns of one selected dataset that its rules read, and the masks of the rules asked for so far.

    Safe to use from threads. `base` are the options the dataset was selected with. Raises ReportError for a
    dataset without a selection.
    """

    def __init__(self, columns: Columns, store: Store, dataset: DatasetManifest) -> None:
        if "selection" not in dataset.groups:
            raise ReportError(
                f"Dataset {dataset.name} {dataset.id} holds no verdicts of a selection: explore the "
                "thresholds of the dataset that the selection made."
            )
        self.base = parse_options(SelectionOptions, selection_record(dataset).options, step="selection")
        everything = SelectionOptions(
            crop_to_subject=True,
            subject_sharpness=1,
            caption_has_dog_word=True,
            licenses=["*"],
            sources=["*"],
        )
        needed = [*needed_columns(everything), *needed_columns(self.base)]
        self.available = frozenset(name for name in needed if name in dataset.columns)
        table = columns.table(store, dataset, list(dict.fromkeys(n for n in needed if n in self.available)))
        self.rows = table.num_rows
        self._skipped = {}
        for step in SKIPPED_BY:
            name = f"{step}_skipped_by"
            if name in self.available:
                self._skipped[step] = np.asarray(pc.is_valid(table.column(name)))
                # So that `evaluate`, which refuses rows without a score, can be asked about one rule alone.
                empty = pa.nulls(self.rows, pa.string())
                table = table.set_column(table.column_names.index(name), name, empty)
        self._table = table
        self._masks: OrderedDict[tuple[Any, ...], np.ndarray] = OrderedDict()
        self._lock = Lock()
        self._breeds()
        self._confidence = (
            numbers(table, "breed_confidence")
            if "breed_confidence" in self.available
            else np.full(self.rows, np.nan)
        )
        self._reviewed = flag(table, "reviewed", missing=False)
        self._tiers: tuple[float, np.ndarray] | None = None
        self.before = self.outcome(self.base)
        self.per_breed_before = self.per_breed(self.before.keep)

    def _breeds(self) -> None:
        """Breeds as codes, and all rows sorted by breed, the best of a breed first, as quotas take them."""
        table = self._table
        self.breed_names: list[str] = []
        self.codes = np.full(self.rows, -1)
        self._train: np.ndarray | None = None
        if "breed" not in self.available:
            return
        column = table.column("breed").combine_chunks()
        self.codes = breed_codes(table.column("breed"))
        self.breed_names = column.dictionary_encode().dictionary.to_pylist()
        if "split" in self.available:
            self._train = equals(table.column("split"), "train")
        similarity = (
            float_column(table, "clip_similarity")
            if "clip_similarity" in self.available
            else np.full(self.rows, np.nan)
        )
        reviewed = flag(table, "reviewed", missing=False)
        keys = (
            id_order(table.column("image_id")),
            -np.nan_to_num(similarity, nan=-1.0),
            (~reviewed).astype(np.int8),
            self.codes,
        )
        self._best_first = np.lexsort(keys)
        codes = self.codes[self._best_first]
        starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]]) if self.rows else np.zeros(0, int)
        self._start_of = np.repeat(starts, np.diff(np.r_[starts, self.rows]))

    def options(self, changes: Mapping[str, Any]) -> SelectionOptions:
        """The base options with changes. Raises OptionError for unknown or impossible ones."""
        return parse_options(SelectionOptions, {**self.base.model_dump(), **changes}, step="selection")

    def adjustable(self, name: str) -> bool:
        """Whether the dataset has what the rules of an option need."""
        columns = set(needed_columns(OFF.model_copy(update=_switched_on(name)))) - set(needed_columns(OFF))
        return columns <= self.available

    def failed(self, rule: str, options: SelectionOptions) -> np.ndarray:
        """(N,) bool: the rows that fail one rule of RULES. Kept for the next time."""
        names = RULES[rule]
        key = (rule, *(repr(getattr(options, name)) for name in names))
        with self._lock:
            if key in self._masks:
                self._masks.move_to_end(key)
                return self._masks[key]
        only = OFF.model_copy(update={name: getattr(options, name) for name in names})
        verdict = evaluate(self._table, only)
        mask = (
            verdict.columns[verdict.names.index(rule)] if rule in verdict.names else np.zeros(self.rows, bool)
        )
        step = _SCORED_BY.get(rule)
        if step in self._skipped:
            mask = mask & ~self._skipped[step]
        with self._lock:
            self._masks[key] = mask
            while len(self._masks) > _KEPT_MASKS:
                self._masks.popitem(last=False)
        return mask

    def outcome(self, options: SelectionOptions) -> Outcome:
        """What a selection with these options keeps."""
        rejected = np.zeros(self.rows, bool)
        counts: dict[str, int] = {}
        unscored: dict[str, int] = {}
        unknown = np.zeros(self.rows, bool)
        for rule in RULES:
            if rule in ("clip_similarity", "foreground_ratio"):
                step = _SCORED_BY[rule]
                if step in self._skipped and _uses(step, options):
                    lacking = self._skipped[step] & ~rejected & ~unknown
                    if lacking.any():
                        unscored[step] = int(lacking.sum())
                        unknown |= lacking
            failed = self.failed(rule, options)
            count = int(np.count_nonzero(failed))
            if count:
                counts[rule] = count
                rejected |= failed
        keep = ~(rejected | unknown)
        if options.breed_required:
            keep = self._within_quota(keep, options, counts)
        return Outcome(keep, counts, self._tier(options.breed_confidence), unscored)

    def _tier(self, threshold: float) -> np.ndarray:
        known = self._tiers
        if known is None or known[0] != threshold:
            known = self._tiers = threshold, tiers(self._reviewed, self._confidence, exactly(threshold))
        return known[1]

    def _within_quota(
        self, keep: np.ndarray, options: SelectionOptions, counts: dict[str, int]
    ) -> np.ndarray:
        if self._train is None:
            return keep
        train, within = keep & self._train, keep
        if options.breed_cap > 0:
            over = self._over_cap(train, options.breed_cap)
            counts.update({"breed_cap": int(over.sum())} if over.any() else {})
            within, train = within & ~over, train & ~over
        if options.breed_min > 0:
            under = keep & under_minimum(self.codes, train, options.breed_min)
            counts.update({"breed_min": int(under.sum())} if under.any() else {})
            within = within & ~under
        return within

    def _over_cap(self, train: np.ndarray, cap: int) -> np.ndarray:
        """(N,) bool: training rows beyond the best `cap` of their breed. All rows are sorted beforehand."""
        over = np.zeros(self.rows, bool)
        if int(np.bincount(self.codes[train] + 1, minlength=1).max(initial=0)) <= cap:
            return over
        counted = train[self._best_first] & (self.codes[self._best_first] >= 0)
        before: np.ndarray = np.cumsum(counted) - counted
        rank: np.ndarray = before - before[self._start_of]
        over[self._best_first] = counted & (rank >= cap)
        return over

    def tier_counts(self, outcome: Outcome) -> dict[int, int]:
        """Kept rows of tier 0 and tier 1."""
        return {tier: int((outcome.keep & (outcome.tier == tier)).sum()) for tier in (REVIEWED, CONFIDENT)}

    def per_breed(self, keep: np.ndarray) -> np.ndarray:
        """Kept rows of every breed of `breed_names`."""
        kept = self.codes[keep]
        return np.bincount(kept[kept >= 0], minlength=len(self.breed_names))

    def nearest(self, rows: np.ndarray, option: str, options: SelectionOptions, count: int) -> np.ndarray:
        """Of the rows (numbers), those closest to a threshold; evenly spread ones where it has no score."""
        if len(rows) <= count:
            return rows
        value = self._values(option, options)
        if value is None:
            return rows[np.linspace(0, len(rows) - 1, count).astype(int)]
        distance = np.nan_to_num(np.abs(value[rows] - float(getattr(options, option))), nan=np.inf)
        return np.sort(rows[np.argpartition(distance, count)[:count]])

    def _values(self, option: str, options: SelectionOptions) -> np.ndarray | None:
        """(N,) what a threshold is held against; None for options that have no score."""
        column = _COLUMN.get(option)
        if option == "min_side_px":
            return judged_min_side_px(self._table, options.crop_to_subject)
        if option == "foreground_ratio":
            column = judged_ratio_column(options.crop_to_subject)
        return numbers(self._table, column) if column in self.available else None

    def sliders(self) -> list[Slider]:
        """Every threshold that can be dragged in this dataset."""
        return [
            slider
            for name, field in SelectionOptions.model_fields.items()
            if field.annotation in (int, float) and self.adjustable(name)
            if (slider := self._slider(name, field.description or "")) is not None
        ]

    def _slider(self, name: str, help: str) -> Slider | None:
        whole = SelectionOptions.model_fields[name].annotation is int
        off, value = float(getattr(OFF, name)), float(getattr(self.base, name))
        found = self._values(name, self.base)
        if found is None:
            low, high = 0.0, 1.0
            if name in ("breed_min", "breed_cap"):
                if not self.breed_names:
                    return None
                high = float(max(np.bincount(self.codes[self.codes >= 0], minlength=1).max(), value))
            shares: tuple[float, ...] = ()
        else:
            finite = found[np.isfinite(found)]
            if not len(finite):
                return None
            low, high = (float(q) for q in np.quantile(finite, (0.001, 0.995)))
            # "Off" can be reached, where it is near: a cosine of -1 would leave no room for the others.
            low = min(low, value, off) if off <= 0 and name != "clip_similarity" else min(low, value)
            high = max(high, value, off if name == "color_shift" else high)
            low, high = _rounded(low, high, whole)
            heights = np.histogram(finite, bins=_BINS, range=(low, high))[0]
            shares = tuple(np.round(np.sqrt(heights / max(heights.max(), 1)), 3).tolist())
        bound = _bounds(name)
        low, high = max(low, bound[0]), min(high, bound[1])
        step = 1.0 if whole else 10.0 ** (math.floor(math.log10(high - low)) - 3) if high > low else 0.01
        return Slider(name, help, low, high, step, whole, value, _side(name), shares)

    def flags(self) -> list[str]:
        """Options that are switched on or off and can be in this dataset."""
        return [
            name
            for name, field in SelectionOptions.model_fields.items()
            if field.annotation is bool and self.adjustable(name)
        ]


_COLUMN = {
    "laplacian_variance": "laplacian_variance",
    "color_shift": "color_shift",
    "clip_similarity": "clip_similarity",
    "subject_sharpness": "subject_sharpness",
    "caption_words_min": "caption_words",
    "caption_words_max": "caption_words",
    "breed_confidence": "breed_confidence",
}


def _side(name: str) -> str:
    if name in ("color_shift", "caption_words_max"):
        return "at_most"
    return "at_least" if name in _COLUMN or name in ("min_side_px", "foreground_ratio") else ""


def _uses(step: str, options: SelectionOptions) -> bool:
    """Whether a selection looks at the scores of a step, as `evaluate` decides it."""
    if step == "similarity":
        return options.clip_similarity > -1 or options.clip_similarity_fraction < 1
    return options.foreground_ratio > 0 or options.crop_to_subject or options.subject_sharpness > 0


def _switched_on(name: str) -> dict[str, Any]:
    """Values with which the rule of an option applies."""
    if name == "color_shift":
        return {name: 0.5}
    if name in ("breed_min", "breed_cap", "breed_confidence"):
        return {"breed_required": True}
    if name == "license_unknown":
        return {"licenses": ["*"]}
    kind = SelectionOptions.model_fields[name].annotation
    return {name: True if kind is bool else 1 if kind is int else 0.5 if kind is float else ["*"]}


def _rounded(low: float, high: float, whole: bool) -> tuple[float, float]:
    """The range widened to round numbers."""
    if not high > low:
        high = low + 1
    unit = 10.0 ** (math.floor(math.log10(high - low)) - 1)
    unit = max(unit, 1.0) if whole else unit
    return round(math.floor(low / unit) * unit, 9), round(math.ceil(high / unit) * unit, 9)


def _bounds(name: str) -> tuple[float, float]:
    """The option's own limits."""
    low, high = -math.inf, math.inf
    for rule in SelectionOptions.model_fields[name].metadata:
        if isinstance(rule, annotated_types.Ge):
            low = float(rule.ge)  # type: ignore[arg-type]
        elif isinstance(rule, annotated_types.Gt):
            low = float(rule.gt) + 0.01  # type: ignore[arg-type]
        elif isinstance(rule, annotated_types.Le):
            high = float(rule.le)  # type: ignore[arg-type]
    return low, high


def changed(base: SelectionOptions, options: SelectionOptions) -> dict[str, Any]:
    """The options that differ from the base."""
    before = base.model_dump()
    return {name: value for name, value in options.model_dump().items() if value != before[name]}

"""Which rules a row fails: all of them, vectorised over millions of rows."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.data.judged import judged_min_side_px, judged_ratio_column, similarity_bound
from components.data.licenses import is_permitted
from components.data.scope import UNDECODABLE
from components.selection.allowlist import is_allowed
from components.selection.columns import equals, exactly, flag, numbers
from components.selection.options import SelectionOptions

SKIPPED_BY = {"similarity": ["clip_similarity"], "foreground": ["foreground_ratio", "subject_sharpness"]}

THREADS = 4


class ScopeError(ValueError):
    """A threshold that needs scores which were never computed; the message names the backfill."""


class Verdict:
    """Which of the rules, in the order they were added, each of N rows fails."""

    def __init__(self, rows: int) -> None:
        self.names: list[str] = []
        self.columns: list[np.ndarray] = []
        self._rejected = np.zeros(rows, bool)

    def add(self, name: str, failed: np.ndarray) -> None:
        """Add a rule's (N,) bool."""
        self.names.append(name)
        self.columns.append(failed)
        self._rejected |= failed

    def keep(self) -> np.ndarray:
        """(N,) bool: no rule failed."""
        return ~self._rejected

    def reasons(self) -> pa.ChunkedArray:
        """Per row the names of all rules it fails, in the order the rules were added; as (N,) lists of text.

        Millions of rows fail in a few thousand combinations at most: each is spelled out once. Threads copy
        them to the rows, which is half of what a whole selection takes.
        """
        code = np.zeros(len(self._rejected), np.uint32)
        for bit, failed in enumerate(self.columns):
            code |= failed.astype(np.uint32) << np.uint32(bit)
        codes, combination = distinct(code, len(self.names))
        spelled = [
            [name for bit, name in enumerate(self.names) if value >> bit & 1] for value in codes.tolist()
        ]
        lists = pa.array(spelled, pa.list_(pa.string()))
        with ThreadPoolExecutor(THREADS) as pool:
            chunks = pool.map(lambda part: lists.take(pa.array(part)), np.array_split(combination, THREADS))
        return pa.chunked_array(list(chunks))


def distinct(code: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values of (N,) integers below 2**bits, ascending, and per row the index of its own."""
    if bits > 20:
        return np.unique(code, return_inverse=True)
    seen = np.zeros(1 << bits, bool)
    seen[code] = True
    values = np.flatnonzero(seen).astype(code.dtype)
    index = np.zeros(1 << bits, np.int32)
    index[values] = np.arange(len(values))
    return values, index[code]


def needed_columns(options: SelectionOptions) -> list[str]:
    """The columns the active rules read, so that a dataset without CLIP or SAM scores can be selected too."""
    names = [
        "image_id",
        "ingest_error",
        "quality_error",
        "width_px",
        "height_px",
        "reviewed",
    ]
    for active, columns in (
        (options.laplacian_variance > 0, ["laplacian_variance"]),
        (options.color_shift < 1, ["color_shift"]),
        (_uses_similarity(options), ["clip_similarity", "similarity_skipped_by", "similarity_error"]),
        (_uses_foreground(options), ["foreground_ratio", "foreground_skipped_by"]),
        (options.crop_to_subject, ["foreground_ratio_crop", "crop_box"]),
        (options.subject_sharpness > 0, ["subject_sharpness"]),
        (options.caption_words_min > 0 or options.caption_words_max > 0, ["caption_words", "captions_error"]),
        (options.caption_vague, ["caption_vague"]),
        (options.caption_truncated, ["caption_truncated"]),
        (options.caption_has_dog_word, ["caption_has_dog_word"]),
        (options.duplicate_exact or options.duplicate_near, ["duplicate_kind"]),
        (bool(options.licenses), ["license"]),
        (bool(options.sources), ["source"]),
        (options.breed_required, ["breed", "breed_confidence", "split"]),
    ):
        if active:
            names.extend(columns)
    return list(dict.fromkeys(names))


def _uses_similarity(options: SelectionOptions) -> bool:
    return options.clip_similarity > -1 or options.clip_similarity_fraction < 1 or options.breed_required


def _uses_foreground(options: SelectionOptions) -> bool:
    return options.foreground_ratio > 0 or options.crop_to_subject or options.subject_sharpness > 0


def evaluate(table: pa.Table, options: SelectionOptions) -> Verdict:
    """Apply every rule that looks at one row. Raises ScopeError when a row that passes lacks a score."""
    verdict = Verdict(table.num_rows)
    errors = _errors(table)
    verdict.add(UNDECODABLE, errors)
    _image_rules(table, options, verdict, errors)
    _caption_rules(table, options, verdict)
    _origin_rules(table, options, verdict)
    cheap = verdict.keep()
    _similarity_rules(table, options, verdict, cheap)
    _foreground_rules(table, options, verdict, cheap)
    return verdict


def _errors(table: pa.Table) -> np.ndarray:
    failed = np.zeros(table.num_rows, bool)
    # Not foreground_error: a picture without a subject fails the ratio, it is not broken.
    for name in ("ingest_error", "quality_error", "captions_error", "similarity_error"):
        if name in table.column_names and table.column(name).null_count < table.num_rows:
            failed |= np.asarray(pc.is_valid(table.column(name)))
    return failed


def _image_rules(table: pa.Table, options: SelectionOptions, verdict: Verdict, errors: np.ndarray) -> None:
    def add(name: str, value: np.ndarray, passed: np.ndarray) -> None:
        # A file that cannot be decoded is rejected as such: what it lacks says nothing about its sharpness.
        verdict.add(name, ~passed & ~(errors & np.isnan(value)))

    if options.min_side_px > 0:
        side = judged_min_side_px(table, options.crop_to_subject)
        add("min_side_px", side, side >= options.min_side_px)
    if options.laplacian_variance > 0:
        value = numbers(table, "laplacian_variance")
        add("laplacian_variance", value, value >= exactly(options.laplacian_variance))
    if options.color_shift < 1:
        value = numbers(table, "color_shift")
        add("color_shift", value, value <= exactly(options.color_shift))
    if options.duplicate_exact or options.duplicate_near:
        kind = table.column("duplicate_kind")
        for name, active in (("exact", options.duplicate_exact), ("near", options.duplicate_near)):
            if active:
                verdict.add(f"duplicate_{name}", equals(kind, name))


def _caption_rules(table: pa.Table, options: SelectionOptions, verdict: Verdict) -> None:
    if options.caption_words_min > 0:
        words = numbers(table, "caption_words")
        verdict.add("caption_words_min", ~(words >= options.caption_words_min))
    if options.caption_words_max > 0:
        words = numbers(table, "caption_words")
        verdict.add("caption_words_max", ~(words <= options.caption_words_max))
    if options.caption_vague:
        verdict.add("caption_vague", flag(table, "caption_vague", missing=True))
    if options.caption_truncated:
        verdict.add("caption_truncated", flag(table, "caption_truncated", missing=True))
    if options.caption_has_dog_word:
        verdict.add("caption_has_dog_word", ~flag(table, "caption_has_dog_word", missing=False))


def _origin_rules(table: pa.Table, options: SelectionOptions, verdict: Verdict) -> None:
    if options.licenses:
        unknown = "allow" if options.license_unknown else "reject"
        permitted = _by_value(table, "license", lambda key: is_permitted(key, options.licenses, unknown))
        verdict.add("license", ~permitted)
    if options.sources:
        verdict.add("source", ~_by_value(table, "source", lambda name: is_allowed(name, options.sources)))
    if options.breed_required:
        verdict.add("breed", np.asarray(pc.is_null(table.column("breed"))))


def _similarity_rules(
    table: pa.Table, options: SelectionOptions, verdict: Verdict, cheap: np.ndarray
) -> None:
    if options.clip_similarity <= -1 and options.clip_similarity_fraction >= 1:
        return
    value = numbers(table, "clip_similarity")
    skipped = _require_scores(table, "similarity", cheap)
    bound = similarity_bound(
        value.astype(np.float64), options.clip_similarity, options.clip_similarity_fraction
    )
    # A row that was not scored because it fails a cheap rule is rejected by that rule alone.
    verdict.add("clip_similarity", ~(value >= exactly(bound)) & ~skipped)


def _foreground_rules(
    table: pa.Table, options: SelectionOptions, verdict: Verdict, cheap: np.ndarray
) -> None:
    if not _uses_foreground(options):
        return
    passed = cheap & verdict.keep()
    skipped = _require_scores(table, "foreground", passed)
    if options.foreground_ratio > 0:
        value = numbers(table, judged_ratio_column(options.crop_to_subject))
        verdict.add("foreground_ratio", ~(value >= exactly(options.foreground_ratio)) & ~skipped)
    if options.subject_sharpness > 0:
        value = numbers(table, "subject_sharpness")
        verdict.add("subject_sharpness", ~(value >= exactly(options.subject_sharpness)) & ~skipped)


def _require_scores(table: pa.Table, step: str, passed: np.ndarray) -> np.ndarray:
    """(N,) bool of rows outside the score scope; ScopeError when one of them passes all rules before."""
    column = table.column(f"{step}_skipped_by")
    if column.null_count == len(column):
        return np.zeros(len(column), bool)
    skipped = np.asarray(pc.is_valid(column))
    unscored = skipped & passed
    if unscored.any():
        rules = pc.value_counts(column.filter(pa.array(unscored))).to_pylist()
        named = ", ".join(f"{step}.scope_{item['values']} leaves out {item['counts']}" for item in rules)
        raise ScopeError(
            f"{int(unscored.sum())} rows pass every cheaper rule but have no {step} score: {named}. "
            "Run the same command with --backfill to score these rows (and only these), or tighten selection."
        )
    return skipped


def _by_value(table: pa.Table, name: str, rule: Callable[[str], bool]) -> np.ndarray:
    """Apply a rule on text to each distinct value once."""
    column = table.column(name).fill_null("").combine_chunks().dictionary_encode()
    verdicts: Sequence[bool] = [rule(value) for value in column.dictionary.to_pylist()]
    return np.asarray(verdicts, bool)[np.asarray(column.indices)]

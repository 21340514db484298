"""The rules as selection applied them: their limits, and the values they were held against."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from components.data.judged import judged_min_side_px, judged_ratio_column, similarity_bound
from components.data.manifest import DatasetManifest, StepRecord
from components.data.scope import UNDECODABLE, float_column
from components.data.shards import read_table
from components.data.storage import Store
from components.report.data import AT_LEAST, AT_MOST, ReportError, Rule, Threshold

# Shown where the dataset has them; what the rules need comes on top.
_SHOWN = ("caption", "breed", "caption_script", "source", "source_uri", "duplicate_of")
_NEEDED = ("image_id", "keep", "reasons", "width_px", "height_px")


@dataclass(frozen=True)
class _Limit:
    """A rule on a score: `option` holds its bound, which is switched off at `off`."""

    option: str
    step: str
    column: str
    side: Literal["at_least", "at_most"]
    off: float
    help: str


@dataclass(frozen=True)
class _Check:
    """A rule without a score; it applies when the option is set to something that is not empty or 0."""

    name: str
    step: str
    option: str
    help: str


# In the order of the pipeline, which is that of the funnel.
_RULES: tuple[_Limit | _Check, ...] = (
    _Check("license", "ingest", "licenses", "the licence is not among those taken"),
    _Check("source", "ingest", "sources", "the source is not among those taken"),
    _Check("breed", "ingest", "breed_required", "no breed is known"),
    _Limit("min_side_px", "ingest", "min_side_px", AT_LEAST, 0, "shorter side in pixels"),
    _Limit("caption_words_min", "captions", "caption_words", AT_LEAST, 0, "words of the caption"),
    _Limit("caption_words_max", "captions", "caption_words", AT_MOST, 0, "words of the caption"),
    _Check("caption_vague", "captions", "caption_vague", "the caption hedges"),
    _Check("caption_truncated", "captions", "caption_truncated", "longer than the text encoder reads"),
    _Check("caption_has_dog_word", "captions", "caption_has_dog_word", "the caption names no dog"),
    _Limit("laplacian_variance", "quality", "laplacian_variance", AT_LEAST, 0, "sharpness at native size"),
    _Limit("color_shift", "quality", "color_shift", AT_MOST, 1, "distance of the colours to grey"),
    _Check("duplicate_exact", "duplicates", "duplicate_exact", "the same bytes as another photo"),
    _Check("duplicate_near", "duplicates", "duplicate_near", "nearly the same picture as another photo"),
    _Limit("clip_similarity", "similarity", "clip_similarity", AT_LEAST, -1, "cosine of image and caption"),
    _Limit(
        "foreground_ratio",
        "foreground",
        "foreground_ratio",
        AT_LEAST,
        0,
        "share of the picture the subject covers",
    ),
    _Limit(
        "subject_sharpness", "foreground", "subject_sharpness", AT_LEAST, 0, "sharpness inside the subject"
    ),
    _Check("breed_cap", "selection", "breed_cap", "its breed has enough better photos"),
    _Check("breed_min", "selection", "breed_min", "its breed has too few photos"),
)


def selection_record(dataset: DatasetManifest) -> StepRecord:
    """How the dataset's selection was run. Raises ReportError when it was not."""
    for record in reversed([*dataset.history, dataset.record()]):
        if record.step == "selection":
            return record
    raise ReportError(
        f"Dataset {dataset.name} {dataset.id} comes from the step {dataset.step} and has no verdicts: run "
        "selection first, and give its dataset to the report."
    )


def judged_rows(store: Store, dataset: DatasetManifest, selection: Mapping[str, Any]) -> pa.Table:
    """One row per ingested file: what is shown, errors, verdicts, and every value a limit is held against."""
    crop = bool(selection.get("crop_to_subject"))
    have = dataset.columns
    wanted = [*_NEEDED, *(name for name in have if name in _SHOWN or name.endswith("_error"))]
    wanted += [column for limit in _limits() if (column := _column(limit, crop)) in have]
    if crop:
        wanted.append("crop_box")
    table = read_table(store, dataset, list(dict.fromkeys(wanted)))
    side = pa.array(judged_min_side_px(table, crop), from_pandas=True)
    return table.append_column("min_side_px", side)


def judged_rules(rows: pa.Table, selection: Mapping[str, Any]) -> list[Rule]:
    """Rules in the order of the funnel; a limit that is off is listed too where its score was computed."""
    crop = bool(selection.get("crop_to_subject"))
    rules = [Rule(UNDECODABLE, "ingest", "a step could not work on the file")]
    for rule in _RULES:
        if isinstance(rule, _Check):
            if selection.get(rule.option) and (rule.step != "selection" or selection.get("breed_required")):
                rules.append(Rule(rule.name, rule.step, rule.help))
        elif (column := _column(rule, crop)) in rows.column_names:
            rules.append(Rule(rule.option, rule.step, rule.help, _threshold(rule, column, rows, selection)))
    return rules


def _threshold(limit: _Limit, column: str, rows: pa.Table, selection: Mapping[str, Any]) -> Threshold:
    bound = float(selection.get(limit.option, limit.off))
    if limit.option == "clip_similarity":
        fraction = float(selection.get("clip_similarity_fraction", 1.0))
        bound = similarity_bound(float_column(rows, column), bound, fraction)
    return Threshold(column, limit.side, bound, active=bound != limit.off)


def _column(limit: _Limit, crop: bool) -> str:
    return judged_ratio_column(crop) if limit.option == "foreground_ratio" else limit.column


def _limits() -> Sequence[_Limit]:
    return [rule for rule in _RULES if isinstance(rule, _Limit)]

"""The report's rules against selection itself on random rows: same names, same limits, same values judged."""

import numpy as np
import pyarrow as pa
import pytest

from components.data.judged import judged_min_side_px
from components.data.schema import arrow_schema
from components.report.histogram import passing
from components.report.scores import score_values
from components.report.verdicts import judged_rules
from components.selection.options import SelectionOptions
from components.selection.step import select

ROWS = 400
OFF = {
    "min_side_px": 0,
    "laplacian_variance": 0.0,
    "color_shift": 1.0,
    "clip_similarity": -1.0,
    "foreground_ratio": 0.0,
    "caption_words_min": 0,
    "caption_words_max": 0,
    "caption_vague": False,
    "caption_truncated": False,
    "duplicate_exact": False,
    "duplicate_near": False,
    "breed_required": False,
}
CASES = {
    "strict": {"min_side_px": 512, "foreground_ratio": 0.4, "breed_cap": 20, "breed_min": 5},
    "crop": {"min_side_px": 300, "crop_to_subject": True, "foreground_ratio": 0.6},
    "best half": {"min_side_px": 0, "clip_similarity_fraction": 0.5, "clip_similarity": 0.1},
    "sharp subjects": {"subject_sharpness": 40.0, "licenses": ["CC-BY-*"], "sources": ["club*"]},
    "off": OFF,
}


def some(rng, values, share):
    """Values, null in a share of the rows."""
    return [
        None if missing else value for value, missing in zip(values, rng.random(ROWS) < share, strict=True)
    ]


def planted(seed):
    """Random rows with every column that a rule may read; error rows have no scores."""
    rng = np.random.default_rng(seed)
    boxes = [[0, 0, int(w), int(h)] for w, h in rng.integers(100, 900, (ROWS, 2))]
    columns = {
        "image_id": [f"{i:032x}" for i in range(ROWS)],
        "ingest_error": some(rng, ["broken"] * ROWS, 0.97),
        "width_px": rng.integers(200, 2000, ROWS).tolist(),
        "height_px": rng.integers(200, 2000, ROWS).tolist(),
        "breed": some(rng, rng.choice(["pug", "boxer", "rare"], ROWS, p=[0.5, 0.47, 0.03]).tolist(), 0.1),
        "reviewed": (rng.random(ROWS) < 0.3).tolist(),
        "source": rng.choice(["club_a", "web"], ROWS).tolist(),
        "license": rng.choice(["CC-BY-4.0", "CC0-1.0"], ROWS).tolist(),
        "laplacian_variance": rng.lognormal(5, 1, ROWS).tolist(),
        "color_shift": rng.random(ROWS).tolist(),
        "clip_similarity": rng.normal(0.25, 0.05, ROWS).tolist(),
        "breed_confidence": rng.random(ROWS).tolist(),
        "foreground_ratio": rng.random(ROWS).tolist(),
        "foreground_ratio_crop": rng.random(ROWS).tolist(),
        "crop_box": some(rng, boxes, 0.3),
        "subject_sharpness": rng.lognormal(4, 1, ROWS).tolist(),
        "caption_words": rng.integers(2, 45, ROWS).tolist(),
        "caption_vague": (rng.random(ROWS) < 0.1).tolist(),
        "caption_truncated": (rng.random(ROWS) < 0.1).tolist(),
        "caption_has_dog_word": (rng.random(ROWS) < 0.9).tolist(),
        "duplicate_kind": some(rng, rng.choice(["exact", "near"], ROWS).tolist(), 0.8),
        "split": rng.choice(["train", "test"], ROWS, p=[0.9, 0.1]).tolist(),
    }
    empty = {
        name: [None] * ROWS
        for name in (
            *("quality_error", "captions_error", "similarity_error", "similarity_skipped_by"),
            *("foreground_error", "foreground_skipped_by"),
        )
    }
    columns |= empty
    return pa.table(columns, schema=arrow_schema(list(columns)))


@pytest.mark.parametrize("case", CASES)
def test_a_row_fails_a_rule_of_the_report_exactly_when_selection_gave_that_reason(case):
    table = planted(len(case))
    options = SelectionOptions(**CASES[case])
    reasons = select(table, options).column("reasons").to_pylist()
    side = pa.array(judged_min_side_px(table, options.crop_to_subject))
    rows = table.append_column("min_side_px", side)
    rules = judged_rules(rows, options.model_dump())
    assert {name for row in reasons for name in row} <= {rule.name for rule in rules}
    for rule in rules:
        if rule.threshold is None:
            continue
        given = np.array([rule.name in row for row in reasons])
        if rule.threshold.active:
            values = score_values(rows, rule.threshold.column)
            assert (given == ~passing(values, rule.threshold)).all(), rule.name
        else:
            assert not given.any(), rule.name


def test_the_ratio_judged_is_that_of_the_crop_when_crops_are_used():
    rows = planted(1).append_column("min_side_px", pa.array([1.0] * ROWS))
    for crop, column in ((False, "foreground_ratio"), (True, "foreground_ratio_crop")):
        options = SelectionOptions(crop_to_subject=crop).model_dump()
        (rule,) = [rule for rule in judged_rules(rows, options) if rule.name == "foreground_ratio"]
        assert rule.threshold.column == column


def test_limits_of_scores_that_were_not_computed_are_no_rules():
    rows = planted(1).append_column("min_side_px", pa.array([1.0] * ROWS))
    rows = rows.drop_columns(["clip_similarity", "subject_sharpness"])
    names = [rule.name for rule in judged_rules(rows, SelectionOptions().model_dump())]
    assert "clip_similarity" not in names and "subject_sharpness" not in names
    assert names[0] == "undecodable" and names.index("min_side_px") < names.index("laplacian_variance")

"""Selection rules: each alone against planted rows, NaN never passes, every failed rule is listed."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest

from components.data.schema import arrow_schema
from components.selection.options import SelectionOptions
from components.selection.quota import id_order
from components.selection.rules import ScopeError, evaluate, needed_columns
from components.selection.step import count, select

GOOD = {
    "image_id": "0" * 32,
    "ingest_error": None,
    "quality_error": None,
    "captions_error": None,
    "similarity_error": None,
    "foreground_error": None,
    "width_px": 1200,
    "height_px": 1100,
    "breed": "pug",
    "reviewed": False,
    "source": "breed_club",
    "license": "CC-BY-4.0",
    "laplacian_variance": 150.0,
    "color_shift": 0.2,
    "clip_similarity": 0.3,
    "breed_confidence": 0.9,
    "similarity_skipped_by": None,
    "foreground_ratio": 0.7,
    "foreground_ratio_crop": 0.8,
    "crop_box": [0, 0, 1100, 1100],
    "subject_sharpness": 50.0,
    "foreground_skipped_by": None,
    "caption_words": 12,
    "caption_vague": False,
    "caption_truncated": False,
    "caption_has_dog_word": True,
    "duplicate_kind": None,
    "split": "train",
}


def rows(*changes):
    records = [
        {**GOOD, "image_id": hashlib.sha256(bytes([i])).hexdigest()[:32], **change}
        for i, change in enumerate(changes)
    ]
    return pa.Table.from_pylist(records, schema=arrow_schema(list(GOOD)))


def reasons_of(change, **options):
    return select(rows(change), SelectionOptions(**options)).column("reasons")[0].as_py()


@pytest.mark.parametrize(
    ("change", "options", "reason"),
    [
        ({"height_px": 1023}, {}, "min_side_px"),
        ({"width_px": 1023}, {}, "min_side_px"),
        ({"laplacian_variance": 99.9}, {}, "laplacian_variance"),
        ({"color_shift": 0.36}, {}, "color_shift"),
        ({"clip_similarity": 0.27}, {}, "clip_similarity"),
        ({"foreground_ratio": 0.64}, {}, "foreground_ratio"),
        ({"subject_sharpness": 9.0}, {"subject_sharpness": 10.0}, "subject_sharpness"),
        ({"caption_words": 7}, {}, "caption_words_min"),
        ({"caption_words": 36}, {}, "caption_words_max"),
        ({"caption_vague": True}, {}, "caption_vague"),
        ({"caption_truncated": True}, {}, "caption_truncated"),
        ({"caption_has_dog_word": False}, {"caption_has_dog_word": True}, "caption_has_dog_word"),
        ({"duplicate_kind": "exact"}, {}, "duplicate_exact"),
        ({"duplicate_kind": "near"}, {}, "duplicate_near"),
        ({"license": "all-rights-reserved"}, {"licenses": ["CC-BY-*", "CC0-1.0"]}, "license"),
        ({"source": "shop"}, {"sources": ["breed_*"]}, "source"),
        ({"breed": None}, {}, "breed"),
        ({"foreground_ratio_crop": 0.6}, {"crop_to_subject": True}, "foreground_ratio"),
        ({"crop_box": [0, 0, 900, 1100]}, {"crop_to_subject": True}, "min_side_px"),
    ],
)
def test_each_rule_rejects_what_it_names_and_nothing_else(change, options, reason):
    assert reasons_of(change, **options) == [reason]
    assert reasons_of({}, **options) == []


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({"height_px": 1024, "width_px": 1024}, {}),
        ({"laplacian_variance": 100.0}, {}),
        ({"clip_similarity": 0.28}, {"clip_similarity": 0.25}),
        ({"caption_words": 8}, {}),
        ({"caption_words": 35}, {}),
        ({"height_px": 10}, {"min_side_px": 0}),
        ({"caption_vague": True}, {"caption_vague": False}),
        ({"duplicate_kind": "near"}, {"duplicate_near": False}),
        ({"foreground_ratio": 0.1}, {"crop_to_subject": True}),
        ({"breed": None}, {"breed_required": False}),
    ],
)
def test_values_on_the_threshold_and_rules_switched_off_keep_the_row(change, options):
    assert reasons_of(change, **options) == []


@pytest.mark.parametrize("name", ["laplacian_variance", "color_shift", "clip_similarity", "foreground_ratio"])
@pytest.mark.parametrize("value", [float("nan"), None])
def test_a_score_that_is_missing_or_not_a_number_never_passes(name, value):
    assert reasons_of({name: value}) == [name]


def test_a_picture_without_a_subject_fails_the_ratio_and_is_no_error():
    change = {"foreground_ratio": None, "foreground_error": "no subject was found"}
    assert reasons_of(change) == ["foreground_ratio"]


def test_an_undecodable_file_is_only_that_where_it_has_no_scores():
    change = {
        "quality_error": "truncated",
        "laplacian_variance": None,
        "color_shift": None,
        "caption_words": 2,
    }
    assert reasons_of(change) == ["undecodable", "caption_words_min"]


def test_every_failed_rule_is_listed():
    assert reasons_of({"height_px": 10, "caption_words": 2, "caption_vague": True, "color_shift": 0.9}) == [
        "min_side_px",
        "color_shift",
        "caption_words_min",
        "caption_vague",
    ]


def test_kept_and_rejected_and_errors_add_up_to_the_rows():
    table = rows({}, {"height_px": 5}, {"quality_error": "truncated", "laplacian_variance": None}, {})
    counters = count(select(table, SelectionOptions()))
    assert (counters["kept"], counters["rejected"], counters["errors"]) == (2, 1, 1)
    assert counters["reason_undecodable"] == 1


def test_the_best_fraction_is_kept_by_rank():
    table = rows(*({"clip_similarity": value / 100} for value in range(30, 40)))
    kept = select(table, SelectionOptions(clip_similarity_fraction=0.3)).column("keep").to_pylist()
    assert kept == [False] * 7 + [True] * 3


def test_a_row_outside_the_scope_that_fails_a_cheap_rule_is_rejected_by_that_rule_alone():
    change = {"height_px": 100, "clip_similarity": None, "similarity_skipped_by": "min_side_px"}
    assert reasons_of(change) == ["min_side_px"]


def test_a_threshold_looser_than_the_scope_is_an_error_that_names_the_backfill():
    table = rows(
        {},
        {"height_px": 500, "clip_similarity": None, "similarity_skipped_by": "min_side_px"},
    )
    with pytest.raises(ScopeError) as error:
        select(table, SelectionOptions(min_side_px=400))
    assert "1 rows pass" in str(error.value)
    assert "similarity.scope_min_side_px leaves out 1" in str(error.value)
    assert "--backfill" in str(error.value)
    assert select(table, SelectionOptions(min_side_px=600)).column("keep").to_pylist() == [True, False]


def test_a_tighter_threshold_needs_no_columns_of_other_steps():
    options = SelectionOptions(
        clip_similarity=-1,
        foreground_ratio=0,
        breed_required=False,
        duplicate_exact=False,
        duplicate_near=False,
    )
    assert not {"clip_similarity", "foreground_ratio", "duplicate_kind"} & set(needed_columns(options))
    table = rows({}, {"height_px": 3}).select(needed_columns(options))
    assert select(table, options).column("keep").to_pylist() == [True, False]


def test_the_cap_keeps_reviewed_photos_first_then_the_best_matched():
    table = rows(
        {"clip_similarity": 0.5},
        {"clip_similarity": 0.9},
        {"clip_similarity": 0.3, "reviewed": True},
        {"clip_similarity": 0.4},
        {"clip_similarity": 0.31, "breed": "beagle"},
        {"clip_similarity": 0.1, "split": "test"},
    )
    result = select(table, SelectionOptions(breed_cap=2, clip_similarity=-1))
    assert result.column("keep").to_pylist() == [False, True, True, False, True, True]
    assert result.column("reasons")[0].as_py() == ["breed_cap"]


def test_the_cap_does_not_depend_on_row_order():
    table = rows(*({"clip_similarity": 0.3 + (i % 3) / 100} for i in range(20)))
    order = np.random.default_rng(0).permutation(20)
    options = SelectionOptions(breed_cap=7)
    straight = select(table, options)
    shuffled = select(table.take(pa.array(order)), options)
    kept = {table.column("image_id")[int(i)].as_py() for i in np.flatnonzero(straight.column("keep"))}
    kept_shuffled = {
        shuffled.column("image_id")[int(i)].as_py() for i in np.flatnonzero(shuffled.column("keep"))
    }
    assert (kept, len(kept)) == (kept_shuffled, 7)


def test_ids_are_ordered_as_their_text_is():
    ids = [hashlib.sha256(bytes([i])).hexdigest()[:32] for i in range(50)]
    keys = id_order(pa.chunked_array([ids[:20], ids[20:]]))
    assert [ids[i] for i in np.argsort(keys)] == sorted(ids)
    assert int(keys[0]) == int(ids[0][:16], 16)


def test_breeds_under_the_minimum_are_left_out():
    table = rows({}, {}, {"breed": "beagle"}, {"breed": "beagle", "split": "test"})
    result = select(table, SelectionOptions(breed_min=2))
    assert result.column("keep").to_pylist() == [True, True, False, False]
    assert result.column("reasons")[2].as_py() == ["breed_min"]


def test_tiers_are_reviewed_confident_or_neither():
    table = rows(
        {"reviewed": True, "breed_confidence": None},
        {"breed_confidence": 0.85},
        {"breed_confidence": 0.84},
        {"breed_confidence": None},
    )
    assert select(table, SelectionOptions()).column("tier").to_pylist() == [0, 1, -1, -1]


def test_reasons_equal_a_row_by_row_evaluation():
    rng = np.random.default_rng(1)
    changes = [
        {
            "height_px": int(rng.integers(900, 1200)),
            "laplacian_variance": float(rng.uniform(50, 150)),
            "color_shift": float(rng.uniform(0.2, 0.5)),
            "caption_words": int(rng.integers(5, 40)),
        }
        for _ in range(200)
    ]
    verdict = evaluate(rows(*changes), SelectionOptions())
    for change, reasons in zip(changes, verdict.reasons().to_pylist(), strict=True):
        expected = [
            name
            for name, failed in (
                ("min_side_px", change["height_px"] < 1024),
                ("laplacian_variance", np.float32(change["laplacian_variance"]) < 100),
                ("color_shift", np.float32(change["color_shift"]) > 0.35),
                ("caption_words_min", change["caption_words"] < 8),
                ("caption_words_max", change["caption_words"] > 35),
            )
            if failed
        ]
        assert reasons == expected

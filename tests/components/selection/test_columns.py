"""Columns as arrays: missing values, and thresholds that are not rounded to float32."""

import numpy as np
import pyarrow as pa
import pytest

from components.selection.columns import equals, exactly, flag, numbers
from components.selection.rules import Verdict, distinct


def test_missing_numbers_are_nan_whatever_the_type():
    table = pa.table({"a": pa.array([1, None, 3], pa.int32()), "b": pa.array([0.5, None, 2], pa.float32())})
    np.testing.assert_array_equal(numbers(table, "a"), [1, np.nan, 3])
    np.testing.assert_array_equal(numbers(table, "b"), np.array([0.5, np.nan, 2], np.float32))


def test_whole_numbers_without_gaps_keep_their_type_over_chunks():
    table = pa.table({"a": pa.chunked_array([[1, 2], [3]], pa.int32())})
    assert numbers(table, "a").dtype == np.int32
    np.testing.assert_array_equal(numbers(table, "a"), [1, 2, 3])


def test_a_threshold_is_not_rounded_to_the_scores_type():
    scores = np.array([0.1], np.float32)  # 0.100000001490116
    assert (scores <= 0.1).all()
    assert not (scores <= exactly(0.1)).any()


def test_flags_and_texts_that_are_missing():
    table = pa.table({"flag": [True, None, False], "text": ["near", None, "exact"]})
    assert flag(table, "flag", missing=True).tolist() == [True, True, False]
    assert flag(table, "flag", missing=False).tolist() == [True, False, False]
    assert equals(table.column("text"), "near").tolist() == [True, False, False]
    assert equals(pa.chunked_array([pa.nulls(2, pa.string())]), "near").tolist() == [False, False]


@pytest.mark.parametrize("bits", [5, 20, 21, 30])
def test_distinct_codes_and_their_index_rebuild_the_codes(bits: int):
    code = np.random.default_rng(0).integers(0, min(2**bits, 50), 500).astype(np.uint32)
    values, index = distinct(code, bits)
    np.testing.assert_array_equal(values[index], code)
    assert (np.diff(values.astype(int)) > 0).all()


def test_reasons_are_the_names_of_the_failed_rules_in_order_for_any_number_of_rules():
    rng = np.random.default_rng(1)
    for rules in (0, 3, 25):
        failed = rng.random((40, rules)) < 0.2
        verdict = Verdict(40)
        for rule in range(rules):
            verdict.add(f"rule_{rule}", failed[:, rule])
        expected = [[f"rule_{rule}" for rule in np.flatnonzero(row)] for row in failed]
        assert verdict.reasons().to_pylist() == expected
        assert verdict.keep().tolist() == [not row for row in expected]

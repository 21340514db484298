import pyarrow as pa
import pytest

from components.report.shares import shares, wilson


def test_wilson_interval_of_a_published_example():
    # Newcombe (1998), Statistics in Medicine 17, table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(1, 29) == pytest.approx((0.0061, 0.1718), abs=5e-5)


def test_groups_are_counted_with_null_as_its_own_and_the_lowest_first():
    rows = pa.table(
        {
            "breed": ["a"] * 100 + ["b"] * 100 + ["c"] * 2 + [None] * 2,
            "keep": [True] * 80 + [False] * 20 + [True] * 20 + [False] * 80 + [True, False, None, True],
        }
    )
    found = shares(rows, "breed")
    assert [(s.name, s.kept, s.total, s.off) for s in found] == [
        ("b", 20, 100, "below"),
        ("", 1, 2, ""),
        ("c", 1, 2, ""),
        ("a", 80, 100, "above"),
    ]
    assert sum(s.kept for s in found) == 102


def test_a_column_that_is_not_there_or_an_empty_table_has_no_groups():
    rows = pa.table({"keep": [True]})
    assert shares(rows, "breed") == []
    assert shares(rows.slice(1), "keep") == []

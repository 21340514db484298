import numpy as np
import pyarrow as pa
import pytest

from components.report.data import ReportError, Rule
from components.report.reasons import combinations, funnel, reason_masks, rule_counts

RULES = [
    Rule("undecodable", "ingest"),
    Rule("blur", "quality"),
    Rule("cast", "quality"),
    Rule("cap", "selection"),
]


def table(reasons):
    return pa.table(
        {"reasons": pa.array(reasons, pa.list_(pa.string())), "keep": [not reason for reason in reasons]}
    )


REASONS = [[], ["blur"], ["cast", "blur"], ["cast"], [], ["undecodable"], ["cast", "blur"], ["cap"], None]


def test_a_row_leaves_the_funnel_at_the_first_rule_in_their_order():
    steps = funnel(reason_masks(table(REASONS), RULES))
    assert [(step.rule.name, step.before, step.dropped, step.left) for step in steps] == [
        ("undecodable", 9, 1, 8),
        ("blur", 8, 3, 5),
        ("cast", 5, 1, 4),
        ("cap", 4, 1, 3),
    ]


def test_rows_are_counted_under_every_rule_they_fail_and_apart_when_it_is_the_only_one():
    counts = {c.rule.name: (c.fails, c.alone) for c in rule_counts(reason_masks(table(REASONS), RULES))}
    assert counts == {"undecodable": (1, 1), "blur": (3, 1), "cast": (3, 1), "cap": (1, 1)}


def test_combinations_are_exact_sets_by_frequency_and_the_rest_is_counted():
    top, others = combinations(reason_masks(table(REASONS), RULES), limit=2)
    assert [(c.rules, c.rows) for c in top] == [(("blur", "cast"), 2), (("undecodable",), 1)]
    assert others == 3


def test_funnel_drops_and_combinations_add_up_to_the_rejected_rows_of_random_reasons():
    generator = np.random.default_rng(3)
    names = [f"rule_{i}" for i in range(64)]
    reasons = [list(generator.choice(names, generator.integers(0, 5), replace=False)) for _ in range(2000)]
    masks = reason_masks(table(reasons), [Rule(name, "") for name in names])
    rejected = sum(bool(reason) for reason in reasons)
    assert sum(step.dropped for step in funnel(masks)) == rejected
    assert funnel(masks)[-1].left == masks.keep.sum() == 2000 - rejected
    top, others = combinations(masks, limit=5)
    assert sum(c.rows for c in top) + others == rejected
    for i, name in enumerate(names):
        assert masks.fails(name).sum() == sum(name in reason for reason in reasons)
        first = sum(bool(r) and min(names.index(x) for x in r) == i for r in reasons)
        assert funnel(masks)[i].dropped == first


def test_a_reason_without_a_rule_is_added_at_the_end():
    masks = reason_masks(table([["mystery"], ["blur"]]), RULES[:2])
    assert [rule.name for rule in masks.rules] == ["undecodable", "blur", "mystery"]
    assert funnel(masks)[-1].dropped == 1


def test_duplicate_reasons_of_a_row_count_once():
    masks = reason_masks(table([["blur", "blur"]]), RULES)
    assert masks.fails_only("blur").tolist() == [True]


def test_a_kept_row_with_a_reason_is_refused():
    rows = pa.table({"reasons": pa.array([["blur"]], pa.list_(pa.string())), "keep": [True]})
    with pytest.raises(ReportError, match="kept although"):
        reason_masks(rows, RULES)


def test_sliced_and_chunked_tables_give_the_same_masks():
    whole = table(REASONS)
    chunked = pa.concat_tables([whole.slice(0, 2), whole.slice(2, 4), whole.slice(6)])
    assert reason_masks(chunked, RULES).masks.tolist() == reason_masks(whole, RULES).masks.tolist()
    assert reason_masks(whole.slice(2, 3), RULES).masks.tolist() == [6, 4, 0]

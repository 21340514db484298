import itertools

import numpy as np
import pytest

from components.report.charts import LEFT, WIDTH
from components.report.marks import Mark, placed

LOW = (0.0, LEFT)


def check(marks):
    """No label lies on another of its row, under a line that crosses its row, or outside the chart."""
    for mark in marks:
        left, right = mark.span
        assert LOW[mark.row] <= left and right <= WIDTH
        assert not [o for o in marks if o is not mark and o.row <= mark.row and left < o.x < right]
    for one, other in itertools.combinations(marks, 2):
        if one.row == other.row:
            assert one.span[1] <= other.span[0] or other.span[1] <= one.span[0]


def test_a_single_label_is_whole_and_right_of_its_line_unless_the_edge_is_near():
    (mark,) = placed([Mark(100, "in use ≥ 100", "threshold", 0)], LOW, WIDTH)
    assert (mark.label, mark.anchor) == ("in use ≥ 100", "start")
    (mark,) = placed([Mark(430, "in use ≥ 100", "threshold", 0)], LOW, WIDTH)
    assert (mark.label, mark.anchor) == ("in use ≥ 100", "end")


def test_two_proposals_that_face_each_other_are_cut_to_what_they_propose():
    marks = placed(
        [
            Mark(85, "in use ≥ 8", "threshold", 0),
            Mark(145, "proposed ≥ 15", "proposed", 1),
            Mark(310, "proposed ≤ 33", "proposed", 1),
            Mark(328, "in use ≤ 35", "threshold", 0),
        ],
        LOW,
        WIDTH,
    )
    check(marks)
    assert {mark.label.split()[-1] for mark in marks} == {"8", "15", "33", "35"}


def test_a_label_goes_left_when_another_line_would_cross_it():
    marks = placed(
        [Mark(300, "proposed ≤ 0.67", "proposed", 1), Mark(360, "in use ≤ 0.85", "threshold", 0)],
        LOW,
        WIDTH,
    )
    check(marks)
    assert {mark.kind: mark.anchor for mark in marks}["proposed"] == "end"
    assert {mark.label for mark in marks} == {"proposed ≤ 0.67", "in use ≤ 0.85"}


@pytest.mark.parametrize("seed", range(50))
def test_four_lines_at_least_60_apart_always_have_room(seed):
    rng = np.random.default_rng(seed)
    free = np.sort(rng.uniform(LEFT + 66, WIDTH - 66 - 180, 4)) + 60 * np.arange(4)
    marks = [
        Mark(float(x), f"{'proposed' if row else 'in use'} ≥ {int(x)}", "any", row)
        for x, row in zip(free, rng.permutation([0, 0, 1, 1]), strict=True)
    ]
    made = placed(marks, LOW, WIDTH)
    check(made)
    assert sorted(mark.x for mark in made) == sorted(mark.x for mark in marks)

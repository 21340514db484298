"""Boxes do not overlap, and everything stands below what it needs."""

import itertools

import pytest

from pipelines.lineage.console.layout import GAP_X, GAP_Y, HEIGHT, WIDTH, draw

DIAMOND = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": ["a", "d"]}
WIDE = {"root": [], **{f"n{at}": ["root"] for at in range(30)}}
CHAIN = {f"n{at}": [f"n{at - 1}"] if at else [] for at in range(400)}


@pytest.mark.parametrize("graph", [DIAMOND, WIDE, CHAIN], ids=["diamond", "wide", "chain"])
def test_boxes_are_inside_apart_and_below_what_they_need(graph):
    drawing = draw(graph)
    boxes = {box.id: box for box in drawing.boxes}
    assert boxes.keys() == graph.keys()
    for box in drawing.boxes:
        assert box.x >= 0 and box.x + box.width <= drawing.width
        assert box.y >= 0 and box.y + box.height <= drawing.height
    for one, other in itertools.combinations(drawing.boxes, 2):
        assert abs(one.x - other.x) >= WIDTH + GAP_X or abs(one.y - other.y) >= HEIGHT + GAP_Y
    for id, needs in graph.items():
        assert all(boxes[id].y >= boxes[other].y + HEIGHT + GAP_Y for other in needs)
    assert {(line.source, line.target) for line in drawing.lines} == {
        (other, id) for id, needs in graph.items() for other in needs
    }


def test_two_chains_side_by_side_do_not_cross():
    drawing = draw({"a": [], "b": [], "b2": ["b"], "a2": ["a"], "b3": ["b2"], "a3": ["a2"]})
    at = {box.id: box.x for box in drawing.boxes}
    assert (at["a"] < at["b"]) == (at["a2"] < at["b2"]) == (at["a3"] < at["b3"])


def test_an_empty_graph_and_unknown_needs_are_fine():
    assert draw({}).boxes == ()
    assert [line.path for line in draw({"a": ["gone", "a"]}).lines] == []

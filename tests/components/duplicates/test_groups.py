"""Groups and the row that stays: planted truth, brute force, and independence of the order of rows."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from components.duplicates.groups import (
    connected,
    duplicate_labels,
    duplicates_of,
    group_ids,
    same_value_pairs,
)


@dataclass(frozen=True)
class Row:
    image_id: str
    uri: str
    phash: int
    area_px: int
    decoded: bool = True
    clip: str = ""


def columns(rows: list[Row], distance: int) -> dict[str, tuple[str, str]]:
    """uri -> (duplicate_of, group_id)."""
    ids = [row.image_id for row in rows]
    labels = duplicate_labels(
        ids,
        np.array([row.phash for row in rows], dtype=np.uint64),
        np.array([row.decoded for row in rows], dtype=bool),
        distance,
    )
    copies = duplicates_of(
        labels, ids, [r.uri for r in rows], np.array([r.area_px for r in rows], dtype=np.int64)
    )
    groups = group_ids(labels, ids, [row.clip for row in rows])
    return {row.uri: pair for row, pair in zip(rows, zip(copies, groups, strict=True), strict=True)}


PLANTED = [
    Row("c", "1.jpg", 0b0000, 100),
    Row("a", "2.jpg", 0b0011, 100),  # 2 bits from c
    Row("b", "3.jpg", 0b1111, 400),  # 2 bits from a, 4 from c: chained, and the largest
    Row("b", "4.jpg", 0b1111, 400),  # the same bytes as 3.jpg
    Row("d", "5.jpg", 2**60 - 1, 50, clip="v.mp4"),
    Row("e", "6.jpg", 0xFF << 56, 50, clip="v.mp4"),
    Row("f", "7.jpg", 0, 0, decoded=False),
    Row("f", "8.jpg", 0, 0, decoded=False),
    Row("0", "9.jpg", 2**62 + 2**40 + 2**20, 50, clip=""),
]
WANTED = {
    "1.jpg": ("b", "a"),
    "2.jpg": ("b", "a"),
    "3.jpg": ("", "a"),
    "4.jpg": ("b", "a"),
    "5.jpg": ("", "d"),
    "6.jpg": ("", "d"),
    "7.jpg": ("", "f"),
    "8.jpg": ("f", "f"),
    "9.jpg": ("", "0"),
}


def test_planted_duplicates_and_clips_come_out():
    assert columns(PLANTED, 2) == WANTED


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert columns([PLANTED[i] for i in rng.permutation(len(PLANTED))], 2) == WANTED


def test_equal_bytes_only_at_distance_minus_one():
    wanted = {"4.jpg": "b", "8.jpg": "f"}
    assert {uri: copy for uri, (copy, _) in columns(PLANTED, -1).items() if copy} == wanted


def test_equal_areas_keep_the_smallest_image_id():
    rows = [Row("y", "1", 5, 10), Row("x", "2", 5, 10), Row("z", "3", 5, 10)]
    assert [columns(rows, 0)[uri][0] for uri in ("1", "2", "3")] == ["x", "", "x"]


def test_a_clip_joins_groups_of_duplicates_but_makes_no_duplicates():
    rows = [
        Row("a", "1", 0, 9, clip="v"),
        Row("b", "2", 2**40 - 1, 9, clip="v"),
        Row("c", "3", 2**40 - 1, 9, clip="w"),
        Row("d", "4", 0xFF << 56, 9, clip="w"),
    ]
    assert columns(rows, 1) == {"1": ("", "a"), "2": ("", "a"), "3": ("b", "a"), "4": ("", "a")}


def test_no_rows_give_no_groups():
    assert columns([], 4) == {}


def components_by_search(count: int, edges: list[tuple[int, int]]) -> list[int]:
    labels = list(range(count))
    changed = True
    while changed:
        changed = False
        for a, b in edges:
            low = min(labels[a], labels[b])
            changed |= labels[a] != low or labels[b] != low
            labels[a] = labels[b] = low
    return labels


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_components_are_those_of_a_plain_search(data: st.DataObject):
    count = data.draw(st.integers(1, 30))
    node = st.integers(0, count - 1)
    edges = data.draw(st.lists(st.tuples(node, node), max_size=40))
    cut = data.draw(st.integers(0, len(edges)))
    chunks = [np.array(part, dtype=np.int64).reshape(-1, 2).T for part in (edges[:cut], edges[cut:])]
    got = connected(count, [(chunk[0], chunk[1]) for chunk in chunks])
    assert got.tolist() == components_by_search(count, edges)


def test_a_long_chain_is_one_component():
    rng = np.random.default_rng(1)
    order = rng.permutation(50_000)
    labels = connected(50_000, [(order[:-1], order[1:])])
    assert (labels == 0).all()


def test_empty_values_join_nothing():
    chunks = list(same_value_pairs(["", None, "a", "", "a", None]))
    assert [(i.tolist(), j.tolist()) for i, j in chunks] == [([2], [4])]
    assert list(same_value_pairs(["", None])) == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            Row,
            image_id=st.sampled_from("abcdefgh"),
            uri=st.uuids().map(str),
            phash=st.integers(0, 63),
            area_px=st.integers(1, 3),
            decoded=st.booleans(),
            clip=st.sampled_from(["", "u", "v"]),
        ),
        max_size=14,
        unique_by=lambda row: row.uri,
    ),
    st.integers(-1, 3),
    st.randoms(use_true_random=False),
)
def test_any_set_obeys_the_rules_in_any_order(rows: list[Row], distance: int, random):
    result = columns(rows, distance)
    shuffled = rows[:]
    random.shuffle(shuffled)
    assert columns(shuffled, distance) == result
    similar, together = [], []
    for i, row in enumerate(rows):
        for j, other in enumerate(rows):
            same = row.image_id == other.image_id
            near = row.decoded and other.decoded and (row.phash ^ other.phash).bit_count() <= distance
            if same or near:
                similar.append((i, j))
            if same or near or (row.clip and row.clip == other.clip):
                together.append((i, j))
    sets, groups = components_by_search(len(rows), similar), components_by_search(len(rows), together)
    for i, row in enumerate(rows):
        twins = [other for other, label in zip(rows, sets, strict=True) if label == sets[i]]
        best = min(twins, key=lambda r: (-r.area_px, r.image_id, r.uri))
        group = min(other.image_id for other, label in zip(rows, groups, strict=True) if label == groups[i])
        assert result[row.uri] == ("" if row == best else best.image_id, group)

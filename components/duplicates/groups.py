"""Groups of pictures that belong together, and which one of the duplicates stays.

Two different relations: *duplicates* (the same bytes, or hashes within the near distance) decide
`duplicate_of`; *groups* join duplicates and also the photos of one clip or session, and decide `group_id`, so
that no group is torn between train and test. Both are transitive: a chain of near pictures is one group.
Every result depends on the set of rows only, never on their order.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from components.duplicates.near import near_pairs


def connected(count: int, pairs: Iterable[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """(count,) int64 label of the connected component of each row: the smallest row index in it.

    `pairs` are chunks of two index arrays, and only one chunk is held at a time. Label propagation with path
    halving (Shiloach and Vishkin 1982): hang the larger root under the smaller one, flatten, until quiet.
    """
    parent = np.arange(count)
    for first, second in pairs:
        while True:
            a, b = parent[first], parent[second]
            apart = a != b
            if not apart.any():
                break
            first, second, a, b = first[apart], second[apart], a[apart], b[apart]
            np.minimum.at(parent, np.maximum(a, b), np.minimum(a, b))
            parent = _flattened(parent)
    return _flattened(parent)


def _flattened(parent: np.ndarray) -> np.ndarray:
    while True:
        above = parent[parent]
        if np.array_equal(above, parent):
            return parent
        parent = above


def same_value_pairs(values: Sequence[str | None] | np.ndarray) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """One chunk of pairs that chains the rows of equal value; empty and None values join nothing."""
    rows = np.array([i for i, value in enumerate(values) if value], dtype=np.int64)
    if len(rows) < 2:
        return
    _, codes = np.unique(np.array([str(values[i]) for i in rows]), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    same = codes[order][1:] == codes[order][:-1]
    yield rows[order[:-1][same]], rows[order[1:][same]]


def duplicate_labels(
    image_ids: Sequence[str], hashes: np.ndarray, has_hash: np.ndarray, distance: int
) -> np.ndarray:
    """(N,) label of each row's set of duplicates: equal image_id, or phash within `distance` bits.

    hashes: (N,) uint64; has_hash: (N,) bool, false where the picture could not be decoded or holds nothing to
    compare (phash 0): such a row is a duplicate of equal bytes only, as are all at a distance of -1.
    """
    rows = np.flatnonzero(has_hash)

    def pairs() -> Iterable[tuple[np.ndarray, np.ndarray]]:
        yield from same_value_pairs(image_ids)
        if distance >= 0:
            for i, j in near_pairs(hashes[rows], distance):
                yield rows[i], rows[j]

    return connected(len(image_ids), pairs())


def duplicates_of(
    labels: np.ndarray, image_ids: Sequence[str], source_uris: Sequence[str], areas_px: np.ndarray
) -> list[str]:
    """For each row "" if it stays, else the image_id of the row of its set that stays.

    The row with the largest area stays; among equal ones that of the smallest image_id, then of the smallest
    source_uri. A copy with the same bytes as the row that stays therefore names its own image_id.
    """
    by_uri = np.argsort(np.array(source_uris, dtype=str), kind="stable")
    by_id = by_uri[np.argsort(np.array(image_ids, dtype=str)[by_uri], kind="stable")]
    by_area = by_id[np.argsort(-np.asarray(areas_px, dtype=np.int64)[by_id], kind="stable")]
    best_first = by_area[np.argsort(labels[by_area], kind="stable")]
    starts = (
        np.concatenate([[True], np.diff(labels[best_first]) != 0]) if len(best_first) else np.array([], bool)
    )
    kept = best_first[np.maximum.accumulate(np.where(starts, np.arange(len(best_first)), 0))]
    result = [""] * len(image_ids)
    for row, keeper in zip(best_first.tolist(), kept.tolist(), strict=True):
        if row != keeper:
            result[row] = image_ids[keeper]
    return result


def group_ids(
    labels: np.ndarray, image_ids: Sequence[str], keys: Sequence[str | None] | None = None
) -> list[str]:
    """The group_id of each row: the smallest image_id of its group.

    labels: (N,) of `duplicate_labels`. keys: optional clip or session of each row (a video file, a shoot);
    rows with the same key join one group, "" and None join nothing.
    """
    rows = np.arange(len(image_ids))

    def pairs() -> Iterable[tuple[np.ndarray, np.ndarray]]:
        yield rows, labels
        if keys is not None:
            yield from same_value_pairs(keys)

    merged = connected(len(image_ids), pairs())
    smallest: dict[int, str] = {}
    for label, image_id in zip(merged.tolist(), image_ids, strict=True):
        if label not in smallest or image_id < smallest[label]:
            smallest[label] = image_id
    return [smallest[label] for label in merged.tolist()]

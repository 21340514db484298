"""Near duplicates: all pairs of 64-bit hashes within a Hamming distance, without comparing all pairs.

Multi-index hashing (Norouzi, Punjani and Fleet, "Fast search in Hamming space with multi-index hashing", CVPR
2012): cut the 64 bits into m bands. Two hashes that differ in at most d bits differ in at most floor(d / m)
bits of some band (pigeonhole), so only hashes whose bands are that close are compared. No pair is missed, at
any distance. m is chosen for the least work: 1M hashes at distance 8 compare less than 0.1% of all pairs.
"""

from collections.abc import Iterator
from itertools import combinations, pairwise
from math import comb

import numpy as np

BITS = 64
# Pairs compared in one numpy call: 2M pairs take about 100 MB.
_CHUNK_PAIRS = 1 << 21
# Bands wider than this would need an address table of over 128 MB.
_MAX_BAND_BITS = 24

Pairs = tuple[np.ndarray, np.ndarray]


def near_pairs(hashes: np.ndarray, distance: int) -> Iterator[Pairs]:
    """All index pairs (i, j), i != j, of (N,) uint64 hashes that differ in at most `distance` bits.

    Yields chunks of two int64 arrays; a pair comes at least once, in no promised order. Equal hashes are
    linked in a chain (N equal ones give N - 1 pairs and not N^2 / 2), and each distinct hash is then compared
    once, so a million copies of one picture cost no more than one. Memory is bounded by the chunk, not by the
    number of pairs. Raises ValueError for a distance outside 0..63.
    """
    if not 0 <= distance < BITS:
        raise ValueError(f"The near-duplicate distance is {distance}; it must be 0 to {BITS - 1} bits.")
    hashes = np.ascontiguousarray(hashes, dtype=np.uint64)
    order = np.argsort(hashes, kind="stable")
    if not len(order):
        return
    ranked = hashes[order]
    first = np.concatenate([[True], ranked[1:] != ranked[:-1]])
    repeated = np.flatnonzero(~first)
    if len(repeated):
        yield order[repeated - 1], order[repeated]
    if distance == 0:
        return
    distinct, where = ranked[first], order[first]
    count = band_count(len(distinct), distance)
    for low, high in pairwise(BITS * i // count for i in range(count + 1)):
        for i, j in _within_band(distinct, low, high - low, distance, distance // count):
            yield where[i], where[j]


def band_count(rows: int, distance: int) -> int:
    """The number of bands with the least work for `rows` distinct hashes: look-ups, comparisons, tables."""

    def work(count: int) -> float:
        width = BITS / count
        neighbours = sum(comb(round(width), flips) for flips in range(distance // count + 1))
        return count * (neighbours * rows * (1 + rows / 2**width / 2) + 2**width)

    narrowest = min(distance + 1, BITS)
    widest = -(-BITS // _MAX_BAND_BITS)
    return min(range(min(widest, narrowest), narrowest + 1), key=work) if narrowest > widest else widest


def _within_band(hashes: np.ndarray, low: int, width: int, distance: int, flips: int) -> Iterator[Pairs]:
    """Pairs of distinct hashes that differ in <= `flips` bits of a band and in <= `distance` bits overall."""
    keys = ((hashes >> np.uint64(low)) & np.uint64((1 << width) - 1)).astype(np.int64)
    order = np.argsort(keys, kind="stable")
    keys, hashes = keys[order], hashes[order]
    starts = np.zeros((1 << width) + 1, dtype=np.int64)  # rows of key k: starts[k] .. starts[k + 1] - 1
    np.cumsum(np.bincount(keys, minlength=1 << width), out=starts[1:])
    for size in range(flips + 1):
        for bits in combinations(range(width), size):
            mask = sum(1 << bit for bit in bits)
            if mask:
                rows = np.flatnonzero(keys & (1 << bits[-1]) == 0)  # each pair of buckets once
                others = keys[rows] ^ mask
                begin, end = starts[others], starts[others + 1]
            else:
                rows = np.arange(len(keys))
                begin, end = rows + 1, starts[keys + 1]
            some = end > begin
            for left, right in _expanded(rows[some], begin[some], end[some]):
                near = np.bitwise_count(hashes[left] ^ hashes[right]) <= distance
                if near.any():
                    yield order[left[near]], order[right[near]]


def _expanded(rows: np.ndarray, begin: np.ndarray, end: np.ndarray) -> Iterator[Pairs]:
    """Pairs (rows[k], r) for every r in begin[k] .. end[k] - 1, at most _CHUNK_PAIRS at a time."""
    while len(rows):
        totals = np.cumsum(end - begin)
        stop = int(np.searchsorted(totals, _CHUNK_PAIRS, side="right"))
        if stop == 0:  # the first row alone has too many partners: take a part of them
            part = int(begin[0]) + _CHUNK_PAIRS
            yield np.full(_CHUNK_PAIRS, rows[0]), np.arange(begin[0], part)
            begin = np.concatenate([[part], begin[1:]])
            continue
        counts = (end - begin)[:stop]
        left = np.repeat(rows[:stop], counts)
        yield left, np.arange(len(left)) + np.repeat(begin[:stop] - (totals[:stop] - counts), counts)
        rows, begin, end = rows[stop:], begin[stop:], end[stop:]

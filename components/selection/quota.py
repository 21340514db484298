"""Per-breed quota: a cap that keeps the best photos, and a minimum below which a breed is left out."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

Order = Callable[[np.ndarray], tuple[np.ndarray, ...]]


def rank_in_breed(breed: np.ndarray, counted: np.ndarray, order: Order) -> np.ndarray:
    """(N,) rank of each counted row among its breed's counted rows, 0 the best; other rows get -1.

    `breed` holds integer codes (-1: none). `order` gives the sort keys of the rows of the given indices, the
    most important key first, ascending.
    """
    rank = np.full(len(breed), -1)
    rows = np.flatnonzero(counted & (breed >= 0))
    by_breed = rows[np.lexsort((*reversed(order(rows)), breed[rows]))]
    codes = breed[by_breed]
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]]) if len(codes) else np.zeros(0, int)
    rank[by_breed] = np.arange(len(codes)) - np.repeat(starts, np.diff(np.r_[starts, len(codes)]))
    return rank


def over_cap(breed: np.ndarray, counted: np.ndarray, cap: int, order: Order) -> np.ndarray:
    """(N,) bool: counted rows beyond the best `cap` of their breed (0: none is).

    Only breeds over the cap are sorted, and their keys made, so that the usual selection of millions of rows
    sorts nothing.
    """
    counted = counted & (breed >= 0)
    if cap <= 0 or counted.sum() <= cap:
        return np.zeros(len(breed), bool)
    full = np.bincount(breed[counted]) > cap
    crowded = counted.copy()
    crowded[counted] = full[breed[counted]]
    if not crowded.any():
        return crowded
    return rank_in_breed(breed, crowded, order) >= cap


def under_minimum(breed: np.ndarray, counted: np.ndarray, minimum: int) -> np.ndarray:
    """(N,) bool: rows of breeds with fewer than `minimum` counted rows (0: none is)."""
    if minimum <= 0 or not len(breed):
        return np.zeros(len(breed), bool)
    counts = np.bincount(breed[counted & (breed >= 0)], minlength=int(breed.max()) + 1)
    return (breed >= 0) & (counts[breed] < minimum)


def breed_codes(column: pa.ChunkedArray) -> np.ndarray:
    """Integer codes of a text column, -1 for null."""
    encoded = column.combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices.fill_null(-1)).astype(np.int64)


def id_order(image_id: pa.ChunkedArray) -> np.ndarray:
    """(N,) uint64: the first 16 of the ids' 32 hex digits as numbers, in the order of the ids."""
    joined = pa.chunked_array([image_id.cast(pa.large_string()).combine_chunks()]).combine_chunks()
    data = np.frombuffer(joined.buffers()[2], np.uint8, count=32 * len(joined), offset=32 * joined.offset)
    digits = data.reshape(-1, 32)[:, :16]
    nibbles = _NIBBLE[digits]
    return ((nibbles[:, ::2] << 4) | nibbles[:, 1::2]).view(">u8").ravel().astype(np.uint64)


_NIBBLE = np.zeros(256, np.uint8)
_NIBBLE[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)

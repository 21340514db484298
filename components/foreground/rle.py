"""Masks as run lengths, in the layout COCO's tools read.

Bytes: height and width as little-endian uint32, then COCO's compressed counts. The counts are lengths of runs
over the pixels in COLUMN-major order (down the first column, then the next), alternating 0 and 1 and starting
with 0; from the third on, each is stored as the difference to the one two before. A number is cut into groups
of 5 bits, lowest first, each written as one character: 48 + bits, + 32 when more groups follow; the last
group's highest bit is the sign.
"""

import struct

import numpy as np

_SIZE = struct.Struct("<II")
_MAX_PIXELS = 1 << 31


class RleError(ValueError):
    """Bytes that are not a run-length mask; the message says where they break."""


def encode(mask: np.ndarray) -> bytes:
    """(H, W) bool -> bytes. Raises ValueError for another shape."""
    if mask.ndim != 2:
        raise ValueError(f"A mask has two dimensions; got {mask.shape}.")
    counts = counts_of(mask)
    written = bytearray(_SIZE.pack(*mask.shape))
    for index, count in enumerate(counts):
        _write(written, count - counts[index - 2] if index > 2 else count)
    return bytes(written)


def decode(data: bytes) -> np.ndarray:
    """bytes -> (H, W) bool. Raises RleError for anything that `encode` cannot have made."""
    height, width, counts = _read(data)
    total = sum(counts)
    if min(counts, default=0) < 0 or total != height * width:
        raise RleError(f"The mask's runs cover {total} pixels of {height} x {width}.")
    values = np.arange(len(counts)) % 2 == 1
    return np.repeat(values, counts).reshape(width, height).T


def to_coco(data: bytes) -> dict[str, object]:
    """The mask as COCO's tools take it: {"size": [H, W], "counts": compressed string}."""
    height, width, _ = _read(data)
    return {"size": [height, width], "counts": data[_SIZE.size :].decode("ascii")}


def counts_of(mask: np.ndarray) -> list[int]:
    """Lengths of the runs in column-major order, starting with zeros (0 when the first pixel is set)."""
    flat = np.ascontiguousarray(mask.T).reshape(-1).astype(bool)
    if flat.size == 0:
        return []
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    edges = np.concatenate([[0], changes, [flat.size]])
    counts = np.diff(edges).tolist()
    return [0, *counts] if flat[0] else counts


def _write(written: bytearray, number: int) -> None:
    more = True
    while more:
        group = number & 0x1F
        number >>= 5
        more = number != (-1 if group & 0x10 else 0)
        written.append(48 + group + (32 if more else 0))


def _read(data: bytes) -> tuple[int, int, list[int]]:
    if len(data) < _SIZE.size:
        raise RleError(f"A run-length mask has at least {_SIZE.size} bytes; got {len(data)}.")
    height, width = _SIZE.unpack_from(data)
    if height * width >= _MAX_PIXELS:
        raise RleError(f"A mask of {height} x {width} pixels is too large to be one.")
    counts: list[int] = []
    number, shift = 0, 0
    for position, character in enumerate(data[_SIZE.size :], _SIZE.size):
        group = character - 48
        if not 0 <= group < 64 or shift > 35:
            raise RleError(f"Byte {position} of the run-length mask is no part of a number.")
        number |= (group & 0x1F) << shift
        shift += 5
        if group & 0x20:
            continue
        if group & 0x10:
            number -= 1 << shift
        counts.append(number + counts[-2] if len(counts) > 2 else number)
        number, shift = 0, 0
    if shift:
        raise RleError("The run-length mask ends within a number.")
    return height, width, counts

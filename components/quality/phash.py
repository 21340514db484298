"""Perceptual hash: 64 bits that survive resizing and re-encoding."""

import cv2
import numpy as np

_SIDE = 32
_BLOCK = 8
# Differences below this (levels are 0..255) are rounding noise of the float32 area average, not content.
_NOISE = 1e-3


def _basis() -> np.ndarray:
    """Rows 1..8 of the orthonormal DCT-II of length 32, (8,32): sqrt(2/N) cos(pi (2n+1) k / 2N)."""
    k = np.arange(1, _BLOCK + 1)[:, None]
    n = np.arange(_SIDE)[None]
    return np.sqrt(2 / _SIDE) * np.cos(np.pi * (2 * n + 1) * k / (2 * _SIDE))


_BASIS = _basis()


def phash(rgb: np.ndarray) -> int:
    """64-bit DCT hash of a (H,W,3) uint8 picture, as a Python int below 2^64.

    Luma, averaged to 32 x 32, then the 8 x 8 DCT coefficients of frequencies 1..8 in both directions; a bit
    is set where a coefficient exceeds their median (C. Zauner, "Implementation and Benchmarking of Perceptual
    Image Hash Functions", 2010, 3.2.1). Bit 63 is frequency (1,1), row by row. Brightness, contrast and size
    do not count; mirroring and turning do. A picture without content hashes to 0.
    """
    small = cv2.resize(rgb.astype(np.float32), (_SIDE, _SIDE), interpolation=cv2.INTER_AREA)
    grey = small @ np.array([0.299, 0.587, 0.114])
    coefficients = _BASIS @ grey @ _BASIS.T
    bits = coefficients > np.median(coefficients) + _NOISE
    return int.from_bytes(np.packbits(bits).tobytes(), "big")


def hamming(first: int, second: int) -> int:
    """Number of differing bits, 0..64."""
    return (first ^ second).bit_count()

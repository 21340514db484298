"""Colour shift: how far a picture's colours are from those of a grey screen.

Histogram: CIELAB a* and b* (D65; OpenCV's 8-bit conversion, whole units), 15 x 15 bins, each 16 wide and
centred on a multiple of 16 from -112 to 112; the outer bins take what lies beyond. Lightness does not count.
So the middle bin is "neutral": a* and b* both within -8..7, about what a grey card shows under a decent white
balance.

Reference: `grey_screen()`, a picture of nothing but a neutral screen, all its mass in the middle bin. The
distance to it has a closed form: sqrt(1 - sqrt(share of neutral pixels)); so 0.35 asks for 77% neutral ones.
`reference_of` makes another one from your own pictures of your own backdrop.
"""

from collections.abc import Iterable

import cv2
import numpy as np

BINS = 15
_BIN_WIDTH = 16
_OUTER_EDGE = 128 - _BIN_WIDTH * BINS // 2  # OpenCV stores a* + 128


def _bin_table() -> np.ndarray:
    bins = (np.arange(256) - _OUTER_EDGE) // _BIN_WIDTH
    return np.clip(bins, 0, BINS - 1).astype(np.uint8)


_BIN_OF = _bin_table()


def ab_histogram(rgb: np.ndarray) -> np.ndarray:
    """(H,W,3) uint8 sRGB -> (15,15) float64 shares of pixels by a* (rows) and b* (columns), summing to 1."""
    bins = cv2.LUT(cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB), _BIN_OF)
    counts = cv2.calcHist([bins], [1, 2], None, [BINS, BINS], [0, BINS, 0, BINS])
    return counts.astype(np.float64) / (rgb.shape[0] * rgb.shape[1])


def grey_screen() -> np.ndarray:
    """The default reference, (15,15): every pixel neutral."""
    reference = np.zeros((BINS, BINS))
    reference[BINS // 2, BINS // 2] = 1
    return reference


def reference_of(pictures: Iterable[np.ndarray]) -> np.ndarray:
    """The mean histogram, (15,15), of (H,W,3) uint8 pictures of a backdrop; each picture counts the same."""
    histograms = [ab_histogram(picture) for picture in pictures]
    if not histograms:
        raise ValueError("A colour reference needs at least one picture of the backdrop.")
    return np.mean(histograms, axis=0)


def hellinger(p: np.ndarray, q: np.ndarray) -> float:
    """Hellinger distance sqrt(1 - sum sqrt(p q)) of two distributions of one shape; 0 equal, 1 disjoint."""
    overlap = float(np.sqrt(p * q).sum())
    return float(np.sqrt(max(0.0, 1.0 - overlap)))


def color_shift(rgb: np.ndarray, reference: np.ndarray | None = None) -> float:
    """Distance 0..1 of a (H,W,3) uint8 sRGB picture to a (15,15) reference, by default the grey screen."""
    if reference is None:
        reference = grey_screen()
    if reference.shape != (BINS, BINS) or not np.isclose(reference.sum(), 1) or (reference < 0).any():
        raise ValueError(
            f"A colour reference is {BINS} x {BINS} shares that sum to 1; make it by reference_of."
        )
    return hellinger(ab_histogram(rgb), reference)

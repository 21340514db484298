"""The colour-histogram baseline: a breed predictor that sees colours and no shapes.

Nearest class mean of CIELAB histograms under the Hellinger distance
H(p, q)^2 = 1 - sum_i sqrt(p_i q_i). Evaluation shows how much more the model's pictures carry than colour.
"""

from collections.abc import Sequence

import cv2
import numpy as np

_BINS = (6, 12, 12)  # L*, a*, b*
_RANGES = (0.0, 100.0, -64.0, 64.0, -64.0, 64.0)
_LOWEST = np.array(_RANGES[::2], np.float32)
_HIGHEST = np.array(_RANGES[1::2], np.float32) - np.float32(1e-3)


def lab_histogram(image: np.ndarray) -> np.ndarray:
    """The joint L*a*b* histogram of an image (H,W,3) uint8 sRGB: (864,) float32 that sums to 1."""
    lab = cv2.cvtColor(image.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
    lab = np.clip(lab, _LOWEST, _HIGHEST)  # the outer bins take what lies beyond
    counts = cv2.calcHist([lab], [0, 1, 2], None, list(_BINS), list(_RANGES)).ravel()
    return counts / max(float(counts.sum()), 1.0)


class HistogramBaseline:
    """Predicts the breed whose mean histogram is nearest."""

    def __init__(self, labels: Sequence[str], means: np.ndarray) -> None:
        self.labels = list(labels)
        self.means = means  # (breeds, 864)

    @classmethod
    def fit(cls, images: Sequence[np.ndarray], labels: Sequence[str]) -> "HistogramBaseline":
        """Class means over images (H,W,3) uint8; ValueError without images."""
        if len(images) == 0 or len(images) != len(labels):
            raise ValueError(
                f"The histogram baseline needs at least one image and a label for each; "
                f"got {len(images)} images and {len(labels)} labels."
            )
        histograms = np.stack([lab_histogram(image) for image in images])
        breeds = sorted(set(labels))
        known = np.asarray(labels)
        return cls(breeds, np.stack([histograms[known == breed].mean(0) for breed in breeds]))

    def predict(self, images: Sequence[np.ndarray]) -> list[str]:
        """The nearest breed of each image."""
        roots = np.sqrt(np.stack([lab_histogram(image) for image in images]))
        affinity = roots @ np.sqrt(self.means).T
        return [self.labels[int(i)] for i in affinity.argmax(1)]

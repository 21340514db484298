"""Does a model repeat itself, or its training images?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_ROWS = 512


def distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Euclidean distances (n, m) in float64 between x (n, D) and y (m, D).

    By |x|^2 + |y|^2 - 2 x.y after centring on y's mean, which keeps the digits that cancellation would cost.
    """
    centre = np.asarray(y, np.float64).mean(0)
    x, y = np.asarray(x, np.float64) - centre, np.asarray(y, np.float64) - centre
    squared = (x**2).sum(1)[:, None] + (y**2).sum(1)[None] - 2 * x @ y.T
    return np.sqrt(np.maximum(squared, 0))


def intra_breed_diversity(features: np.ndarray, breeds: np.ndarray) -> dict[int, float]:
    """Mean pairwise feature distance inside each breed with at least 2 images: 0 means always the same image.

    features: (N, D); breeds: (N,). Compare it with the same figure for real images.
    """
    result = {}
    for breed in np.unique(breeds):
        own = features[breeds == breed]
        if len(own) > 1:
            result[int(breed)] = float(distances(own, own).sum() / (len(own) * (len(own) - 1)))
    return result


def nearest(x: np.ndarray, y: np.ndarray, *, same: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Index of and distance to the nearest row of y, for each row of x. same: x is y, skip the row itself."""
    index, distance = np.empty(len(x), np.int64), np.empty(len(x))
    for start in range(0, len(x), _ROWS):
        block = distances(x[start : start + _ROWS], y)
        rows = np.arange(len(block))
        if same:
            block[rows, start + rows] = np.inf
        index[start : start + _ROWS] = block.argmin(1)
        distance[start : start + _ROWS] = block.min(1)
    return index, distance


@dataclass(frozen=True)
class Memorisation:
    """nearest_index, nearest_distance: (N,), the closest training image of each sample.

    baseline: median distance from a training image to its nearest other training image. copies: share of the
    samples closer to a training image than the closest 1% of training images are to each other. flagged:
    more than 5% are such copies, where 1% is expected of samples as varied as the training set.
    """

    nearest_index: np.ndarray
    nearest_distance: np.ndarray
    baseline: float
    threshold: float
    copies: float
    flagged: bool


def memorisation(samples: np.ndarray, training: np.ndarray) -> Memorisation:
    """Compare sample-to-training with training-to-training distances. samples (N, D), training (M, D), M > 1.

    Exact duplicates inside the training set are left out of the baseline: they would hide copying.
    """
    if len(training) < 2 or not len(samples):
        raise ValueError(
            f"needs samples and at least 2 training images, got {len(samples)} and {len(training)}"
        )
    index, distance = nearest(samples, training)
    within = nearest(training, training, same=True)[1]
    scale = float(np.linalg.norm(training - training.mean(0), axis=1).mean())
    apart = within[within > 1e-6 * scale]
    threshold = float(np.quantile(apart, 0.01)) if len(apart) else 0.0
    copies = float((distance < threshold).mean())
    baseline = float(np.median(apart)) if len(apart) else 0.0
    return Memorisation(index, distance, baseline, threshold, copies, copies > 0.05)

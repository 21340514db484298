"""The floor of a distance: how far two halves of the real images are apart. No model honestly beats it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Distance = Callable[[np.ndarray, np.ndarray], float]
"""Features (n, D) and (m, D) -> distance."""


class Floor(NamedTuple):
    """Mean and standard deviation over splits, and the number of images in each half."""

    mean: float
    std: float
    images: int


def split_half_floor(
    features: np.ndarray, distance: Distance, rng: np.random.Generator, splits: int = 5
) -> Floor:
    """`distance` between random disjoint halves of real features (N, D), N at least 4.

    Distances such as Frechet's depend on the sample size, so compare it with a distance measured on about as
    many images as a half has.
    """
    half = len(features) // 2
    if half < 2:
        raise ValueError(f"a split-half floor needs at least 4 real images, got {len(features)}")
    values = []
    for _ in range(splits):
        order = rng.permutation(len(features))
        values.append(distance(features[order[:half]], features[order[half : 2 * half]]))
    return Floor(float(np.mean(values)), float(np.std(values)), half)

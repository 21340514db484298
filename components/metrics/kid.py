"""Kernel inception distance: unbiased squared MMD, cubic kernel (Binkowski et al., arXiv:1801.01401)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Kid(NamedTuple):
    """Mean and standard deviation over subsets. Unbiased, so it may be slightly negative."""

    mean: float
    std: float


def polynomial_kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """k(x, y) = (x.y / D + 1)^3 for x (n, D) and y (m, D) -> (n, m)."""
    return (x @ y.T / x.shape[1] + 1) ** 3


def squared_mmd(x: np.ndarray, y: np.ndarray) -> float:
    """Unbiased MMD^2: off-diagonal means of k(x, x) and k(y, y), minus twice the mean of k(x, y).

    x: (n, D), y: (m, D), n and m at least 2.
    """
    xx, yy = polynomial_kernel(x, x), polynomial_kernel(y, y)
    n, m = len(x), len(y)
    within = (xx.sum() - np.trace(xx)) / (n * (n - 1)) + (yy.sum() - np.trace(yy)) / (m * (m - 1))
    return float(within - 2 * polynomial_kernel(x, y).mean())


def kid(
    first: np.ndarray,
    second: np.ndarray,
    rng: np.random.RandomState | np.random.Generator,
    *,
    subsets: int = 100,
    subset_size: int = 1000,
) -> Kid:
    """KID of two feature sets (N, D) and (M, D), averaged over random subsets drawn without replacement.

    The subset is cut to the smaller set where that has fewer images. `rng` is drawn from once per subset and
    side, first side first, which is torch-fidelity's order.
    """
    size = min(subset_size, len(first), len(second))
    if size < 2:
        raise ValueError(f"KID needs at least 2 images on each side, got {len(first)} and {len(second)}")
    first, second = np.asarray(first, np.float64), np.asarray(second, np.float64)
    values = []
    for _ in range(subsets):
        x = first[rng.choice(len(first), size, replace=False)]
        values.append(squared_mmd(x, second[rng.choice(len(second), size, replace=False)]))
    return Kid(float(np.mean(values)), float(np.std(values)))

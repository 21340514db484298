"""Frechet distance between two sets of features, from statistics that can be gathered shard by shard."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


class MetricMismatch(ValueError):
    """Two statistics that must not be compared."""


@dataclass(frozen=True)
class FeatureIdentity:
    """What features are made of. Numbers of different extractors, layers or resizes mean different things.

    extractor: registry name; weights: sha256 of the weights; data: what the features were taken from, e.g.
    the id of the reference set that both sides are measured against ("" where it does not matter).
    """

    extractor: str
    weights: str
    resize: str
    layer: str
    data: str = ""

    def refuse_other(self, other: FeatureIdentity) -> None:
        """Raise MetricMismatch that names what differs."""
        mine, theirs = asdict(self), asdict(other)
        for name, value in mine.items():
            if value != theirs[name]:
                raise MetricMismatch(
                    f"the statistics differ in {name}: {value!r} and {theirs[name]!r}. Compute both with the "
                    "same extractor, weights, resize and reference data"
                )


class FeatureStatistics:
    """Mean and covariance of features (N, D), streamed in float64 and mergeable.

    Keeps N, the mean, and the scatter matrix sum (x - mean)(x - mean)^T (Chan et al.'s pairwise update),
    which loses no digits where a sum of squares would. Memory is D^2, whatever N is.
    """

    def __init__(self, identity: FeatureIdentity, dim: int) -> None:
        self.identity = identity
        self.count = 0
        self.mean = np.zeros(dim)
        self.scatter = np.zeros((dim, dim))

    def add(self, features: np.ndarray) -> FeatureStatistics:
        """Take in a block (n, D); raises ValueError on values that are not finite."""
        block = np.asarray(features, np.float64)
        if not len(block):
            return self
        if not np.isfinite(block).all():
            raise ValueError(
                "features contain NaN or infinite values; check the extractor and its input images"
            )
        mean = block.mean(0)
        centred = block - mean
        self._combine(len(block), mean, centred.T @ centred)
        return self

    def merge(self, other: FeatureStatistics) -> FeatureStatistics:
        """Take in the statistics of another shard."""
        self.identity.refuse_other(other.identity)
        if other.count:
            self._combine(other.count, other.mean, other.scatter)
        return self

    def _combine(self, count: int, mean: np.ndarray, scatter: np.ndarray) -> None:
        total = self.count + count
        delta = mean - self.mean
        self.scatter += scatter + np.outer(delta, delta) * (self.count * count / total)
        self.mean += delta * (count / total)
        self.count = total

    @property
    def covariance(self) -> np.ndarray:
        """(D, D), with N - 1 in the denominator as numpy.cov and every FID implementation."""
        if self.count < 2:
            raise ValueError(f"a covariance needs at least 2 images, got {self.count}")
        return self.scatter / (self.count - 1)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """For `np.savez`; the identity travels beside it."""
        return {"count": np.array(self.count), "mean": self.mean, "scatter": self.scatter}

    @classmethod
    def from_arrays(cls, identity: FeatureIdentity, arrays: dict[str, Any]) -> FeatureStatistics:
        statistics = cls(identity, len(arrays["mean"]))
        statistics.count = int(arrays["count"])
        statistics.mean, statistics.scatter = np.array(arrays["mean"]), np.array(arrays["scatter"])
        return statistics


def frechet_distance(first: FeatureStatistics, second: FeatureStatistics) -> float:
    """|m1 - m2|^2 + Tr(S1 + S2 - 2 (S1 S2)^(1/2)) (Heusel et al., arXiv:1706.08500).

    Refuses (MetricMismatch) statistics of different identity; warns below D + 1 images, where a covariance
    of D dimensions is singular and the distance mostly says how small the sample is.
    """
    first.identity.refuse_other(second.identity)
    dim = len(first.mean)
    for side in (first, second):
        if side.count < dim + 1:
            warnings.warn(
                f"{side.count} images for {dim} feature dimensions: the Frechet distance is dominated by "
                f"sample size; use at least {dim + 1} images, or KID",
                RuntimeWarning,
                stacklevel=2,
            )
    return gaussian_frechet(first.mean, first.covariance, second.mean, second.covariance)


def gaussian_frechet(mean1: np.ndarray, cov1: np.ndarray, mean2: np.ndarray, cov2: np.ndarray) -> float:
    """The closed form for two Gaussians, in float64.

    S1 S2 is similar to a positive semidefinite matrix, so Tr (S1 S2)^(1/2) is the sum of the square roots of
    its eigenvalues; rounding can make them slightly negative or complex, and those parts are dropped.
    """
    shift = mean1 - mean2
    roots = np.sqrt(np.linalg.eigvals(cov1 @ cov2).astype(np.complex128)).real.sum()
    return float(shift @ shift + np.trace(cov1) + np.trace(cov2) - 2 * roots)

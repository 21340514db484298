"""Cosine of picture and caption, and how to cut by it."""

import math

import numpy as np

RECIPE_THRESHOLD = 0.28
# Cosines of two models are not comparable: each has its own modality gap and spread.
CALIBRATED_FOR = "ViT-B-32"
RECIPE_MODEL = "ViT-L-14/openai"


def cosine(images: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Row-wise cosine of two (N, D) arrays of embeddings -> (N,) float32 in [-1, 1].

    The rows are normalised here again, in float64, so that rounding in a model cannot leave the range. A row
    with a zero or non-finite embedding is NaN: the caller marks it as an error, never as a low score.
    """
    if images.shape != captions.shape or images.ndim != 2:
        raise ValueError(f"Embeddings must be two (N, D) arrays; got {images.shape} and {captions.shape}.")
    left, right = images.astype(np.float64), captions.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        product = (left * right).sum(axis=1)
        norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        value = np.where(np.isfinite(norms) & (norms > 0), product / norms, np.nan)
    return np.clip(value, -1.0, 1.0).astype(np.float32)


def fraction_threshold(scores: np.ndarray, fraction: float) -> float:
    """The threshold t for which `score >= t` keeps the best `fraction` of the finite scores.

    At least ceil(fraction x n) rows are kept; more only where scores tie. NaN rows do not count.
    Raises ValueError unless 0 < fraction <= 1, or when no score is finite.
    """
    if not 0 < fraction <= 1:
        raise ValueError(f"The kept fraction is {fraction}; it must be above 0 and at most 1.")
    finite = np.sort(scores[np.isfinite(scores)])
    if finite.size == 0:
        raise ValueError(
            "No row has a similarity score, so a kept fraction says nothing; run similarity first."
        )
    # 0.7 * 10 is 7.000000000000001 in binary; without this an eighth row would be kept.
    kept = math.ceil(fraction * finite.size - 1e-9)
    return float(finite[finite.size - max(kept, 1)])


def calibration_warning(reference: str, threshold: float) -> str:
    """A sentence for the report when `threshold` was not calibrated for the model; "" when there is no doubt.

    0.28 was found for ViT-B/32. It is the recipe's starting point for ViT-L-14/openai, and means nothing for
    another model. The demo's models have thresholds of their own.
    """
    model = reference.split("@")[0].rpartition("/")[0] or reference.split("@")[0]
    if reference == "demo" or model.removesuffix("-quickgelu") == CALIBRATED_FOR:
        return ""
    advice = "Look at the histogram in the report, or keep a fraction of the best instead of a threshold."
    if reference == RECIPE_MODEL and math.isclose(threshold, RECIPE_THRESHOLD):
        return (
            f"The CLIP threshold {threshold:g} was calibrated for {CALIBRATED_FOR}; for {reference} it is "
            f"only a starting point. {advice}"
        )
    return f"The CLIP threshold {threshold:g} is not calibrated for {reference}. {advice}"

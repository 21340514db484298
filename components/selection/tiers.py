"""Trust in a photo's label: tier 0 was reviewed by a person, tier 1 is confident by CLIP, -1 is neither."""

import numpy as np

REVIEWED, CONFIDENT, UNTRUSTED = 0, 1, -1


def tiers(reviewed: np.ndarray, breed_confidence: np.ndarray, threshold: float) -> np.ndarray:
    """(N,) int8 of tiers. A missing (NaN) confidence is not confident."""
    tier = np.full(len(reviewed), UNTRUSTED, np.int8)
    tier[breed_confidence >= threshold] = CONFIDENT
    tier[reviewed] = REVIEWED
    return tier

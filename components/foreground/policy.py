"""What of SAM changes a mask, told without loading it."""

from importlib.metadata import version
from typing import Any

from components.model.weights import ResolvedWeights

# Islands and holes below this share of the mask are noise; they would blow up the subject's box.
SPECK_SHARE = 0.01


def sam_policy(weights: ResolvedWeights, dtype: str) -> dict[str, Any]:
    """Weights, arithmetic of the encoder, and how a mask is chosen. The decoder always runs in fp32."""
    return {
        **weights.identity,
        "dtype": dtype,
        "library": f"segment-anything {version('segment-anything')}",
        "preprocessing": "PIL bilinear to the model's long side, zero padding",
        "mask": "best predicted IoU of three, non-empty, logit > 0",
        "speck_share": SPECK_SHARE,
    }

"""What of a model changes its scores, told without loading it.

A step asks for the policy first. Where its result is stored under it, torch (seconds to import) and the
weights stay where they are.
"""

import json
from importlib.metadata import version
from typing import Any

from components.model.weights import ResolvedWeights, WeightsError

UPPER_LAYERS = 2  # of a text tower: what training may train, so that only the states below are stored


def arithmetic(dtype: str, device: str) -> str:
    """ "fp32" or "bf16" for the options of a step. Only dtype=auto has to ask torch what the device can do.

    Raises DeviceError for a device or dtype that is not there.
    """
    if dtype in ("fp32", "bf16"):
        return dtype
    from components.model.device import dtype_name, pick_device, pick_dtype

    return dtype_name(pick_dtype(dtype, pick_device(device)))


def clip_policy(weights: ResolvedWeights, dtype: str) -> dict[str, Any]:
    """Of a CLIP model: two with equal policies give equal scores (to rounding).

    Its configuration, or its architecture and tag, fix the preprocessing and the tokenizer in a given version
    of open_clip.
    """
    return {
        **weights.identity,
        "dtype": dtype,
        "library": f"open_clip {version('open-clip-torch')}",
        "decoder": "PIL resize of upright sRGB uint8",
    }


def text_policy(weights: ResolvedWeights) -> dict[str, Any]:
    """Of a CLIP model's text tower in float32, whose states below the last layers are stored."""
    policy = {key: value for key, value in clip_policy(weights, "fp32").items() if key != "decoder"}
    return {**policy, "states_below_layers": UPPER_LAYERS}


def autoencoder_policy(weights: ResolvedWeights, size_px: int) -> dict[str, Any]:
    """Of an autoencoder, and the shape (C, h, w) of its latents of square pictures.

    Raises WeightsError for a configuration that says too little, ValueError for pictures it cannot halve.
    """
    path = weights.path.parent / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        channels, scale = int(config["latent_channels"]), 2 ** (len(config["block_out_channels"]) - 1)
    except (ValueError, KeyError, TypeError):
        raise WeightsError(
            f"{path} is no configuration of a diffusers AutoencoderKL: it needs latent_channels and "
            "block_out_channels."
        ) from None
    if size_px % scale:
        raise ValueError(
            f"encoding.size_px={size_px} is no multiple of {scale}, the number of pixels a latent of "
            f"{weights.reference} stands for along a side."
        )
    return {
        **weights.identity,
        "library": f"diffusers {version('diffusers')}",
        "shape": [channels, size_px // scale, size_px // scale],
    }

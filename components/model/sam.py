"""Segment-anything models of any size, built from a plain configuration.

The package `segment_anything` only offers three fixed sizes. A small model for the demo and the official ones
differ in numbers, not in structure, so this module assembles the package's own modules from one flat mapping.
The official configurations give the same parameter names, shapes and outputs as the package's registry.
"""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from segment_anything.modeling import ImageEncoderViT, MaskDecoder, PromptEncoder, Sam, TwoWayTransformer

from components.model.weights import WeightsError

CONFIG_FILE = "sam_config.json"
WEIGHTS_FILE = "sam_model.safetensors"

_INTEGER_KEYS = (
    "image_size",
    "patch_size",
    "encoder_embed_dim",
    "encoder_depth",
    "encoder_num_heads",
    "window_size",
    "prompt_embed_dim",
    "decoder_depth",
    "decoder_num_heads",
    "decoder_mlp_dim",
    "iou_head_depth",
    "iou_head_hidden_dim",
    "mask_in_chans",
)
_LIST_KEYS = ("encoder_global_attn_indexes", "pixel_mean", "pixel_std")
CONFIG_KEYS = frozenset(_INTEGER_KEYS + _LIST_KEYS)

# What the three published models share; pixel statistics are ImageNet's on the 0..255 scale.
_OFFICIAL_COMMON: dict[str, Any] = {
    "image_size": 1024,
    "patch_size": 16,
    "window_size": 14,
    "prompt_embed_dim": 256,
    "decoder_depth": 2,
    "decoder_num_heads": 8,
    "decoder_mlp_dim": 2048,
    "iou_head_depth": 3,
    "iou_head_hidden_dim": 256,
    "mask_in_chans": 16,
    "pixel_mean": [123.675, 116.28, 103.53],
    "pixel_std": [58.395, 57.12, 57.375],
}
_OFFICIAL_ENCODERS: dict[str, tuple[int, int, int, list[int]]] = {
    "vit_b": (768, 12, 12, [2, 5, 8, 11]),
    "vit_l": (1024, 24, 16, [5, 11, 17, 23]),
    "vit_h": (1280, 32, 16, [7, 15, 23, 31]),
}


class SamConfigError(WeightsError):
    """A SAM configuration has a missing, unknown or impossible entry; the message names the key."""


def official_config(name: str) -> dict[str, Any]:
    """The configuration of a published model: "vit_b", "vit_l", "vit_h"; others raise SamConfigError."""
    if name not in _OFFICIAL_ENCODERS:
        raise SamConfigError(f"There is no official SAM model {name!r}; choose one of vit_b, vit_l, vit_h.")
    embed_dim, depth, heads, global_indexes = _OFFICIAL_ENCODERS[name]
    common = {
        key: list(value) if isinstance(value, list) else value for key, value in _OFFICIAL_COMMON.items()
    }
    return common | {
        "encoder_embed_dim": embed_dim,
        "encoder_depth": depth,
        "encoder_num_heads": heads,
        "encoder_global_attn_indexes": list(global_indexes),
    }


def check_config(config: Mapping[str, Any]) -> None:
    """Raise SamConfigError, naming the key, unless `config` describes a model that can be built."""
    missing = sorted(CONFIG_KEYS - set(config))
    unknown = sorted(set(config) - CONFIG_KEYS)
    if missing or unknown:
        raise SamConfigError(
            f"The SAM configuration lacks {missing or 'nothing'} and has unknown keys {unknown or 'none'}; "
            f"it needs exactly: {', '.join(sorted(CONFIG_KEYS))}."
        )
    for key in _INTEGER_KEYS:
        value = config[key]
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or value < (0 if key == "window_size" else 1)
        ):
            raise SamConfigError(
                f"SAM configuration key {key} must be a positive whole number, not {value!r}."
            )
    for key in ("pixel_mean", "pixel_std"):
        if len(config[key]) != 3:
            raise SamConfigError(
                f"SAM configuration key {key} needs three numbers (red, green, blue, 0..255)."
            )
    if min(config["pixel_std"]) <= 0:
        raise SamConfigError("SAM configuration key pixel_std must be positive in every channel.")
    depth = config["encoder_depth"]
    if any(not 0 <= index < depth for index in config["encoder_global_attn_indexes"]):
        raise SamConfigError(f"SAM configuration key encoder_global_attn_indexes must lie in 0..{depth - 1}.")
    _check_divisions(config)


def _check_divisions(config: Mapping[str, Any]) -> None:
    # The decoder's attention works at half the width, and its upscaling divides the width by eight.
    for key, value, divisor, by in (
        ("image_size", config["image_size"], config["patch_size"], "patch_size"),
        ("encoder_embed_dim", config["encoder_embed_dim"], config["encoder_num_heads"], "encoder_num_heads"),
        ("prompt_embed_dim", config["prompt_embed_dim"], 8, "8"),
        (
            "prompt_embed_dim",
            config["prompt_embed_dim"],
            2 * config["decoder_num_heads"],
            "2 x decoder_num_heads",
        ),
        ("mask_in_chans", config["mask_in_chans"], 4, "4"),
    ):
        if value % divisor:
            raise SamConfigError(
                f"SAM configuration key {key} = {value} must be a multiple of {by} ({divisor})."
            )


def build_sam(config: Mapping[str, Any]) -> Sam:
    """A SAM with fresh random weights (torch's initialisation, from the global generator), in eval mode.

    `config` holds exactly CONFIG_KEYS. Raises SamConfigError.
    """
    check_config(config)
    grid = config["image_size"] // config["patch_size"]
    width = config["prompt_embed_dim"]
    image_encoder = ImageEncoderViT(
        img_size=config["image_size"],
        patch_size=config["patch_size"],
        embed_dim=config["encoder_embed_dim"],
        depth=config["encoder_depth"],
        num_heads=config["encoder_num_heads"],
        mlp_ratio=4,
        out_chans=width,
        qkv_bias=True,
        norm_layer=partial(torch.nn.LayerNorm, eps=1e-6),
        use_rel_pos=True,
        window_size=config["window_size"],
        global_attn_indexes=tuple(config["encoder_global_attn_indexes"]),
    )
    prompt_encoder = PromptEncoder(
        embed_dim=width,
        image_embedding_size=(grid, grid),
        input_image_size=(config["image_size"], config["image_size"]),
        mask_in_chans=config["mask_in_chans"],
    )
    transformer = TwoWayTransformer(
        depth=config["decoder_depth"],
        embedding_dim=width,
        num_heads=config["decoder_num_heads"],
        mlp_dim=config["decoder_mlp_dim"],
    )
    mask_decoder = MaskDecoder(
        transformer_dim=width,
        transformer=transformer,
        num_multimask_outputs=3,
        iou_head_depth=config["iou_head_depth"],
        iou_head_hidden_dim=config["iou_head_hidden_dim"],
    )
    sam = Sam(
        image_encoder, prompt_encoder, mask_decoder, list(config["pixel_mean"]), list(config["pixel_std"])
    )
    return sam.eval()


def read_config(path: Path) -> dict[str, Any]:
    """The checked configuration in a sam_config.json. Raises SamConfigError naming the file."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SamConfigError(f"{path} cannot be read as a SAM configuration: {error}.") from error
    if not isinstance(config, dict):
        raise SamConfigError(
            f"{path} must hold one JSON object with the keys {', '.join(sorted(CONFIG_KEYS))}."
        )
    try:
        check_config(config)
    except SamConfigError as error:
        raise SamConfigError(f"{path}: {error}") from error
    return config


def save_sam(sam: Sam, config: Mapping[str, Any], folder: Path) -> None:
    """Write `sam_config.json` and `sam_model.safetensors` into `folder` (made if absent)."""
    check_config(config)
    folder.mkdir(parents=True, exist_ok=True)
    state = {key: value.detach().cpu().contiguous() for key, value in sam.state_dict().items()}
    save_file(state, folder / WEIGHTS_FILE)
    (folder / CONFIG_FILE).write_text(json.dumps(dict(config), indent=2) + "\n", encoding="utf-8")


def load_sam(path: Path) -> Sam:
    """A SAM with weights, in eval mode on the CPU, in fp32 (a file in half precision is widened).

    `path` is a folder with sam_config.json and sam_model.safetensors, or an official .pth checkpoint, whose
    size is recognised from its own tensors. A pickle is only read with weights_only=True: it runs no code.
    Raises SamConfigError for a bad configuration, WeightsError for tensors that do not fit it.
    """
    if path.is_dir():
        config = read_config(path / CONFIG_FILE)
        state = _read_safetensors(path / WEIGHTS_FILE)
    elif path.suffix == ".safetensors":
        config = read_config(path.parent / CONFIG_FILE)
        state = _read_safetensors(path)
    else:
        state = _read_pickle(path)
        config = official_config(_official_name(state, path))
    sam = build_sam(config)
    try:
        # assign keeps one copy of the weights in memory instead of two.
        sam.load_state_dict(state, assign=True)
    except RuntimeError as error:
        raise WeightsError(f"The tensors in {path} do not fit the SAM configuration: {error}") from error
    return sam.float().requires_grad_(False).eval()


def _read_safetensors(path: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(path)
    except Exception as error:  # safetensors raises its own class, which is not an OSError
        raise WeightsError(f"{path} cannot be read as SAM weights: {error}.") from error


def _read_pickle(path: Path) -> dict[str, torch.Tensor]:
    try:
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # a truncated zip, a refused pickle and a missing file are different classes
        raise WeightsError(f"{path} cannot be read as a SAM checkpoint: {error}") from error
    if not isinstance(state, dict) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise WeightsError(
            f"{path} is not a plain dictionary of tensors, so it is no official SAM checkpoint."
        )
    return state


def _official_name(state: Mapping[str, torch.Tensor], path: Path) -> str:
    position = state.get("image_encoder.pos_embed")
    width = int(position.shape[-1]) if position is not None and position.ndim == 4 else 0
    for name, (embed_dim, *_) in _OFFICIAL_ENCODERS.items():
        if width == embed_dim:
            return name
    raise WeightsError(
        f"{path} is not an official SAM checkpoint (encoder width {width or 'not found'}; vit_b has 768, "
        f"vit_l 1024, vit_h 1280). For another size use a folder with {CONFIG_FILE} and {WEIGHTS_FILE}."
    )

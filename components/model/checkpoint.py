"""Weights and training state as bytes, and models from them.

Tensors of the model are safetensors; the rest (optimizer, counters) is torch's format, read with
`weights_only=True`, which can run no code.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import safetensors.torch
import torch
from torch import Tensor, nn

from components.data.artifacts import ModelManifest, StoredFile, fetch_file, store_file
from components.data.storage import Store
from components.model.ema import Ema
from components.model.flow_model import FlowModel, build_flow_model


class CheckpointError(ValueError):
    """Stored weights that are not those of the model they should go into."""


def tensors_to_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """A safetensors file. Memory layouts such as channels_last are not kept; values are, bit for bit."""
    return safetensors.torch.save(
        {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    )


def tensors_from_bytes(data: bytes) -> dict[str, Tensor]:
    """Inverse of `tensors_to_bytes`."""
    return safetensors.torch.load(data)


def state_to_bytes(state: Any) -> bytes:
    """Nested dicts and lists of tensors and plain values, in torch's format."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def state_from_bytes(data: bytes) -> Any:
    """Inverse of `state_to_bytes`; refuses anything that would have to be unpickled as an object."""
    return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)


def save_weights(store: Store, folder: str, model: FlowModel, ema: Ema) -> dict[str, StoredFile]:
    """The two weight files of a ModelManifest, by role."""
    return {
        "network": store_file(store, folder, "network.safetensors", tensors_to_bytes(model.state_dict())),
        "ema": store_file(store, folder, "ema.safetensors", tensors_to_bytes(ema.shadow)),
    }


def load_model(store: Store, manifest: ModelManifest, *, averaged: bool = True) -> FlowModel:
    """The model of a manifest, in eval mode; with its averaged (EMA) weights unless told otherwise.

    Raises StoredFileError for a damaged file, CheckpointError for one that does not fit the description.
    """
    model = build_flow_model(manifest.details["description"])
    weights = tensors_from_bytes(fetch_file(store, manifest.files["network"]))
    if averaged:
        weights |= tensors_from_bytes(fetch_file(store, manifest.files["ema"]))
    load_weights(model, weights, manifest.files["network"].path)
    return model.eval()


def load_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """`model.load_state_dict`, with an error that names the file and the first tensor that does not fit."""
    own = model.state_dict()
    for name in sorted(own.keys() | weights.keys()):
        mine, theirs = own.get(name), weights.get(name)
        if mine is None or theirs is None or mine.shape != theirs.shape:
            shapes = [None if t is None else tuple(t.shape) for t in (mine, theirs)]
            raise CheckpointError(
                f"{where} does not fit the model: {name} is {shapes[1]}, needed {shapes[0]}"
            )
    model.load_state_dict(weights)

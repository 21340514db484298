"""Weights and training state in object storage: written so that a kill at any moment leaves a good one.

A checkpoint is a folder `<prefix>/step-<n>/` of files named by their content, and a `manifest.json` written
last, which lists them with their sha256. No manifest: not a checkpoint. Restoring takes the newest one whose
files verify. Tensors of the model are safetensors; the rest (optimizer, counters) is torch's format, read
with `weights_only=True`, which can run no code.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import safetensors.torch
import torch
from torch import Tensor, nn

from components.data.artifacts import ModelManifest, StoredFile
from components.data.killpoints import killpoint
from components.data.storage import NotFound, Store
from components.model.ema import Ema
from components.model.flow_model import FlowModel, build_flow_model

_STEP = re.compile(r"step-(\d{9})/manifest\.json$")


class CheckpointError(ValueError):
    """Stored weights that are damaged, or are not those of the model they should go into."""


def tensors_to_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """A safetensors file. Memory layouts such as channels_last are not kept; values are, bit for bit."""
    return safetensors.torch.save(
        {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    )


def state_to_bytes(state: Any) -> bytes:
    """Nested dicts and lists of tensors and plain values, in torch's format."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def state_from_bytes(data: bytes) -> Any:
    """Inverse of `state_to_bytes`; refuses anything that would have to be unpickled as an object."""
    return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)


def write_file(store: Store, folder: str, name: str, data: bytes) -> StoredFile:
    """Store `data` under a name that carries its hash, so racing writers cannot mix two versions."""
    digest = hashlib.sha256(data).hexdigest()
    stem, _, suffix = name.partition(".")
    path = f"{folder}/{stem}-{digest[:8]}.{suffix}"
    store.write(
        path, data
    )  # also when it is there: a damaged file has the right name and even the right size
    return StoredFile(path=path, bytes=len(data), sha256=digest)


def read_file(store: Store, file: StoredFile) -> bytes:
    """The bytes, or a CheckpointError when they are absent or not what was written."""
    try:
        data = store.read(file.path)
    except NotFound:
        raise CheckpointError(f"{store.uri}/{file.path} is gone") from None
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise CheckpointError(f"{store.uri}/{file.path} is damaged: its sha256 is not the recorded one")
    return data


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint: `about` is what the writer said of it, `files` the bytes by role."""

    step: int
    about: dict[str, Any]
    files: dict[str, bytes]

    def tensors(self, role: str) -> dict[str, Tensor]:
        return safetensors.torch.load(self.files[role])

    def state(self, role: str) -> Any:
        return state_from_bytes(self.files[role])


class Checkpoints:
    """The checkpoints of one run under `prefix`; keeps the newest `keep` of them."""

    def __init__(self, store: Store, prefix: str, keep: int = 2) -> None:
        if keep < 1:
            raise ValueError(f"at least one checkpoint must be kept, got keep={keep}")
        self.store, self.prefix, self.keep = store, prefix.rstrip("/"), keep

    def save(self, step: int, files: Mapping[str, bytes], about: Mapping[str, Any]) -> None:
        """Write all files (name with suffix -> bytes), then the manifest, then drop what is too old."""
        folder = f"{self.prefix}/step-{step:09d}"
        stored = {}
        for name, data in files.items():
            killpoint("checkpoint.file")
            stored[name] = write_file(self.store, folder, name, data).model_dump()
        killpoint("checkpoint.before")
        manifest = {"step": step, "about": dict(about), "files": stored}
        self.store.write(f"{folder}/manifest.json", json.dumps(manifest, indent=1).encode())
        killpoint("checkpoint.after")
        self._prune()

    def newest(self) -> Checkpoint | None:
        """The newest checkpoint that verifies; damaged ones are skipped with a warning. None: start anew."""
        for step in self.steps():
            try:
                return self._read(step)
            except (CheckpointError, NotFound, KeyError, ValueError) as error:
                warnings.warn(f"checkpoint of step {step} is skipped: {error}", RuntimeWarning, stacklevel=2)
        return None

    def steps(self) -> list[int]:
        """Steps that have a manifest, newest first."""
        found = (_STEP.search(entry.path) for entry in self.store.list(f"{self.prefix}/"))
        return sorted((int(match[1]) for match in found if match), reverse=True)

    def _read(self, step: int) -> Checkpoint:
        manifest = json.loads(self.store.read(f"{self.prefix}/step-{step:09d}/manifest.json"))
        files = {name: read_file(self.store, StoredFile(**file)) for name, file in manifest["files"].items()}
        return Checkpoint(step, manifest["about"], files)

    def _prune(self) -> None:
        """Drop old checkpoints, manifest first: a half-deleted one is then no checkpoint at all."""
        old = set(self.steps()[self.keep :])
        for step in old:
            folder = f"{self.prefix}/step-{step:09d}"
            self.store.delete(f"{folder}/manifest.json")
            for path in list(_paths(self.store, f"{folder}/")):
                self.store.delete(path)

    def clear(self) -> None:
        """Delete every checkpoint; for a run whose final model is stored."""
        for path in sorted(
            _paths(self.store, f"{self.prefix}/"), key=lambda p: not p.endswith("manifest.json")
        ):
            self.store.delete(path)


def _paths(store: Store, prefix: str) -> Iterator[str]:
    return (entry.path for entry in list(store.list(prefix)))


def save_weights(store: Store, folder: str, model: FlowModel, ema: Ema) -> dict[str, StoredFile]:
    """The two weight files of a ModelManifest, by role."""
    return {
        "network": write_file(store, folder, "network.safetensors", tensors_to_bytes(model.state_dict())),
        "ema": write_file(store, folder, "ema.safetensors", tensors_to_bytes(ema.shadow)),
    }


def load_model(store: Store, manifest: ModelManifest, *, averaged: bool = True) -> FlowModel:
    """The model of a manifest, in eval mode; with its averaged (EMA) weights unless told otherwise.

    Raises CheckpointError when a file is damaged or does not fit the description.
    """
    model = build_flow_model(manifest.details["description"])
    weights = safetensors.torch.load(read_file(store, manifest.files["network"]))
    if averaged:
        weights |= safetensors.torch.load(read_file(store, manifest.files["ema"]))
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

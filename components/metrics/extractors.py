"""Feature extractors by name. Numbers compare only under the same extractor, weights, resize and layer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor

from components.metrics.frechet import FeatureIdentity
from components.metrics.resize import BICUBIC, resize_bicubic

# What torch, safetensors and open_clip raise on a file that is cut short, damaged, or another model's.
_UNREADABLE = (OSError, RuntimeError, KeyError, ValueError, EOFError, UnpicklingError, SafetensorError)
_IMAGENET_MEAN, _IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class ExtractorError(ValueError):
    """An extractor that is unknown or whose weights are not here; never replaced by another one."""


@dataclass(frozen=True)
class Spec:
    """A row of the registry. weights: what the local path must be. is_fid: whether its Frechet distance is
    what the literature calls FID; `label` is what reports must print beside its numbers."""

    label: str
    weights: str
    layer: str
    is_fid: bool
    load: Callable[[Path], tuple[Callable[[Tensor], Tensor], int, list[Path]]]


class Extractor:
    """`features(images)` by one registry row and one local copy of its weights."""

    def __init__(self, name: str, spec: Spec, path: Path) -> None:
        self.name, self.label, self.is_fid = name, spec.label, spec.is_fid
        self.layer = spec.layer
        try:
            self._forward, self.size_px, self._files = spec.load(path)
        except _UNREADABLE as error:
            reason = (str(error).splitlines() or ["empty file"])[0]
            raise ExtractorError(
                f"the weights of extractor {name} at {path} cannot be loaded "
                f"({type(error).__name__}: {reason}). Needed: {spec.weights}"
            ) from None

    @cached_property
    def weights_sha256(self) -> str:
        """sha256 of the weights file."""
        digest = hashlib.sha256()
        for file in self._files:
            with file.open("rb") as stream:
                while chunk := stream.read(1 << 20):
                    digest.update(chunk)
        return digest.hexdigest()

    def identity(self, data: str = "") -> FeatureIdentity:
        resize = f"{BICUBIC}-{self.size_px}"
        return FeatureIdentity(self.name, self.weights_sha256, resize, self.layer, data)

    @torch.no_grad()
    def features(self, images: np.ndarray, batch: int = 64) -> np.ndarray:
        """(N, H, W, 3) uint8 sRGB -> (N, D) float32."""
        blocks = [
            self._forward(resize_bicubic(images[i : i + batch], self.size_px)).float().cpu().numpy()
            for i in range(0, len(images), batch)
        ]
        if not blocks:
            raise ValueError("no images to take features from")
        return np.concatenate(blocks)


def _normalised(pixels: Tensor, mean: tuple[float, ...], std: tuple[float, ...]) -> Tensor:
    """0..255 -> channels standardised by mean and std, which are stated for 0..1."""
    shape = (1, 3, 1, 1)
    return (pixels / 255 - torch.tensor(mean).reshape(shape)) / torch.tensor(std).reshape(shape)


def _load_inception(path: Path) -> tuple[Callable[[Tensor], Tensor], int, list[Path]]:
    from components.metrics.inception import load_inception

    return load_inception(str(path)), 299, [path]


def _load_dinov2(path: Path) -> tuple[Callable[[Tensor], Tensor], int, list[Path]]:
    from transformers import Dinov2Model

    model = Dinov2Model.from_pretrained(path, local_files_only=True, use_safetensors=True).eval()

    def forward(pixels: Tensor) -> Tensor:
        return model(_normalised(pixels, _IMAGENET_MEAN, _IMAGENET_STD)).pooler_output

    return forward, 224, [path / "model.safetensors"]


def _load_clip(path: Path) -> tuple[Callable[[Tensor], Tensor], int, list[Path]]:
    import open_clip

    model: Any = open_clip.create_model(f"local-dir:{path}").eval()
    tower: Any = model.visual
    mean, std = tuple(tower.image_mean), tuple(tower.image_std)
    size = tower.image_size[0] if isinstance(tower.image_size, tuple) else tower.image_size

    def forward(pixels: Tensor) -> Tensor:
        return model.encode_image(_normalised(pixels, mean, std))

    return forward, int(size), [path / "open_clip_model.safetensors"]


_OPEN_CLIP_FOLDER = "a folder with open_clip_config.json and open_clip_model.safetensors"
EXTRACTORS: dict[str, Spec] = {
    "demo": Spec("demo CLIP features (not FID)", _OPEN_CLIP_FOLDER, "image embedding", False, _load_clip),
    "inception-2015": Spec(
        "FID",
        "the file of the TensorFlow 2015-12-05 port (weights-inception-2015-12-05-6726825d.pth of "
        "torch-fidelity or pt_inception-2015-12-05-6726825d.pth of pytorch-fid)",
        "pool3 (2048)",
        True,
        _load_inception,
    ),
    "dinov2": Spec(
        "Frechet distance on DINOv2",
        "a folder in Hugging Face layout (config.json, model.safetensors), e.g. of facebook/dinov2-large",
        "class token after the last norm",
        False,
        _load_dinov2,
    ),
    "clip": Spec("Frechet distance on CLIP", _OPEN_CLIP_FOLDER, "image embedding", False, _load_clip),
}


def load_extractor(name: str, path: Path | str) -> Extractor:
    """The named extractor with weights from a local path. Nothing is downloaded, nothing is swapped."""
    if name not in EXTRACTORS:
        raise ExtractorError(f"extractor {name!r} is unknown; use one of: {', '.join(EXTRACTORS)}")
    spec = EXTRACTORS[name]
    if not str(path) or not Path(path).exists():
        where = f"there is nothing at {path}" if str(path) else "no path was given"
        raise ExtractorError(
            f"extractor {name} needs its weights, but {where}, and dogflow downloads nothing on its own. Get "
            f"{spec.weights}, and give its path"
        )
    return Extractor(name, spec, Path(path))

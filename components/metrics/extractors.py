"""Feature extractors by name. Numbers compare only under the same extractor, weights, resize and layer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from components.metrics.frechet import FeatureIdentity

if TYPE_CHECKING:
    from torch import Tensor

BICUBIC = "bicubic-antialias-float"  # the resize before every extractor, see components.metrics.resize
_IMAGENET_MEAN, _IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class ExtractorError(ValueError):
    """An extractor that is unknown or whose weights are not here; never replaced by another one."""


@dataclass(frozen=True)
class Spec:
    """A row of the registry. weights: what the local path must be. is_fid: whether its Frechet distance is
    what the literature calls FID; `label` is what reports must print beside its numbers. file: the weights
    file at a path. size_px: side of the square it sees. load: its forward pass, 0..255 -> features."""

    label: str
    weights: str
    layer: str
    is_fid: bool
    file: Callable[[Path], Path]
    size_px: Callable[[Path], int]
    load: Callable[[Path], Callable[[Tensor], Tensor]]


class Extractor:
    """`features(images)` by one registry row and one local copy of its weights, loaded when first needed."""

    def __init__(self, name: str, spec: Spec, path: Path) -> None:
        self.name, self.label, self.is_fid = name, spec.label, spec.is_fid
        self.layer = spec.layer
        self._spec, self._path = spec, path

    @cached_property
    def weights_sha256(self) -> str:
        """sha256 of the weights file. Raises ExtractorError when it is not there."""
        try:
            with self._spec.file(self._path).open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise self._unreadable(error) from None

    @cached_property
    def size_px(self) -> int:
        """Side of the square that the extractor sees."""
        try:
            return self._spec.size_px(self._path)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise self._unreadable(error) from None

    def identity(self, data: str = "") -> FeatureIdentity:
        """What its numbers compare with. Reads the weights file, but loads no model."""
        resize = f"{BICUBIC}-{self.size_px}"
        return FeatureIdentity(self.name, self.weights_sha256, resize, self.layer, data)

    def features(self, images: np.ndarray, batch: int = 64) -> np.ndarray:
        """(N, H, W, 3) uint8 sRGB -> (N, D) float32. Raises ExtractorError for weights that do not load."""
        import torch

        from components.metrics.resize import resize_bicubic

        forward = self._forward
        with torch.no_grad():
            blocks = [
                forward(resize_bicubic(images[i : i + batch], self.size_px)).float().cpu().numpy()
                for i in range(0, len(images), batch)
            ]
        if not blocks:
            raise ValueError("no images to take features from")
        return np.concatenate(blocks)

    @cached_property
    def _forward(self) -> Callable[[Tensor], Tensor]:
        from pickle import UnpicklingError

        from safetensors import SafetensorError

        try:
            return self._spec.load(self._path)
        # What torch, safetensors and open_clip raise on a file that is cut short, damaged or another model's
        except (
            OSError,
            RuntimeError,
            KeyError,
            ValueError,
            EOFError,
            UnpicklingError,
            SafetensorError,
        ) as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> ExtractorError:
        reason = (str(error).splitlines() or ["empty file"])[0]
        return ExtractorError(
            f"the weights of extractor {self.name} at {self._path} cannot be loaded "
            f"({type(error).__name__}: {reason}). Needed: {self._spec.weights}"
        )


def _normalised(pixels: Tensor, mean: tuple[float, ...], std: tuple[float, ...]) -> Tensor:
    """0..255 -> channels standardised by mean and std, which are stated for 0..1."""
    shape = (1, 3, 1, 1)
    return (pixels / 255 - pixels.new_tensor(mean).reshape(shape)) / pixels.new_tensor(std).reshape(shape)


def _load_inception(path: Path) -> Callable[[Tensor], Tensor]:
    from components.metrics.inception import load_inception

    return load_inception(str(path))


def _load_dinov2(path: Path) -> Callable[[Tensor], Tensor]:
    from transformers import Dinov2Model

    model = Dinov2Model.from_pretrained(path, local_files_only=True, use_safetensors=True).eval()

    def forward(pixels: Tensor) -> Tensor:
        return model(_normalised(pixels, _IMAGENET_MEAN, _IMAGENET_STD)).pooler_output

    return forward


def _load_clip(path: Path) -> Callable[[Tensor], Tensor]:
    import open_clip

    model: Any = open_clip.create_model(f"local-dir:{path}").eval()
    mean, std = tuple(model.visual.image_mean), tuple(model.visual.image_std)

    def forward(pixels: Tensor) -> Tensor:
        return model.encode_image(_normalised(pixels, mean, std))

    return forward


def _clip_size_px(path: Path) -> int:
    config = json.loads((path / "open_clip_config.json").read_text(encoding="utf-8"))
    size = config["model_cfg"]["vision_cfg"]["image_size"]
    return int(size[0] if isinstance(size, list) else size)


def _clip(label: str) -> Spec:
    return Spec(
        label,
        "a folder with open_clip_config.json and open_clip_model.safetensors",
        "image embedding",
        False,
        lambda path: path / "open_clip_model.safetensors",
        _clip_size_px,
        _load_clip,
    )


EXTRACTORS: dict[str, Spec] = {
    "demo": _clip("demo CLIP features (not FID)"),
    "inception-2015": Spec(
        "FID",
        "the file of the TensorFlow 2015-12-05 port (weights-inception-2015-12-05-6726825d.pth of "
        "torch-fidelity or pt_inception-2015-12-05-6726825d.pth of pytorch-fid)",
        "pool3 (2048)",
        True,
        lambda path: path,
        lambda path: 299,
        _load_inception,
    ),
    "dinov2": Spec(
        "Frechet distance on DINOv2",
        "a folder in Hugging Face layout (config.json, model.safetensors), e.g. of facebook/dinov2-large",
        "class token after the last norm",
        False,
        lambda path: path / "model.safetensors",
        lambda path: 224,
        _load_dinov2,
    ),
    "clip": _clip("Frechet distance on CLIP"),
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

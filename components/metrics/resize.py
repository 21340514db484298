"""The resize before a feature extractor. It is part of the metric: another filter gives another number."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional


def resize_bicubic(images: np.ndarray, size_px: int) -> Tensor:
    """(N, H, W, 3) uint8 -> (N, 3, size, size) float32 in 0..255, by the antialiased bicubic filter.

    Equal to PIL's resize of float channels, hence to clean-fid's "clean" mode (Parmar et al.,
    arXiv:2104.11222): nothing is rounded to whole grey levels. Values are clipped to 0..255 as there.
    """
    if images.ndim != 4 or images.shape[3] != 3 or images.dtype != np.uint8:
        raise ValueError(f"images must be (N, H, W, 3) uint8, got {images.shape} {images.dtype}")
    pixels = torch.tensor(images).permute(0, 3, 1, 2).float()
    if pixels.shape[2:] == (size_px, size_px):
        return pixels
    resized = functional.interpolate(pixels, (size_px, size_px), mode="bicubic", antialias=True)
    return resized.clamp(0, 255)

"""Between pictures and the space the flow runs in. Pixels only: the demo's space is the picture itself."""

from __future__ import annotations

import torch
from torch import Tensor


def pixels_to_samples(images: Tensor) -> Tensor:
    """(B, H, W, 3) uint8 -> (B, 3, H, W) float32 in [-1, 1]."""
    return images.permute(0, 3, 1, 2).to(torch.float32) / 127.5 - 1


def samples_to_pixels(samples: Tensor) -> Tensor:
    """(B, 3, H, W) float -> (B, H, W, 3) uint8, rounded and clipped; the inverse of `pixels_to_samples`."""
    pixels = ((samples.float() + 1) * 127.5).round().clamp(0, 255).to(torch.uint8)
    return pixels.permute(0, 2, 3, 1).contiguous()

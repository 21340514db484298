"""Between pictures and the space the flow runs in: the pixels themselves, or an autoencoder's latents."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from components.model.weights import ResolvedWeights, WeightsError


def pixels_to_samples(images: Tensor) -> Tensor:
    """(B, H, W, 3) uint8 -> (B, 3, H, W) float32 in [-1, 1]."""
    return images.permute(0, 3, 1, 2).to(torch.float32) / 127.5 - 1


def samples_to_pixels(samples: Tensor) -> Tensor:
    """(B, 3, H, W) float -> (B, H, W, 3) uint8, rounded and clipped; the inverse of `pixels_to_samples`."""
    pixels = ((samples.float() + 1) * 127.5).round().clamp(0, 255).to(torch.uint8)
    return pixels.permute(0, 2, 3, 1).contiguous()


class Autoencoder:
    """A diffusers AutoencoderKL, such as Stable Diffusion's, in float32: its half precision overflows.

    Latents are (mean - shift) * scaling, which gives them about unit variance. The mean, not a draw: the
    posterior's spread is far below the picture's, and a stored latent is then a function of the picture.
    """

    def __init__(self, network: Any, device: torch.device | str = "cpu") -> None:
        self.network = network.to(device, torch.float32).eval().requires_grad_(False)
        self.device = torch.device(device)
        self._scaling = float(network.config.scaling_factor)
        self._shift = float(network.config.shift_factor or 0.0)

    @torch.no_grad()
    def encode(self, images: Tensor) -> Tensor:
        """(B, H, W, 3) uint8 -> (B, C, h, w) float32 on the CPU."""
        mean = self.network.encode(pixels_to_samples(images).to(self.device)).latent_dist.mean
        return ((mean - self._shift) * self._scaling).cpu()

    @torch.no_grad()
    def decode(self, latents: Tensor) -> Tensor:
        """(B, C, h, w) float -> (B, H, W, 3) uint8 on the latents' device, one picture at a time."""
        scaled = latents.to(self.device, torch.float32) / self._scaling + self._shift
        decoded = [samples_to_pixels(self.network.decode(row[None]).sample) for row in scaled]
        return torch.cat(decoded).to(latents.device)


def load_autoencoder(weights: ResolvedWeights, device: torch.device | str = "cpu") -> Autoencoder:
    """The autoencoder of `resolve(reference, AUTOENCODER)`. Raises WeightsError when it is none."""
    from diffusers import AutoencoderKL

    try:
        network = AutoencoderKL.from_pretrained(weights.path.parent, local_files_only=True)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        reason = " ".join(str(error).split())[:300]
        raise WeightsError(f"{weights.path.parent} holds no diffusers AutoencoderKL: {reason}") from None
    return Autoencoder(network, device)

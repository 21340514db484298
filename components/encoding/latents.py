"""Latents of training pictures, from a diffusers autoencoder."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers import AutoencoderKL

from components.data.manifest import sha256_hex
from components.encoding.options import EncodingOptions
from components.model.device import pick_device
from components.model.weights import WeightsError

WEIGHTS = "diffusion_pytorch_model.safetensors"


class LatentEncoder:
    """Encodes pictures with the mean of an AutoencoderKL's posterior, scaled as its config says.

    The mean, not a draw, so that the same picture always has the same latents. Flipped latents are stored
    beside, since mirroring latents is not mirroring the picture.
    """

    def __init__(self, options: EncodingOptions):
        folder = Path(options.autoencoder)
        if not (folder / WEIGHTS).is_file() or not (folder / "config.json").is_file():
            raise WeightsError(
                f"encoding.autoencoder: {folder} has no {WEIGHTS} and config.json of a diffusers AutoencoderKL. "
                "Copy the `vae` folder of a Stable Diffusion model there; nothing is downloaded."
            )
        self.size_px = options.size_px
        self.columns = ("latents", "latents_flipped") if options.flips else ("latents",)
        self._device = pick_device(options.device)
        # fp16 overflows in some autoencoders; fp32 costs little beside decoding and resizing.
        self._vae: Any = (
            AutoencoderKL.from_pretrained(str(folder), local_files_only=True).to(self._device).eval()
        )
        factor = 2 ** (len(self._vae.config.block_out_channels) - 1)
        if options.size_px % factor:
            raise ValueError(
                f"encoding.size_px={options.size_px} must be a multiple of {factor} for {folder}."
            )
        side = options.size_px // factor
        self.policy: dict[str, Any] = {
            "space": "latents",
            "shape": [int(self._vae.config.latent_channels), side, side],
            "resize": "lanczos",
            "flips": options.flips,
            "autoencoder_sha256": sha256_hex((folder / WEIGHTS).read_bytes()),
            "scaling_factor": float(self._vae.config.scaling_factor),
            "shift_factor": float(self._vae.config.shift_factor or 0.0),
        }

    @torch.inference_mode()
    def encode(self, picture: np.ndarray) -> tuple[bytes, ...]:
        """(H,W,3) uint8 -> the values of `columns`. Raises ValueError for latents that are not finite."""
        pixels = torch.from_numpy(np.array(picture)).to(self._device).permute(2, 0, 1).float() / 127.5 - 1
        views = [pixels, pixels.flip(-1)][: len(self.columns)]
        latents = self._vae.encode(torch.stack(views)).latent_dist.mean
        latents = (latents - self.policy["shift_factor"]) * self.policy["scaling_factor"]
        half = latents.half().cpu()
        if not torch.isfinite(half).all():
            raise ValueError("The autoencoder gave latents that are not finite.")
        return tuple(view.numpy().tobytes() for view in half)

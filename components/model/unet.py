"""The U-Net behind the network interface, built on diffusers' UNet2DConditionModel."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from diffusers import UNet2DConditionModel
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class NetworkConfig:
    """What a network is built from; `text_width` and `num_breeds` come from the data.

    attention: whether the blocks of each width attend to the text (and to themselves), widest last.
    heads: attention heads per block. groups: group-norm groups; it must divide every width, and a group of
    one channel would erase that channel's mean, hence 8 and not diffusers' 32 for narrow networks.
    patch: squares of this many samples become channels before the first block and samples again after the
    last. The finest level of a pixel U-Net costs most and knows least; 2 drops it (a third of the time at
    equal quality on the demo set, measured on 2 cores).
    """

    preset: str = "demo"
    size_px: int = 32
    channels: int = 3
    patch: int = 2
    widths: tuple[int, ...] = (64, 96)
    attention: tuple[bool, ...] = (False, True)
    layers: int = 1
    heads: int = 4
    groups: int = 8
    text_width: int = 64
    num_breeds: int = 8

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> NetworkConfig:
        """Inverse of `to_dict`, also after a trip through JSON (lists become tuples)."""
        fitted: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**fitted)


PRESETS: dict[str, NetworkConfig] = {"demo": NetworkConfig()}


def preset(name: str, *, text_width: int, num_breeds: int) -> NetworkConfig:
    """A row of the preset table, fitted to the text encoder and the breed table in use."""
    if name not in PRESETS:
        raise ValueError(f"network preset {name!r} is unknown; use one of: {', '.join(PRESETS)}")
    return replace(PRESETS[name], text_width=text_width, num_breeds=num_breeds)


class FlowUNet(nn.Module):
    """v(x_t, t, text, breed). The breed embedding is added to the time embedding and starts at zero.

    So an untouched network ignores the breed, and stage 1 starts exactly where stage 0 ended. The last row
    of the embedding is the null breed, used for guidance and where no breed is known.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.unet: Any = UNet2DConditionModel(
            sample_size=config.size_px // config.patch,
            in_channels=config.channels * config.patch**2,
            out_channels=config.channels * config.patch**2,
            block_out_channels=config.widths,
            layers_per_block=config.layers,
            down_block_types=tuple("CrossAttnDownBlock2D" if a else "DownBlock2D" for a in config.attention),
            up_block_types=tuple("CrossAttnUpBlock2D" if a else "UpBlock2D" for a in config.attention[::-1]),
            cross_attention_dim=config.text_width,
            attention_head_dim=config.heads,  # diffusers' name for the NUMBER of heads (its SD-1.5 legacy)
            norm_num_groups=config.groups,
            class_embed_type="identity",
        )
        self.breed_embedding = nn.Embedding(config.num_breeds + 1, config.widths[0] * 4)
        nn.init.zeros_(self.breed_embedding.weight)

    @property
    def null_breed(self) -> int:
        return self.config.num_breeds

    def forward(self, x_t: Tensor, t: Tensor, text: Tensor, text_mask: Tensor, breed: Tensor) -> Tensor:
        """x_t (B,C,H,W), t (B,) float32 with 0 = noise, text (B,L,D), text_mask (B,L) bool, breed (B,) int64
        -> v (B,C,H,W). Padding in the text does not change the output."""
        v = self.unet(
            functional.pixel_unshuffle(x_t, self.config.patch),
            diffusers_timestep(t),
            encoder_hidden_states=text,
            encoder_attention_mask=text_mask,
            class_labels=self.breed_embedding(breed),
        ).sample
        return functional.pixel_shuffle(v, self.config.patch)


def diffusers_timestep(t: Tensor) -> Tensor:
    """The time that diffusers' embedding expects: 1000 (1 - t), the one place where conventions meet.

    Always float32: bfloat16 has 8 bits of mantissa and would turn 750 into 752.
    """
    assert t.dtype in (torch.float32, torch.float64), f"t must be float32, got {t.dtype}"
    return (1000 * (1 - t)).to(torch.float32)


def flow_time(timestep: Tensor) -> Tensor:
    """Inverse of `diffusers_timestep`."""
    return 1 - timestep.to(torch.float32) / 1000

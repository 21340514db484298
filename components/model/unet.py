"""The U-Net behind the network interface, built on diffusers' UNet2DConditionModel."""

from __future__ import annotations

from typing import Any

from diffusers import UNet2DConditionModel
from torch import Tensor, nn
from torch.nn import functional

from components.model.channel_attention import ChannelAttention
from components.model.flow_network import FlowNetwork
from components.model.network import NetworkConfig
from components.model.timesteps import diffusers_timestep


class FlowUNet(FlowNetwork):
    """v(x_t, t, text, breed) by a U-Net of the layout of Stable Diffusion 1.5's."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__(config)
        self.backbone = UNet2DConditionModel(
            sample_size=config.sample_shape[1] // config.patch,
            in_channels=config.channels * config.patch**2,
            out_channels=config.channels * config.patch**2,
            block_out_channels=config.widths,
            layers_per_block=config.layers,
            down_block_types=tuple("CrossAttnDownBlock2D" if a else "DownBlock2D" for a in config.attention),
            up_block_types=tuple("CrossAttnUpBlock2D" if a else "UpBlock2D" for a in config.attention[::-1]),
            cross_attention_dim=config.text_width,
            attention_head_dim=config.heads,  # diffusers' name for the NUMBER of heads (its SD-1.5 legacy)
            norm_num_groups=config.groups,
        )
        unet = self.backbone
        self.channel_attention = ChannelAttention(config.widths[-1]) if config.channel_attention else None
        if config.channel_attention:
            # Before the projection's hook: hooks run in this order.
            unet.mid_block.register_forward_hook(self._gated)
        self._join(unet.time_embedding, config.widths[0] * 4, unet.conv_in, unet.mid_block)

    def _velocity(
        self, x_t: Tensor, t: Tensor, text: Tensor, text_mask: Tensor, gates: dict[str, Tensor] | None
    ) -> Tensor:
        v = self.backbone(
            functional.pixel_unshuffle(x_t, self.config.patch),
            diffusers_timestep(t),
            encoder_hidden_states=text,
            encoder_attention_mask=text_mask,
            cross_attention_kwargs=gates,
        ).sample
        return functional.pixel_shuffle(v, self.config.patch)

    def _gated(self, module: nn.Module, args: Any, output: Tensor) -> Tensor:
        assert self.channel_attention is not None
        return self.channel_attention(output)

"""The diffusion transformer behind the network interface, built on diffusers' PixArtTransformer2DModel.

Tokens attend to the text in every block and hear the time through one shared set of scales and shifts
(Chen et al., PixArt-alpha, arXiv:2310.00426).
"""

from __future__ import annotations

from diffusers import PixArtTransformer2DModel
from torch import Tensor

from components.model.flow_network import FlowNetwork
from components.model.network import NetworkConfig
from components.model.timesteps import diffusers_timestep


class FlowDiT(FlowNetwork):
    """v(x_t, t, text, breed) by a transformer over squares of `patch` samples a side."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__(config)
        (width,) = config.widths
        self.backbone = PixArtTransformer2DModel(
            num_attention_heads=config.heads,
            attention_head_dim=width // config.heads,
            num_layers=config.layers,
            in_channels=config.channels,
            out_channels=config.channels,
            sample_size=config.sample_shape[1],
            patch_size=config.patch,
            cross_attention_dim=width,
            caption_channels=config.text_width,
            use_additional_conditions=False,
        )
        dit = self.backbone
        middle = dit.transformer_blocks[config.layers // 2]
        self._join(dit.adaln_single.emb, width, dit.pos_embed.proj, middle)

    def _velocity(
        self, x_t: Tensor, t: Tensor, text: Tensor, text_mask: Tensor, gates: dict[str, Tensor] | None
    ) -> Tensor:
        return self.backbone(
            x_t,
            encoder_hidden_states=text,
            timestep=diffusers_timestep(t),
            encoder_attention_mask=text_mask.to(x_t.dtype),
            cross_attention_kwargs=gates,
        ).sample

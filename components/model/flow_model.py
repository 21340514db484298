"""The trainable whole: the network and the upper text layers that feed it."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from components.model.dit import FlowDiT
from components.model.flow_network import FlowNetwork
from components.model.network import NetworkConfig
from components.model.text import UpperText
from components.model.unet import FlowUNet

KINDS: dict[str, type[FlowNetwork]] = {"unet": FlowUNet, "dit": FlowDiT}


def build_network(config: NetworkConfig) -> FlowNetwork:
    """A network with fresh weights, from torch's default generator."""
    return KINDS[config.kind](config)


class FlowModel(nn.Module):
    """Lower text states in, velocity out. Same interface as a network, one stage earlier in the text.

    `network` is any module with the network interface, `text` the upper layers of the text tower.
    """

    def __init__(self, network: FlowNetwork, text: UpperText) -> None:
        super().__init__()
        if text.width != network.config.text_width:
            raise ValueError(
                f"the network was built for text states of width {network.config.text_width}, but the text "
                f"encoder gives {text.width}; use the text encoder that the network was trained with"
            )
        self.network = network
        self.text = text

    @property
    def null_breed(self) -> int:
        return self.network.null_breed

    @property
    def sample_shape(self) -> tuple[int, int, int]:
        """(C, H, W) of one sample."""
        return self.network.config.sample_shape

    def forward(self, x_t: Tensor, t: Tensor, hidden: Tensor, mask: Tensor, breed: Tensor) -> Tensor:
        """x_t (B,C,H,W), t (B,), hidden (B,L,D) lower text states, mask (B,L), breed (B,) -> v (B,C,H,W)."""
        return self.network(x_t, t, self.text(hidden), mask, breed)

    def with_features(
        self, x_t: Tensor, t: Tensor, hidden: Tensor, mask: Tensor, breed: Tensor
    ) -> tuple[Tensor, Tensor]:
        """As `forward`, and the network's projected features: unit vectors (B, projection)."""
        return self.network.with_features(x_t, t, self.text(hidden), mask, breed)

    def describe(self) -> dict[str, Any]:
        """Everything `build_flow_model` needs, as plain JSON values."""
        return {"network": self.network.config.to_dict(), "text": dict(self.text.config)}


def build_flow_model(description: dict[str, Any]) -> FlowModel:
    """A model with fresh weights from `FlowModel.describe` (also after a trip through JSON)."""
    text = {k: v for k, v in description["text"].items() if k != "upper_layers"}
    upper = UpperText(text, layers=description["text"]["upper_layers"])
    return FlowModel(build_network(NetworkConfig.from_dict(description["network"])), upper)

"""Squeeze-and-excitation on a feature map (Hu et al., arXiv:1709.01507) that starts as the identity."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from components.model.breed import zero_linear

_SQUEEZE = 16


class ChannelAttention(nn.Module):
    """(B, C, H, W) -> the same, each channel times 2 sigmoid of what the means of all say (1 at first)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        inner = max(width // _SQUEEZE, 4)
        self.gate = nn.Sequential(nn.Linear(width, inner), nn.SiLU(), zero_linear(inner, width, bias=True))

    def forward(self, x: Tensor) -> Tensor:
        return x * (2 * torch.sigmoid(self.gate(x.mean((2, 3)))))[..., None, None]

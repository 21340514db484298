"""How a network is told the breed: modules that change nothing until they are trained.

`time` adds to the time embedding, `gate` scales what every cross-attention says, `conv_in` adds to what the
first layer says. All read one embedding table and start as the identity, so a network with them gives exactly
what it gave without.
"""

from __future__ import annotations

from typing import Any

import torch
from diffusers.models.attention_processor import Attention, AttnProcessor2_0
from torch import Tensor, nn


class BreedEmbedding(nn.Embedding):
    """(B,) int64 -> (B, width). The last row is the null breed, for guidance and where no breed is known."""

    def __init__(self, num_breeds: int, width: int) -> None:
        super().__init__(num_breeds + 1, width)
        nn.init.normal_(self.weight, std=0.02)

    @property
    def null_breed(self) -> int:
        return self.num_embeddings - 1


def zero_linear(inputs: int, outputs: int, *, bias: bool = False) -> nn.Linear:
    """A projection that says nothing yet."""
    linear = nn.Linear(inputs, outputs, bias=bias)
    nn.init.zeros_(linear.weight)
    if bias:
        nn.init.zeros_(linear.bias)
    return linear


def pooled(text: Tensor, mask: Tensor) -> Tensor:
    """Mean over the real tokens: text (B, L, D), mask (B, L) bool -> (B, D); zeros where there are none."""
    weights = mask.to(text.dtype)[..., None]
    return (text * weights).sum(1) / weights.sum(1).clamp(min=1)


class BreedGate(nn.Module):
    """A cross-attention whose output, before the residual, is multiplied by 2 sigmoid(W [text; breed] + b).

    text is the mean of the real tokens, breed its embedding. W and b start at zero, so it starts at 1.
    A processor of diffusers' `Attention`: the condition (B, text width + breed width) comes through the
    network's `cross_attention_kwargs`.
    """

    def __init__(self, condition_width: int, width: int) -> None:
        super().__init__()
        self.project = zero_linear(condition_width, width, bias=True)
        self._attend = AttnProcessor2_0()

    # diffusers reads the arguments' names from `__call__`, and leaves out those it does not find.
    def __call__(
        self,
        attn: Attention,
        hidden_states: Tensor,
        encoder_hidden_states: Tensor | None = None,
        attention_mask: Tensor | None = None,
        temb: Tensor | None = None,
        condition: Tensor | None = None,
    ) -> Tensor:
        said = self._attend(attn, hidden_states, encoder_hidden_states, attention_mask, temb)
        return said * (2 * torch.sigmoid(self.project(condition)))[:, None]


class Ungated:
    """A self-attention in a network with gates: it is handed the condition too, and does not want it."""

    def __init__(self) -> None:
        self._attend = AttnProcessor2_0()

    def __call__(
        self,
        attn: Attention,
        hidden_states: Tensor,
        encoder_hidden_states: Tensor | None = None,
        attention_mask: Tensor | None = None,
        temb: Tensor | None = None,
        condition: Tensor | None = None,
    ) -> Tensor:
        return self._attend(attn, hidden_states, encoder_hidden_states, attention_mask, temb)


def with_breeds_added(table: Tensor, added: int) -> Tensor:
    """Rows of a breed embedding (num_breeds + 1, width) with `added` new breeds before the null breed.

    Rows there were keep their values; the null breed stays last. A new breed starts as the null breed, so
    that the network at first draws for it what it draws when no breed is known.
    """
    null = table[-1:]
    return torch.cat([table[:-1], null.expand(added, -1), null])


def install_gates(backbone: Any, condition_width: int) -> None:
    """Give every cross-attention (`attn2`) of a diffusers model its gate."""
    processors: dict[str, Any] = {}
    for name in backbone.attn_processors:
        attention = backbone.get_submodule(name.removesuffix(".processor"))
        crossing = name.endswith("attn2.processor")
        processors[name] = BreedGate(condition_width, attention.out_dim) if crossing else Ungated()
    backbone.set_attn_processor(processors)

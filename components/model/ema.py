"""Exponential moving average of the weights, kept in float32 whatever the model trains in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


class Ema:
    """shadow <- d shadow + (1 - d) weight, once per optimizer step.

    Warm-up: at the n-th update (n = 1, 2, ...) d = min(decay, (1 + n) / (10 + n)), so the first updates do
    not drag the random start along for 1 / (1 - decay) steps. The shadow is float32: near a weight of 1,
    bfloat16 cannot even hold 1 - 1e-4 of it, so with decay .9999 it would never move.
    """

    def __init__(self, model: nn.Module, decay: float = 0.999) -> None:
        if not 0 <= decay < 1:
            raise ValueError(f"EMA decay must lie in [0, 1), got {decay}")
        self.decay = decay
        self.updates = 0
        self.shadow: dict[str, Tensor] = {
            name: value.detach().float().clone() for name, value in model.named_parameters()
        }

    def decay_at(self, update: int) -> float:
        return min(self.decay, (1 + update) / (10 + update))

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.updates += 1
        weight = 1 - self.decay_at(self.updates)
        for name, value in model.named_parameters():
            self.shadow[name].lerp_(value.detach().to(self.shadow[name]), weight)

    @torch.no_grad()
    def copy_to(self, model: nn.Module) -> None:
        """Put the averaged weights into `model`, in the model's own dtype."""
        for name, value in model.named_parameters():
            value.copy_(self.shadow[name])

    @contextmanager
    def applied(self, model: nn.Module) -> Iterator[nn.Module]:
        """`model` with averaged weights inside the block; its own weights are back, bit for bit, after it."""
        raw = {name: value.detach().clone() for name, value in model.named_parameters()}
        self.copy_to(model)
        try:
            yield model
        finally:
            with torch.no_grad():
                for name, value in model.named_parameters():
                    value.copy_(raw[name])

    def state_dict(self) -> dict[str, Any]:
        return {"updates": self.updates, "decay": self.decay, "shadow": dict(self.shadow)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore updates and shadow; `decay` stays this run's option. Names must match."""
        missing = self.shadow.keys() ^ state["shadow"].keys()
        if missing:
            raise ValueError(
                f"the EMA state is of another model: {len(missing)} names differ, e.g. {min(missing)}"
            )
        self.updates = int(state["updates"])
        for name, value in state["shadow"].items():
            self.shadow[name].copy_(value)

"""What the U-Net and the transformer share: the network interface, the breed, the features in the middle."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from components.model.breed import (
    BreedEmbedding,
    BreedGate,
    install_gates,
    pooled,
    with_breeds_added,
    zero_linear,
)
from components.model.contrastive import Projection
from components.model.network import NetworkConfig


class WeightsMismatch(ValueError):
    """Published weights of another network."""


class _Call(threading.local):
    """What one forward pass and the hooks inside it tell each other. Micro-batches run in threads."""

    time: Tensor | None = None
    conv_in: Tensor | None = None
    features: Tensor | None = None

    def __reduce__(self) -> tuple[type[_Call], tuple[()]]:
        return _Call, ()  # copies of a network begin with nothing said


class FlowNetwork(nn.Module):
    """v(x_t, t, text, breed), around a plain diffusers model whose weights keep their names.

    What tells the breed starts as the identity (breed.py): until it is trained, this is that model. A
    subclass makes `backbone`, calls `_join` and says in `_velocity` how the backbone is called.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.backbone: Any = None  # called by itself, it is the plain model
        self.breed_embedding = BreedEmbedding(config.num_breeds, config.breed_width)
        self.breed_time: nn.Linear | None = None
        self.breed_conv_in: nn.Linear | None = None
        self.projection: Projection | None = None
        self._call = _Call()

    def _join(self, time: nn.Module, time_width: int, first: nn.Module, middle: nn.Module) -> None:
        """Tie the breed and the projection to the backbone.

        time: gives the time embedding (B, time_width). first: the layer that makes (B, widths[0], h, w) of
        samples. middle: what gives (B, widths[-1], h, w) or (B, tokens, widths[-1]) in the middle.
        """
        config = self.config
        if "time" in config.breed_modules:
            self.breed_time = zero_linear(config.breed_width, time_width)
            time.register_forward_hook(self._after_time)
        if "conv_in" in config.breed_modules:
            self.breed_conv_in = zero_linear(config.breed_width, config.widths[0])
            first.register_forward_hook(self._after_first)
        if "gate" in config.breed_modules:
            install_gates(self.backbone, config.condition_width)
        if config.projection:
            self.projection = Projection(config.widths[-1], config.projection)
            middle.register_forward_hook(self._after_middle)

    @property
    def null_breed(self) -> int:
        return self.breed_embedding.null_breed

    def forward(self, x_t: Tensor, t: Tensor, text: Tensor, text_mask: Tensor, breed: Tensor) -> Tensor:
        """x_t (B,C,H,W), t (B,) float32 with 0 = noise, text (B,L,D), text_mask (B,L) bool, breed (B,) int64
        -> v (B,C,H,W). Padding in the text does not change the output."""
        return self._run(x_t, t, text, text_mask, breed)[0]

    def with_features(
        self, x_t: Tensor, t: Tensor, text: Tensor, text_mask: Tensor, breed: Tensor
    ) -> tuple[Tensor, Tensor]:
        """As `forward`, and the projected mean over the middle: unit vectors (B, projection)."""
        assert self.projection is not None, "the network was built without a projection"
        v, features = self._run(x_t, t, text, text_mask, breed)
        assert features is not None
        return v, self.projection(features)

    def breed_parameters(self) -> Iterator[nn.Parameter]:
        """What is trained only where breeds are given: the embedding and everything that reads it."""
        readers: list[nn.Module | None] = [self.breed_embedding, self.breed_time, self.breed_conv_in]
        readers += [module for module in self.backbone.modules() if isinstance(module, BreedGate)]
        for module in readers:
            if module is not None:
                yield from module.parameters()

    @torch.no_grad()
    def add_breeds(self, count: int) -> None:
        """Make room for `count` more breeds, numbered after those there are; these answer as before.

        The null breed stays the last row, so its number grows. A new breed starts as that one.
        """
        grown = BreedEmbedding(self.config.num_breeds + count, self.config.breed_width)
        grown.weight.copy_(with_breeds_added(self.breed_embedding.weight, count))
        self.breed_embedding = grown.to(self.breed_embedding.weight)
        self.config = replace(self.config, num_breeds=self.config.num_breeds + count)

    def load_published(self, weights: Mapping[str, Tensor]) -> None:
        """Take the weights of a plain diffusers model of this layout, such as Stable Diffusion 1.5's U-Net.

        Raises WeightsMismatch, which names the first tensor that does not fit. Nothing is taken then.
        """
        own = {name: value for name, value in self.backbone.state_dict().items() if not _is_added(name)}
        for name in sorted(own.keys() | weights.keys()):
            mine, theirs = own.get(name), weights.get(name)
            if mine is None or theirs is None or mine.shape != theirs.shape:
                shapes = [None if tensor is None else tuple(tensor.shape) for tensor in (mine, theirs)]
                raise WeightsMismatch(
                    f"the weights do not fit preset {self.config.preset}: {name} is {shapes[1]}, "
                    f"needed {shapes[0]}. Use the preset of their layout (sd15-512 for Stable Diffusion 1.5)"
                )
        self.backbone.load_state_dict(weights, strict=False)

    def _run(
        self, x_t: Tensor, t: Tensor, text: Tensor, text_mask: Tensor, breed: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        call, embedded = self._call, self.breed_embedding(breed)
        if self.breed_time is not None:
            call.time = self.breed_time(embedded)
        if self.breed_conv_in is not None:
            call.conv_in = self.breed_conv_in(embedded)
        gates = None
        if "gate" in self.config.breed_modules:
            gates = {"condition": torch.cat([pooled(text, text_mask), embedded.to(text.dtype)], 1)}
        v = self._velocity(x_t, t, text, text_mask, gates)
        features = call.features
        # Nothing stays, or it would hold the pass's activations.
        call.time = call.conv_in = call.features = None
        return v, features

    def _velocity(
        self, x_t: Tensor, t: Tensor, text: Tensor, text_mask: Tensor, gates: dict[str, Tensor] | None
    ) -> Tensor:
        """The backbone's answer; `gates` are its cross_attention_kwargs."""
        raise NotImplementedError

    def _after_time(self, module: nn.Module, args: Any, output: Tensor) -> Tensor:
        told = self._call.time
        return output if told is None else output + told.to(output.dtype)

    def _after_first(self, module: nn.Module, args: Any, output: Tensor) -> Tensor:
        told = self._call.conv_in
        return output if told is None else output + told.to(output.dtype)[..., None, None]

    def _after_middle(self, module: nn.Module, args: Any, output: Tensor) -> None:
        self._call.features = output.mean((2, 3)) if output.dim() == 4 else output.mean(1)


def _is_added(name: str) -> bool:
    return ".processor." in name

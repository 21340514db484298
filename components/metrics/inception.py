"""Inception-v3 as ported from the TensorFlow graph of 2015-12-05, the network that FID is defined on.

torchvision's network differs in three places, which are put right here: average pools do not count the
padding, the last block pools by maximum, and there are 1008 classes. Input is (x - 128) / 128.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional
from torchvision.models import inception as tv


def _average(x: Tensor) -> Tensor:
    return functional.avg_pool2d(x, 3, stride=1, padding=1, count_include_pad=False)


def _maximum(x: Tensor) -> Tensor:
    return functional.max_pool2d(x, 3, stride=1, padding=1)


def _pooled_by(block: type[nn.Module], pool: Callable[[Tensor], Tensor]) -> type[nn.Module]:
    """torchvision's block with its inner average pool (3x3, stride 1) replaced by `pool`.

    The blocks compute `branch_pool(avg_pool2d(x))` as their last branch, so that branch alone is redone.
    """

    class Block(block):  # type: ignore[misc,valid-type]
        def _forward(self, x: Tensor) -> list[Tensor]:
            branches = super()._forward(x)
            branches[-1] = self.branch_pool(pool(x))
            return branches

    return Block


class Inception2015(nn.Module):
    """(N, 3, 299, 299) float32 in 0..255 -> (N, 2048) features of the last average pool."""

    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            net = tv.Inception3(num_classes=1008, aux_logits=False, transform_input=False, init_weights=False)
        a, c = _pooled_by(tv.InceptionA, _average), _pooled_by(tv.InceptionC, _average)
        net.Mixed_5b, net.Mixed_5c, net.Mixed_5d = a(192, 32), a(256, 64), a(288, 64)
        for name, width in (("6b", 128), ("6c", 160), ("6d", 160), ("6e", 192)):
            setattr(net, f"Mixed_{name}", c(768, channels_7x7=width))
        net.Mixed_7b = _pooled_by(tv.InceptionE, _average)(1280)
        net.Mixed_7c = _pooled_by(tv.InceptionE, _maximum)(2048)
        net.dropout, net.fc = nn.Identity(), nn.Identity()
        self.net = net

    def load(self, weights: dict[str, Tensor]) -> None:
        """Weights under torchvision's names, as every PyTorch port has them; the classifier is not needed."""
        self.net.load_state_dict(
            {k: v for k, v in weights.items() if not k.startswith(("fc.", "AuxLogits."))}
        )

    def forward(self, pixels: Tensor) -> Tensor:
        return self.net((pixels - 128) / 128)


def load_inception(path: str) -> Inception2015:
    """From a state-dict file: .safetensors, or .pth, which is read with weights_only=True."""
    model = Inception2015()
    if path.endswith(".safetensors"):
        model.load(load_file(path))
    else:
        model.load(torch.load(path, map_location="cpu", weights_only=True))
    return model.eval()

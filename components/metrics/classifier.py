"""A breed classifier of its own, to judge generated images. It sees the training split and nothing else.

It is not the CLIP model that filtered the data: a judge that also chose the training images would agree with
itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from components.metrics.resize import resize_bicubic


@dataclass(frozen=True)
class ClassifierOptions:
    """Small by design: at 32 px it learns 8 synthetic breeds in half a minute on one core.

    The steps decide how good a judge it is: of held-out photos of the demo it named .85 after 300, .945 after
    600 steps (mean of two seeds).
    """

    size_px: int = 32
    width: int = 32
    epochs: int = 12
    batch: int = 64
    min_steps: int = 600
    learning_rate: float = 3e-3
    weight_decay: float = 1e-2


class BreedNet(nn.Module):
    """Three convolution stages of 1x, 2x, 4x `width`, global mean, linear. (B, 3, S, S) -> (B, breeds)."""

    def __init__(self, breeds: int, width: int) -> None:
        super().__init__()
        widths = (3, width, 2 * width, 4 * width)
        stages = []
        for before, after in pairwise(widths):
            stages += [
                nn.Conv2d(before, after, 3, padding=1, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(),
                nn.MaxPool2d(2),
            ]
        self.stages = nn.Sequential(*stages)
        self.last = nn.Conv2d(widths[-1], widths[-1], 3, padding=1)
        self.head = nn.Linear(widths[-1], breeds)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(functional.relu(self.last(self.stages(x))).mean((2, 3)))


class BreedClassifier:
    """A trained classifier: `predict(images) -> (N,) int64` and `probabilities(images) -> (N, breeds)`."""

    def __init__(self, net: BreedNet, breeds: int, options: ClassifierOptions) -> None:
        self.net, self.breeds, self.options = net.eval(), breeds, options

    @torch.no_grad()
    def probabilities(self, images: np.ndarray) -> np.ndarray:
        """(N, H, W, 3) uint8 -> (N, breeds) float32."""
        blocks = [
            self.net(_inputs(images[i : i + 256], self.options.size_px)).softmax(1).numpy()
            for i in range(0, len(images), 256)
        ]
        return np.concatenate(blocks) if blocks else np.empty((0, self.breeds), np.float32)

    def predict(self, images: np.ndarray) -> np.ndarray:
        return self.probabilities(images).argmax(1)


def _inputs(images: np.ndarray, size_px: int) -> Tensor:
    return resize_bicubic(images, size_px) / 127.5 - 1


def train_classifier(
    images: np.ndarray, labels: np.ndarray, breeds: int, seed: int, options: ClassifierOptions | None = None
) -> BreedClassifier:
    """Train on (N, H, W, 3) uint8 and (N,) labels in [0, breeds); equal seeds give equal classifiers.

    Augments by flips, shifts of up to an eighth, a small change of brightness and contrast, and by blur and
    noise: drawn pictures are softer or grainier than photos, and a judge that never saw either took every
    blurred photo of one breed for another. One cycle of the learning rate; AdamW; at least `min_steps` steps,
    so that a handful of images is enough.
    """
    options = options or ClassifierOptions()
    labels = np.asarray(labels, np.int64)
    if not len(images) or len(images) != len(labels) or labels.min() < 0 or labels.max() >= breeds:
        raise ValueError(
            f"{len(images)} images and {len(labels)} labels in 0..{breeds - 1} are needed, one each"
        )
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):  # layers draw their start from the global generator
        torch.manual_seed(seed)
        net = BreedNet(breeds, options.width)
    net.train()
    inputs, targets = _inputs(images, options.size_px), torch.from_numpy(labels)
    steps = max(options.min_steps, options.epochs * -(-len(inputs) // options.batch))
    optimizer = torch.optim.AdamW(net.parameters(), options.learning_rate, weight_decay=options.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.learning_rate, total_steps=steps + 1)
    for rows in _minibatches(len(inputs), options.batch, steps, generator):
        logits = net(_augmented(inputs[rows], generator))
        loss = functional.cross_entropy(logits, targets[rows], label_smoothing=0.05)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
    return BreedClassifier(net, breeds, options)


def _minibatches(count: int, batch: int, steps: int, generator: torch.Generator) -> Iterator[Tensor]:
    done = 0
    while True:
        for rows in torch.randperm(count, generator=generator).split(batch):
            if done == steps:
                return
            done += 1
            yield rows


def _augmented(x: Tensor, generator: torch.Generator) -> Tensor:
    batch, _, size, _ = x.shape
    flip = torch.rand(batch, 1, 1, 1, generator=generator) < 0.5
    x = torch.where(flip, x.flip(3), x)
    reach = size // 8
    dx, dy = torch.randint(0, 2 * reach + 1, (2,), generator=generator).tolist()
    x = functional.pad(x, (reach,) * 4, mode="replicate")[:, :, dy : dy + size, dx : dx + size]
    if torch.rand(1, generator=generator) < 0.5:
        x = functional.avg_pool2d(functional.pad(x, (1, 1, 1, 1), mode="replicate"), 3, 1)
    noise = 0.12 * torch.rand(batch, 1, 1, 1, generator=generator)
    x = x + noise * torch.randn(x.shape, generator=generator)
    gain = 1 + 0.2 * (torch.rand(batch, 1, 1, 1, generator=generator) - 0.5)
    offset = 0.2 * (torch.rand(batch, 1, 1, 1, generator=generator) - 0.5)
    return x * gain + offset


@dataclass(frozen=True)
class BreedAccuracy:
    """top1 over all images; per_breed: breed -> accuracy; confusion[i, j]: images of breed i taken for j."""

    top1: float
    per_breed: dict[int, float]
    confusion: np.ndarray


def breed_accuracy(predicted: np.ndarray, wanted: np.ndarray, breeds: int) -> BreedAccuracy:
    """Compare predicted with wanted breeds, both (N,), N > 0. Breeds without an image are left out."""
    if len(predicted) != len(wanted) or not len(wanted):
        raise ValueError(
            f"{len(predicted)} predictions and {len(wanted)} breeds do not match, or there are none"
        )
    confusion = np.zeros((breeds, breeds), np.int64)
    np.add.at(confusion, (np.asarray(wanted), np.asarray(predicted)), 1)
    rows = confusion.sum(1)
    per_breed = {
        breed: float(confusion[breed, breed] / rows[breed]) for breed in range(breeds) if rows[breed]
    }
    return BreedAccuracy(float(np.trace(confusion) / len(wanted)), per_breed, confusion)

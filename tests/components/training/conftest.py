"""A tiny model and a tiny set of rows for the training tests."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from components.model.autoencoder import pixels_to_samples
from components.model.flow_model import FlowModel
from components.model.network import NetworkConfig
from components.model.text import UpperText
from components.model.unet import FlowUNet
from components.training.batches import Batch

CONFIG = NetworkConfig(
    preset="test",
    size_px=8,
    patch=1,
    widths=(8, 16),
    attention=(False, True),
    heads=2,
    text_width=16,
    num_breeds=3,
)
TEXT = {"context_length": 8, "vocab_size": 16, "width": 16, "heads": 2, "layers": 2}


class TinyRows:
    """11 rows of 8 px noise pictures; texts of 2 to 5 tokens; remembers which rows were asked for."""

    def __init__(self, count=11):
        g = torch.Generator().manual_seed(0)
        self.images = torch.randint(0, 256, (count, 8, 8, 3), generator=g, dtype=torch.uint8)
        self.hidden = torch.randn(count, 5, 16, generator=g)
        self.lengths = 2 + torch.arange(count) % 4
        self.breeds = torch.arange(count) % 3
        self.tiers = np.where(np.arange(count) % 2, 1, 0).astype(np.int8)
        self.null_text = torch.randn(2, 16, generator=g)
        self.seen: list[list[int]] = []

    def __len__(self):
        return len(self.images)

    @property
    def breed(self):
        return self.breeds.numpy()

    def load(self, indices):
        self.seen.append(indices.tolist())
        rows = torch.from_numpy(indices)
        length = int(self.lengths[rows].max())
        mask = torch.arange(length) < self.lengths[rows][:, None]
        return Batch(
            pixels_to_samples(self.images[rows]), self.hidden[rows, :length], mask, self.breeds[rows]
        )


def build_model(seed=0, **changes):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return FlowModel(FlowUNet(replace(CONFIG, **changes)), UpperText(TEXT))


@pytest.fixture
def rows():
    return TinyRows()


@pytest.fixture
def model():
    return build_model()


@pytest.fixture
def new_model():
    return build_model


@pytest.fixture
def new_rows():
    return TinyRows

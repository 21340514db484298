import os

import pytest
import torch

from components.data.artifacts import ModelManifest
from components.data.storage import open_store
from components.model.checkpoint import (
    CheckpointError,
    load_model,
    load_weights,
    save_weights,
    state_from_bytes,
    state_to_bytes,
    tensors_from_bytes,
    tensors_to_bytes,
)
from components.model.ema import Ema
from components.model.flow_model import FlowModel
from components.model.network import NetworkConfig
from components.model.text import UpperText
from components.model.unet import FlowUNet

TEXT = {"context_length": 8, "vocab_size": 16, "width": 16, "heads": 2, "layers": 2}
CONFIG = NetworkConfig(
    preset="test",
    size_px=8,
    patch=1,
    widths=(8, 16),
    attention=(False, True),
    layers=1,
    heads=2,
    text_width=16,
    num_breeds=2,
)


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path / "store"))


def model_manifest(model, stored):
    return ModelManifest(
        name="dogs",
        id="0" * 16,
        step="training",
        parents=["d0"],
        code_version="c0",
        options={},
        files=stored,
        details={"description": model.describe()},
    )


def test_tensors_and_state_come_back_from_their_bytes():
    tensors = {"w": torch.full((3,), 1.5), "half": torch.tensor([1e-8]).bfloat16()}
    back = tensors_from_bytes(tensors_to_bytes(tensors))
    assert back.keys() == tensors.keys() and all(torch.equal(back[name], tensors[name]) for name in tensors)
    state = {"step": 7, "nested": [{"a": torch.arange(3)}], "rng": torch.Generator().get_state()}
    again = state_from_bytes(state_to_bytes(state))
    assert again["step"] == 7 and torch.equal(again["nested"][0]["a"], torch.arange(3))
    assert torch.equal(again["rng"], state["rng"])


def test_state_that_would_run_code_is_refused():
    class Evil:
        def __reduce__(self):
            return (os.system, ("false",))

    with pytest.raises(Exception, match=r"[Ww]eights"):
        state_from_bytes(state_to_bytes({"x": Evil()}))


def test_a_model_returns_with_raw_or_averaged_weights(store):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = FlowModel(FlowUNet(CONFIG), UpperText(TEXT)).to(memory_format=torch.channels_last)
    ema = Ema(model)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(1.0)
    manifest = model_manifest(model, save_weights(store, "dogs/models/m0", model, ema))
    manifest = ModelManifest.from_bytes(manifest.to_bytes(), "test")
    raw, averaged = load_model(store, manifest, averaged=False), load_model(store, manifest)
    for name, value in model.named_parameters():
        assert torch.equal(raw.get_parameter(name), value)
        assert torch.equal(averaged.get_parameter(name), ema.shadow[name])
    assert not averaged.training


def test_weights_that_do_not_fit_are_refused_by_tensor_name(store):
    net = torch.nn.Linear(2, 2)
    with pytest.raises(CheckpointError, match=r"bias is None, needed \(2,\)"):
        load_weights(net, {"weight": torch.ones(2, 2)}, "a.safetensors")
    with pytest.raises(CheckpointError, match=r"weight is \(3, 2\)"):
        load_weights(net, {"weight": torch.ones(3, 2), "bias": torch.ones(2)}, "a.safetensors")

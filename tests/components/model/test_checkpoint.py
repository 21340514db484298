import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from components.data.artifacts import ModelManifest
from components.data.storage import open_store
from components.model.checkpoint import (
    CheckpointError,
    Checkpoints,
    load_model,
    load_weights,
    save_weights,
    state_from_bytes,
    state_to_bytes,
    tensors_to_bytes,
    write_file,
)
from components.model.ema import Ema
from components.model.flow_model import FlowModel
from components.model.text import UpperText
from components.model.unet import FlowUNet, NetworkConfig

ROOT = Path(__file__).resolve().parents[3]
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


def files(value):
    return {"network.safetensors": tensors_to_bytes({"w": torch.full((3,), float(value))})}


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


def test_what_was_saved_is_read_back(store):
    state = {"step": 7, "nested": [{"a": torch.arange(3)}], "rng": torch.Generator().get_state()}
    checkpoints = Checkpoints(store, "run/a")
    checkpoints.save(7, files(1.5) | {"state.pt": state_to_bytes(state)}, {"epoch": 2})
    found = Checkpoints(store, "run/a").newest()
    assert found is not None and found.step == 7 and found.about == {"epoch": 2}
    assert torch.equal(found.tensors("network.safetensors")["w"], torch.full((3,), 1.5))
    assert torch.equal(found.state("state.pt")["nested"][0]["a"], torch.arange(3))


def test_no_checkpoint_is_none_and_only_the_newest_are_kept(store):
    checkpoints = Checkpoints(store, "run/a", keep=2)
    assert checkpoints.newest() is None
    for step in (10, 20, 30):
        checkpoints.save(step, files(step), {})
    assert checkpoints.steps() == [30, 20]
    assert not list(store.list("run/a/step-000000010/"))
    checkpoints.clear()
    assert not list(store.list("run/a/"))


@pytest.mark.parametrize("damage", ["flip", "truncate", "delete", "manifest"])
def test_a_damaged_newest_checkpoint_is_skipped_with_a_warning(store, damage):
    checkpoints = Checkpoints(store, "run/a")
    checkpoints.save(10, files(10), {})
    checkpoints.save(20, files(20), {})
    paths = [entry.path for entry in store.list("run/a/step-000000020/")]
    weights = next(path for path in paths if path.endswith(".safetensors"))
    data = store.read(weights)
    if damage == "flip":
        store.write(weights, data[:-1] + bytes([data[-1] ^ 1]))
    elif damage == "truncate":
        store.write(weights, data[:-8])
    elif damage == "delete":
        store.delete(weights)
    else:
        store.write("run/a/step-000000020/manifest.json", b"{")
    with pytest.warns(RuntimeWarning, match="step 20 is skipped"):
        found = checkpoints.newest()
    assert found is not None and found.step == 10


@pytest.mark.filterwarnings("ignore:checkpoint of step:RuntimeWarning")
def test_saving_again_at_the_step_of_a_damaged_checkpoint_repairs_it(store):
    checkpoints = Checkpoints(store, "run/a")
    checkpoints.save(10, files(10), {})
    weights = next(e.path for e in store.list("run/a/") if e.path.endswith(".safetensors"))
    store.write(weights, store.read(weights)[::-1])  # same size, other bytes
    assert checkpoints.newest() is None
    checkpoints.save(10, files(10), {})
    found = checkpoints.newest()
    assert found is not None and found.step == 10


WRITER = """
import sys, torch
from components.data.storage import open_store
from components.model.checkpoint import Checkpoints, state_to_bytes
c = Checkpoints(open_store(sys.argv[1]), "run/a")
for step in (10, 20):
    c.save(step, {"a.pt": state_to_bytes(step), "b.pt": state_to_bytes(-step)}, {})
"""


@pytest.mark.parametrize(
    ("point", "newest"),
    [
        ("checkpoint.file:4", 10),
        ("checkpoint.before:2", 10),
        ("checkpoint.after:2", 20),
    ],
)
def test_a_kill_at_any_point_leaves_a_whole_checkpoint(tmp_path, point, newest):
    environment = {**os.environ, "DOGFLOW_KILL_AT": point, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WRITER, str(tmp_path / "store")]
    killed = subprocess.run(command, env=environment, cwd=ROOT, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL
    found = Checkpoints(open_store(str(tmp_path / "store")), "run/a").newest()
    assert found is not None and found.step == newest
    assert (found.state("a.pt"), found.state("b.pt")) == (newest, -newest)


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


def test_equal_content_has_one_name_and_other_content_another(store):
    first, again = (write_file(store, "m", "network.safetensors", b"abc") for _ in range(2))
    other = write_file(store, "m", "network.safetensors", b"abd")
    assert first == again and first.path.startswith("m/network-") and other.path != first.path

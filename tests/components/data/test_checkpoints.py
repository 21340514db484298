import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from components.data.checkpoints import Checkpoints
from components.data.storage import open_store

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path / "store"))


def files(value):
    return {"network.safetensors": b"weights of %d" % value}


def test_what_was_saved_is_read_back(store):
    checkpoints = Checkpoints(store, "run/a")
    checkpoints.save(7, files(1) | {"state.pt": b"state"}, {"epoch": 2})
    found = Checkpoints(store, "run/a").newest()
    assert found is not None and found.step == 7 and found.about == {"epoch": 2}
    assert found.files == files(1) | {"state.pt": b"state"}


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
import sys
from components.data.storage import open_store
from components.data.checkpoints import Checkpoints
c = Checkpoints(open_store(sys.argv[1]), "run/a")
for step in (10, 20):
    c.save(step, {"a.pt": b"a%d" % step, "b.pt": b"b%d" % step}, {})
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
    environment = {**os.environ, "DOGFLOW_KILL_AT": point, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", WRITER, str(tmp_path / "store")]
    killed = subprocess.run(command, env=environment, cwd=ROOT, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL
    found = Checkpoints(open_store(str(tmp_path / "store")), "run/a").newest()
    assert found is not None and found.step == newest
    assert found.files == {"a.pt": b"a%d" % newest, "b.pt": b"b%d" % newest}

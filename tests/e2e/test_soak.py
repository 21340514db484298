"""Many kills at random moments, of the steps and of the S3 server: the result is the undisturbed one."""

import os
import signal
import time
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest

from components.data.storage import open_store
from pipelines.store.ports import taken_ports
from pipelines.store.server import BUCKET, StoreInfo, down, environment, up

SEED = int(os.environ.get("DOGFLOW_SOAK_SEED", "20"))  # another seed, other moments
MOST_STARTS = 60
SERVER_DIES_AT = 3  # start


@pytest.fixture
def own_server(tmp_path, monkeypatch):
    """A server that this test may kill."""
    home = tmp_path / "embedded"
    info = up(home)
    for name, value in environment(info).items():
        monkeypatch.setenv(name, value)
    yield home, info
    down(home)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_killed_at_random_moments_the_whole_chain_ends_as_if_undisturbed(
    own_server, steps, whole_chain, undisturbed, check
):
    home, info = own_server
    uri = f"s3://{BUCKET}/soak"
    rng = np.random.default_rng(SEED)
    longest_s, kills = 1.0, 0
    for start in range(MOST_STARTS):
        process = steps.start(uri, whole_chain, flush_every_s=0.2)
        if start == SERVER_DIES_AT:
            info = bounce(home, info, process)
        deadline = time.monotonic() + rng.uniform(0.1, longest_s)
        while process.is_running() and time.monotonic() < deadline:
            time.sleep(0.01)
        if process.is_running():
            process.kill()
        ended = process.wait()
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL, ended.log
        check.verify_root(uri)
        kills += 1
        longest_s *= 1.2  # on a busy machine, too, there is an end
    else:
        pytest.fail(f"not done after {MOST_STARTS} starts:\n{ended.log}")
    print(f"{kills} kills of the steps, one of the server")
    assert kills > SERVER_DIES_AT, "the seed kills too seldom to prove anything"
    for step in whole_chain:
        check.same(uri, ended.paths[step.name], undisturbed, step.name)
    assert_scored_once(uri)


def bounce(home, info: StoreInfo, process) -> StoreInfo:
    """Kill the server while the chain runs, and start it again, on the same port."""
    while not process.log() and process.is_running():
        time.sleep(0.01)  # until the chain has begun
    os.kill(info.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while taken_ports(info.port) and time.monotonic() < deadline:
        time.sleep(0.005)  # its threads close their sockets some milliseconds after the process is gone
    again = up(home)
    assert again.port == info.port
    assert again.pid != info.pid
    return again


def assert_scored_once(uri: str) -> None:
    """No picture that was in the score cache was scored again, however often the steps died."""
    store = open_store(uri)
    filesystem, root = store.filesystem()
    for step in ("similarity", "foreground"):
        keys: Counter[str] = Counter()
        for entry in store.list(f"scores/{step}/"):
            table = pq.read_table(f"{root}/{entry.path}", columns=["key"], filesystem=filesystem)
            keys.update(table.column("key").to_pylist())
        assert set(keys.values()) == {1}, step

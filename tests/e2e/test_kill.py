"""kill -9 at every named point of every step, then the same command: same id, same content, little redone.

A step is killed again and again, each time further on, until it is through; what lies in storage is checked
after every death. So each point is met on a fresh root and on one that other deaths have left behind.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from components.data.artifacts import ModelManifest
from components.data.killpoints import KILL_AT
from components.data.manifest import DatasetManifest, Receipt
from components.data.storage import open_store
from pipelines.runners.bare import read_manifest

ROOT = Path(__file__).resolve().parents[2]

# Five shards and a merged file: point and passing at which each run in turn dies.
SHARDS = [
    "shard.before:1",  # nothing is done
    "shard.after:1",  # a file without a receipt
    "receipt.after:1",  # one shard is done
    "receipt.after:2",  # three
    "shard.before:2",  # four
    "shard.after:2",  # all, and the merged file lies there without a receipt
    "manifest.before:1",
    "manifest.after:1",
]
WHOLE = ["shard.before:1", "shard.after:1", "receipt.after:1", "manifest.before:1", "manifest.after:1"]
CACHED = ["cache.before:3", "cache.after:2", *SHARDS]
FILES = ["manifest.before:1", "manifest.after:1"]
TRAINING = [
    "training.step:1",  # no checkpoint yet
    "checkpoint.file:1",
    "training.step:3",  # one step after the checkpoint of step 2
    "checkpoint.file:2",
    "checkpoint.before:1",
    "checkpoint.after:1",  # the checkpoint of step 4 is there
    "training.step:1",
    *FILES,
]
KILLS: dict[str, list[str]] = {
    "ingest": SHARDS,
    "captions": SHARDS,
    "quality": SHARDS,
    "duplicates": WHOLE,
    "similarity": CACHED,
    "foreground": CACHED,
    "prompts": SHARDS,
    "selection": WHOLE,
    "encoding": ["shard.before:1", "receipt.after:3", "shard.after:3", "receipt.after:2", *FILES],
    "initialization": FILES,
    "training": TRAINING,
    "sampling": FILES,
    "evaluation": FILES,
    "report": FILES,
}
# Steps whose storage is also a real S3 server; the soak runs all of them there.
ON_S3 = ("ingest", "similarity", "training")
# Distinct pictures that can be decoded.
PICTURES = 32


def test_every_kill_point_of_the_source_is_met_below():
    named = {
        point
        for path in [*ROOT.glob("components/**/*.py"), *ROOT.glob("pipelines/**/*.py")]
        for point in re.findall(r"killpoint\(\s*[\"']([^\"']+)[\"']", path.read_text())
    }
    assert named == {kill.partition(":")[0] for kills in KILLS.values() for kill in kills}


def test_every_step_is_killed(whole_chain):
    folders = {path.parent.name for path in ROOT.glob("components/*/step.py")}
    assert folders - set(KILLS) == {"opening"}  # it writes nothing
    assert [step.name for step in whole_chain] == list(KILLS)


CASES = [(step, "file") for step in KILLS] + [(step, "s3") for step in ON_S3]


@pytest.mark.parametrize(("step", "storage"), CASES, ids=[f"{step}-{where}" for step, where in CASES])
def test_killed_at_every_point_a_step_ends_as_if_undisturbed(
    step, storage, request, tmp_path, steps, whole_chain, undisturbed, root_before, check
):
    if storage == "file":
        uri = (tmp_path / "root").as_uri()
    else:
        request.getfixturevalue("s3_env")
        uri = f"s3://dogflow/kill-{step}"
    root_before(step, uri)
    command = [each for each in whole_chain if each.name == step]
    done = undisturbed.paths
    for kill in KILLS[step]:
        before = finished(uri)
        died = steps.run(uri, command, done=done, environment=environment(kill), flush_every_s=0)
        assert died.returncode == -signal.SIGKILL, f"{kill}: {died.log}"
        check.verify_root(uri)
        assert_untouched(before, finished(uri), kill)
    cached = len(cached_keys(uri, step))
    before = finished(uri)
    ended = steps.must(uri, command, done=done, environment=environment(""), flush_every_s=0)
    assert_untouched(before, finished(uri), "the last run")
    check.same(uri, ended.paths[step], undisturbed, step)
    if step in ("similarity", "foreground"):
        assert cached == PICTURES
        assert set(cached_keys(uri, step).values()) == {1}, "a cached picture was scored again"
    if step == "training":
        assert_log_is_whole(uri, ended.paths[step])


@pytest.mark.parametrize("step", ["similarity", "foreground"])
def test_after_a_kill_only_pictures_that_were_not_flushed_are_scored_again(
    step, tmp_path, steps, whole_chain, undisturbed, root_before
):
    uri = (tmp_path / "root").as_uri()
    root_before(step, uri)
    command = [each for each in whole_chain if each.name == step]
    died = steps.run(
        uri, command, done=undisturbed.paths, environment=environment("cache.before:21"), flush_every_s=0
    )
    assert died.returncode == -signal.SIGKILL
    assert len(cached_keys(uri, step)) == 20
    ended = steps.must(uri, command, done=undisturbed.paths, flush_every_s=0)
    said = {
        "similarity": r"(\d+) pictures embedded",
        "foreground": r"foreground: (\d+) of \d+ rows to segment",
    }
    assert re.search(said[step], ended.log)[1] == str(PICTURES - 20)  # type: ignore[index]


@pytest.mark.slow
def test_the_command_line_itself_dies_and_goes_on(tmp_path, undisturbed, root_before, check):
    uri = (tmp_path / "root").as_uri()
    root_before("captions", uri)
    command = [sys.executable, "-m", "pipelines.cli", "step", "captions", "--json", "--data-root", uri]
    command += ["--manifest", undisturbed.paths["ingest"]]
    killed = {**os.environ, KILL_AT: "receipt.after:2"}
    died = subprocess.run(command, env=killed, cwd=ROOT, capture_output=True, timeout=120, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    check.verify_root(uri)
    again = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=False)
    assert again.returncode == 0, again.stderr.decode()
    made = DatasetManifest.from_bytes(again.stdout, "stdout")
    assert made.content_digest == undisturbed.manifest("captions").content_digest
    assert made == read_manifest(made.path, uri)


def environment(kill: str) -> dict[str, str]:
    return {KILL_AT: kill}


def finished(uri: str) -> dict[str, object]:
    """When the files that receipts name, and the segments of the score cache, were written."""
    store = open_store(uri)
    entries = {entry.path: entry for entry in store.list("")}
    receipts = [path for path in entries if "/part-" in path and path.endswith(".json")]
    paths = [Receipt.model_validate_json(store.read(path)).file.path for path in receipts]
    paths += [path for path in entries if path.startswith("scores/")]
    return {path: (entries[path].modified, entries[path].size) for path in [*receipts, *paths]}


def assert_untouched(before: dict[str, object], after: dict[str, object], what: str) -> None:
    """What was done before a run is not written again by it."""
    assert {path: after.get(path) for path in before} == before, what


def cached_keys(uri: str, step: str) -> Counter[str]:
    """How often each picture was put into the score cache."""
    import pyarrow.parquet as pq

    store = open_store(uri)
    filesystem, root = store.filesystem()
    keys: Counter[str] = Counter()
    for entry in store.list(f"scores/{step}/"):
        table = pq.read_table(f"{root}/{entry.path}", columns=["key"], filesystem=filesystem)
        keys.update(table.column("key").to_pylist())
    return keys


def assert_log_is_whole(uri: str, path: str) -> None:
    """The log of the model has every step once, though each run had another local folder."""
    model = read_manifest(path, uri)
    assert isinstance(model, ModelManifest)
    lines = open_store(uri).read(model.files["log"].path).decode().splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["step"] for record in records if "loss" in record] == [1, 2, 3, 4, 5, 6]
    assert [record["step"] for record in records if "validation_loss" in record] == [6]
    assert list(open_store(uri).list(f"{model.name}/checkpoints/")) == []

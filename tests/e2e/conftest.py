"""The whole chain of steps on a tiny set and tiny models, in processes that a test can kill."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from components.data.artifacts import FilesManifest
from components.data.manifest import DatasetManifest, Manifest, Receipt, sha256_hex
from components.data.schema import FLOAT_BLOBS
from components.data.shards import read_file, verify_file
from components.data.storage import Store, open_store
from components.data.task import load_manifest
from pipelines.demo.dataset import make_dataset
from pipelines.runners.bare import read_manifest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BREEDS = ("golden_retriever", "labrador_retriever", "pembroke", "pug")
SHARD_ROWS = 8
TOLERANCE = 1e-6
ENDS_WITHIN_S = 400  # a chain takes seconds; several test sessions may share the cores

CLIP = {
    "embed_dim": 32,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}
SAM = {
    "image_size": 64,
    "patch_size": 8,
    "encoder_embed_dim": 32,
    "encoder_depth": 2,
    "encoder_num_heads": 2,
    "encoder_global_attn_indexes": [1],
    "window_size": 4,
    "prompt_embed_dim": 32,
    "decoder_depth": 1,
    "decoder_num_heads": 2,
    "decoder_mlp_dim": 64,
    "iou_head_depth": 2,
    "iou_head_hidden_dim": 32,
    "mask_in_chans": 4,
    "pixel_mean": [123.675, 116.28, 103.53],
    "pixel_std": [58.395, 57.12, 57.375],
}


@dataclass(frozen=True)
class Step:
    """One step of a chain. `inputs` are names of earlier ones; `alias` names it when it comes twice."""

    name: str
    inputs: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    partition: int = -1
    partitions: int = 1
    alias: str = ""

    @property
    def key(self) -> str:
        """What later steps call it."""
        return self.alias or self.name

    def record(self) -> dict[str, Any]:
        """As steps_process.py reads it."""
        return {
            "name": self.name,
            "as": self.key,
            "inputs": list(self.inputs),
            "options": dict(self.options),
            "partition": self.partition,
            "partitions": self.partitions,
        }


@dataclass(frozen=True)
class Ended:
    """How a process ended: its returncode, what it printed, and by step the manifests it made.

    `paths` say where they lie in storage, `sha256` are of the manifests that the steps returned.
    """

    returncode: int
    log: str
    paths: dict[str, str]
    sha256: dict[str, str]


class Process:
    """A chain that runs."""

    def __init__(self, steps: "Steps", pid: int, chain: Mapping[str, Any]):
        self._steps, self.pid, self._chain = steps, pid, chain

    def kill(self) -> None:
        """SIGKILL. One that has ended just before is fine: it is not reaped yet."""
        os.kill(self.pid, signal.SIGKILL)

    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._steps.ask({"poll": self.pid})["returncode"] is None

    def wait(self) -> Ended:
        """Wait for its end, at most ENDS_WITHIN_S seconds."""
        deadline = time.monotonic() + ENDS_WITHIN_S
        while self.is_running():
            if time.monotonic() > deadline:
                self.kill()
                pytest.fail(f"a chain did not end:\n{self.log()}")
            time.sleep(0.01)
        code = self._steps.ask({"wait": self.pid})["returncode"]
        result = Path(self._chain["result"])
        made = json.loads(result.read_text()) if result.is_file() else {"paths": {}, "sha256": {}}
        return Ended(code, self.log(), made["paths"], made["sha256"])

    def log(self) -> str:
        """What it has printed so far."""
        path = Path(self._chain["log"])
        # A process that has just been started has not opened it yet.
        return path.read_text(errors="replace") if path.exists() else ""


class Steps:
    """Starts chains of steps, each in a process of its own."""

    def __init__(self, folder: Path):
        self._folder, self._count = folder, 0
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        self._server = subprocess.Popen(
            [sys.executable, str(HERE / "steps_process.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=environment,
            text=True,
        )
        assert self._answer() == {"ready": True}

    def ask(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """One command to the process that forks."""
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(command) + "\n")
        self._server.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._server.stdout is not None
        return json.loads(self._server.stdout.readline())

    def start(
        self,
        data_root: str,
        steps: Sequence[Step],
        *,
        done: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        flush_every_s: float | None = None,
    ) -> Process:
        """Start the steps; `done` are the paths of manifests of steps before them."""
        self._count += 1
        chain = {
            "data_root": data_root,
            "steps": [step.record() for step in steps],
            "done": dict(done or {}),
            "environment": {
                "DOGFLOW_HOME": str(self._folder / f"home-{self._count}"),
                **{name: value for name, value in os.environ.items() if name.startswith("AWS_")},
                **(environment or {}),
            },
            "flush_every_s": flush_every_s,
            "result": str(self._folder / f"{self._count}.json"),
            "log": str(self._folder / f"{self._count}.log"),
        }
        return Process(self, self.ask({"start": chain})["pid"], chain)

    def run(self, data_root: str, steps: Sequence[Step], **arguments: Any) -> Ended:
        """Start the steps and wait."""
        return self.start(data_root, steps, **arguments).wait()

    def must(self, data_root: str, steps: Sequence[Step], **arguments: Any) -> Ended:
        """Like `run`, for steps that have to succeed."""
        ended = self.run(data_root, steps, **arguments)
        assert ended.returncode == 0, ended.log
        return ended

    def close(self) -> None:
        """End the process that forks, and what it started."""
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.close()
        self._server.stdout.read()  # ends when it has ended its children
        self._server.stdout.close()
        self._server.kill()
        self._server.wait()


@pytest.fixture(scope="session")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Steps]:
    """The starter of processes."""
    made = Steps(tmp_path_factory.mktemp("processes"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders of a tiny CLIP and a tiny SAM with random weights."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    from components.model.sam import build_sam, save_sam

    folder = tmp_path_factory.mktemp("models")
    (folder / "clip").mkdir()
    (folder / "clip/open_clip_config.json").write_text(json.dumps({"model_cfg": CLIP, "preprocess_cfg": {}}))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        state = open_clip.CLIP(**CLIP).state_dict()
        sam = build_sam(SAM)
    save_file({k: v.contiguous() for k, v in state.items()}, folder / "clip/open_clip_model.safetensors")
    save_sam(sam, SAM, folder / "sam")
    return {"clip": str(folder / "clip"), "sam": str(folder / "sam")}


@pytest.fixture(scope="session")
def photo_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """35 photos of four breeds: 32 good ones, an exact copy, a cut-off file and one that is no picture."""
    folder = make_dataset(
        tmp_path_factory.mktemp("photos") / "set",
        seed=3,
        clean_per_breed=8,
        defect_share=0,
        breeds=BREEDS,
    )
    pug = sorted((folder / "images/pug").glob("*.jpg"))
    (folder / "images/pug/zz_copy.jpg").write_bytes(pug[0].read_bytes())
    (folder / "images/pug/zz_cut.jpg").write_bytes(pug[1].read_bytes()[:900])
    (folder / "images/pembroke/zz_text.jpg").write_bytes(b"this is no picture")
    shutil.rmtree(folder / "masks")
    (folder / "truth.jsonl").unlink()
    return folder


@pytest.fixture
def photos(photo_source: Path, tmp_path: Path) -> Path:
    """A copy of the set that a test may change."""
    return Path(shutil.copytree(photo_source, tmp_path / "photos"))


def curation(source: Path | str, models: Mapping[str, str], **changes: Mapping[str, Any]) -> list[Step]:
    """All steps from photos to selection; `changes` are options by step."""
    options: dict[str, dict[str, Any]] = {
        "ingest": {"source": str(source), "shard_rows": SHARD_ROWS},
        "captions": {},
        "quality": {"workers": 1},
        "duplicates": {"val_fraction": 0.1, "test_fraction": 0.2},
        "similarity": {"model": models["clip"], "breeds": list(BREEDS), "workers": 1, "dtype": "fp32"},
        "foreground": {"model": models["sam"], "workers": 1, "dtype": "fp32"},
        "prompts": {},
        "selection": {
            "min_side_px": 128,
            "laplacian_variance": 1.0,
            "color_shift": 1.0,
            "clip_similarity": -1.0,
            "foreground_ratio": 0.0,
        },
    }
    before: tuple[str, ...] = ()
    chain = []
    for name, values in options.items():
        chain.append(Step(name, before, {**values, **changes.get(name, {})}))
        before = (name,)
    return chain


def training(models: Mapping[str, str]) -> list[Step]:
    """The steps from selection to the report, on the network that steps_process.py adds to the presets."""
    stage = {"steps": 6, "batch": 4, "micro_batch": 4, "warmup": 2, "learning_rate": 1e-3}
    scored = {"extractor": "demo", "kid_subsets": 2, "floor_splits": 2, "classifier_epochs": 1}
    return [
        Step("encoding", ("selection",), {"size_px": 16, "text_model": models["clip"], "workers": 1}),
        Step("initialization", ("encoding",), {"preset": "tiny", "text_model": models["clip"]}),
        Step("training", ("encoding", "initialization"), {**stage, "checkpoint_every": 2, "log_every": 1}),
        Step("sampling", ("encoding", "training"), {"per_breed": 2, "steps": 2}),
        Step("evaluation", ("encoding", "sampling"), {**scored, "extractor_weights": models["clip"]}),
        Step("report", ("selection", "evaluation"), {"photos_per_side": 1, "workers": 1}),
    ]


@pytest.fixture(scope="session")
def whole_chain(photo_source: Path, models: dict[str, str]) -> list[Step]:
    """Every step, from the photos to samples of a trained model."""
    return [*curation(photo_source, models), *training(models)]


@dataclass(frozen=True)
class Undisturbed:
    """A data root in which the whole chain has run without disturbance."""

    uri: str
    paths: dict[str, str]

    def manifest(self, step: str) -> Manifest:
        """What a step made."""
        return read_manifest(self.paths[step], self.uri)


@pytest.fixture(scope="session")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, steps: Steps, whole_chain: list[Step]
) -> Undisturbed:
    """The truth that every disturbed run is compared with."""
    uri = (tmp_path_factory.mktemp("undisturbed") / "root").as_uri()
    return Undisturbed(uri, steps.must(uri, whole_chain).paths)


@pytest.fixture(scope="session")
def root_before(undisturbed: Undisturbed) -> Callable[[str, str], None]:
    """Fills a data root with what the steps before a given one have made."""
    return lambda step, uri: copy_before(undisturbed, step, uri)


def copy_before(undisturbed: Undisturbed, step: str, uri: str) -> None:
    """Copy the objects of all steps that run before `step`, and of no other."""
    source, target = open_store(undisturbed.uri), open_store(uri)
    order = list(undisturbed.paths)
    for name in order[: order.index(step)]:
        manifest = undisturbed.manifest(name)
        wanted = {path for path, _ in manifest.data_files()}
        folders = {path.rpartition("/")[0] for path in wanted}
        receipts = {
            entry.path for folder in folders for entry in source.list(folder) if entry.path.endswith(".json")
        }
        for path in [*sorted(wanted | receipts), manifest.path]:
            target.create(path, source.read(path))


def verify_root(uri: str) -> int:
    """Check that all that counts as done is whole; returns how many manifests and receipts there are.

    Every manifest, receipt and checkpoint manifest is read, and every file it names compared by sha256.
    """
    store = open_store(uri)
    seen = 0
    for entry in store.list(""):
        if not entry.path.endswith(".json") or "/timings/" in entry.path:
            continue
        data = store.read(entry.path)
        if "/manifests/" in entry.path:
            verify_manifest(store, load_manifest(data, entry.path))
        elif "/checkpoints/" in entry.path:
            for file in json.loads(data)["files"].values():
                assert sha256_hex(store.read(file["path"])) == file["sha256"], file["path"]
        else:
            verify_file(store, Receipt.model_validate_json(data).file)
        seen += 1
    return seen


def verify_manifest(store: Store, manifest: Manifest) -> None:
    """Every file of the manifest is there, and is what was written."""
    assert manifest.missing_files(store) == []
    if isinstance(manifest, DatasetManifest):
        for group in manifest.groups.values():
            for file in group.files():
                verify_file(store, file)
    elif isinstance(manifest, FilesManifest):
        for stored in manifest.files.values():
            assert sha256_hex(store.read(stored.path)) == stored.sha256, stored.path


def assert_same(uri: str, path: str, other: Undisturbed, step: str) -> None:
    """The manifest at `path` has the id and content of what `step` made undisturbed."""
    mine, theirs = read_manifest(path, uri), other.manifest(step)
    assert (mine.id, mine.step) == (theirs.id, theirs.step)
    verify_manifest(open_store(uri), mine)
    if isinstance(mine, DatasetManifest) and isinstance(theirs, DatasetManifest):
        assert mine.content_digest == theirs.content_digest
        assert mine.counters == theirs.counters
        assert_same_rows(open_store(uri), mine, open_store(other.uri), theirs)
    elif isinstance(mine, FilesManifest) and isinstance(theirs, FilesManifest):
        # The log of a training run holds speeds, and the report names its data root; all else is equal to
        # the bit.
        same = [name for name in theirs.files if name not in ("log", "page")]
        assert {name: mine.files[name].sha256 for name in same} == {
            name: theirs.files[name].sha256 for name in same
        }
        timed = ("images_per_s", "seconds", "bytes")
        assert {k: v for k, v in mine.counters.items() if k not in timed} == {
            k: v for k, v in theirs.counters.items() if k not in timed
        }


def assert_same_rows(store: Store, mine: DatasetManifest, other: Store, theirs: DatasetManifest) -> None:
    """All columns of all groups, in an order that does not depend on shards; floats within TOLERANCE."""
    assert list(mine.groups) == list(theirs.groups)
    for name in mine.groups:
        left, right = sorted_rows(store, mine, name), sorted_rows(other, theirs, name)
        assert left.column_names == right.column_names
        for column in left.column_names:
            assert_same_column(column, left.column(column), right.column(column))


def sorted_rows(store: Store, dataset: DatasetManifest, name: str) -> pa.Table:
    """The rows of a group by source_uri where there are photos, else by the group's own first column."""

    def rows(group_name: str) -> pa.Table:
        group = dataset.groups[group_name]
        return pa.concat_tables([read_file(store, file) for file in group.shards or [group.merged]])

    table = rows(name)
    key = rows("images").column("source_uri") if "images" in dataset.groups else table.column(0)
    return table.take(pa.array(np.argsort(np.asarray(key.to_pylist()), kind="stable")))


def assert_same_column(name: str, left: pa.ChunkedArray, right: pa.ChunkedArray) -> None:
    if name in FLOAT_BLOBS:
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        for mine, theirs in pairs:
            a, b = np.frombuffer(mine, np.float16), np.frombuffer(theirs, np.float16)
            np.testing.assert_allclose(a.astype(float), b.astype(float), rtol=0, atol=1e-3, err_msg=name)
    elif pa.types.is_floating(left.type):
        a, b = (np.array(side.to_pylist(), float) for side in (left, right))
        np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, err_msg=name)
    else:
        assert left.equals(right), name


@pytest.fixture(scope="session")
def check() -> Any:
    """The comparisons and chain builders of this file, for the tests beside it."""

    class Check:
        verify_root = staticmethod(verify_root)
        same = staticmethod(assert_same)
        same_rows = staticmethod(assert_same_rows)
        curation = staticmethod(curation)
        training = staticmethod(training)
        Step = Step
        Undisturbed = Undisturbed
        replace = staticmethod(replace)

    return Check

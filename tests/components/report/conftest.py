"""A small demo set through the real steps, and its report; made once for all tests of the report."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from components.data.artifacts import ReportManifest
from components.data.manifest import DatasetManifest
from components.data.task import Task, run_component
from pipelines.demo.dataset import make_dataset

LIMITS = {
    "min_side_px": 128,
    "laplacian_variance": 100.0,
    "color_shift": 0.85,
    "clip_similarity": -1.0,
    "foreground_ratio": 0.0,
    "breed_required": False,
}


class Artifact(SimpleNamespace):
    """What KFP hands to a component."""

    def __init__(self, path):
        super().__init__(path=str(path), metadata={})


def run_step(folder, root, step, options, **inputs):
    """Run a step as its KFP component would; returns the result artifact."""
    result = Artifact(folder / f"{step}-{len(list(folder.glob('*')))}")
    arguments = {name: Artifact(path) for name, path in inputs.items()}
    run_component(step, {**arguments, **options, "result": result, "data_root": root, "code_version": ""})
    return result


@pytest.fixture(scope="package")
def made(tmp_path_factory):
    """The demo set through the real steps up to selection, in shards of 40 rows."""
    folder = tmp_path_factory.mktemp("report")
    source = make_dataset(folder / "source", clean_per_breed=3, defect_share=0.3)
    (folder / "artifacts").mkdir()
    root = (folder / "data").as_uri()
    path = ""
    for step, options in (
        ("ingest", {"source": str(source), "name": "demo", "shard_rows": 40}),
        ("captions", {}),
        ("quality", {}),
        ("duplicates", {"near_distance": 4}),
        ("selection", LIMITS),
    ):
        inputs = {"dataset": path} if path else {}
        path = run_step(folder / "artifacts", root, step, options, **inputs).path
    dataset = DatasetManifest.from_bytes(Path(path).read_bytes(), path)
    return SimpleNamespace(
        folder=folder,
        root=root,
        path=path,
        dataset=dataset,
        task=Task(root),
        run=lambda step, options, **inputs: run_step(folder / "artifacts", root, step, options, **inputs),
    )


@pytest.fixture(scope="package")
def report(made):
    """The report component's artifact: the page, and its manifest in the store."""
    result = made.run("report", {}, dataset=made.path, results=made.path)
    path = result.metadata["data_uri"].removeprefix(f"{made.root}/")
    page = Path(result.path).read_text(encoding="utf-8")
    return SimpleNamespace(page=page, manifest=ReportManifest.load(made.task.store, path))

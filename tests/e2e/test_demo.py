"""`dogflow demo` as a user runs it: on the embedded store, twice, with training cut short."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.lineage.cli import open_graph
from pipelines.lineage.graph import RUN, SOURCE
from pipelines.lineage.photo import trace_photo
from pipelines.lineage.trace import raw_files, trace

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

CPU_RULES = {
    "caption_vague",
    "caption_words_max",
    "caption_words_min",
    "color_shift",
    "duplicate_exact",
    "duplicate_near",
    "laplacian_variance",
    "license",
    "min_side_px",
    "source",
    "undecodable",
}
MODEL_RULES = {"clip_similarity", "foreground_ratio"}
STAGES = ("stage0", "stage1", "stage2")
SHORT = ["stage0.steps=4", "stage1.steps=4", "stage2.steps=4", "sampling.per_breed=2", "sampling.steps=2"]


def dogflow(home: Path, *arguments: str) -> tuple[dict, str]:
    """What a `dogflow ... --json` printed, and its messages."""
    command = [sys.executable, "-m", "pipelines.cli", *arguments, "--json"]
    environment = {**os.environ, "DOGFLOW_HOME": str(home), "NO_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=1400)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout), done.stderr


def result_of(task: dict) -> dict:
    """Id, parents, options and counters of what a task made, without what depends on the time it took."""
    timed = {
        "duration_s",
        "count_seconds",
        "count_images_per_s",
        "count_bytes",
    }  # the report's page has times
    return {key: value for key, value in task["outputs"]["result"]["metadata"].items() if key not in timed}


def run_demo(home: Path, *more: str) -> tuple[dict, str]:
    """The demo with training cut short, and with more options."""
    return dogflow(home, "demo", *(word for assignment in [*SHORT, *more] for word in ("-p", assignment)))


@pytest.fixture(scope="module")
def new_home(tmp_path_factory):
    """Makes homes whose stores are stopped in the end."""
    from pipelines.store.server import down

    made = []

    def make() -> Path:
        made.append(tmp_path_factory.mktemp("demo"))
        return made[-1]

    yield make
    for folder in made:
        down(folder)


@pytest.fixture(scope="module")
def home(new_home):
    return new_home()


@pytest.fixture(scope="module")
def first(home):
    return run_demo(home)[0]


def test_planted_defects_are_found(first):
    found = {row["reason"]: row for row in first["planted"]}
    assert set(found) == CPU_RULES | MODEL_RULES
    for reason, row in found.items():
        least = 0.99 if reason in CPU_RULES else 0.95
        assert (row["planted"] >= 5, row["recall"] >= least, row["precision"] >= least) == (True,) * 3, row


def test_report_samples_and_scores_are_where_it_says(first):
    page = Path(first["report"]).read_text()
    assert page[:15].lower() == "<!doctype html>"
    assert Path(first["samples"]).read_bytes().startswith(b"\x89PNG")
    assert first["metrics"]["samples"] == 16
    assert first["metrics"]["frechet_distance"] > first["metrics"]["frechet_floor"]
    assert 0 <= first["metrics"]["breed_accuracy"] <= 1


def test_again_nothing_is_computed_and_everything_is_the_same(first, home):
    again, _ = run_demo(home)
    assert (again["model"], again["metrics"], again["planted"]) == (
        first["model"],
        first["metrics"],
        first["planted"],
    )
    logs = "\n".join(path.read_text() for path in (home / "runs" / again["run"]).rglob("log.txt"))
    assert "done before" in logs
    for line in logs.splitlines():
        assert "steps/s" not in line and "images/s" not in line, line


def test_every_artifact_is_walked_from_the_sample_grid_to_raw_files_and_back(first, home, monkeypatch):
    monkeypatch.setenv("DOGFLOW_HOME", str(home))
    graph = open_graph()
    assert graph.problems == ()
    artifacts = {node.id for node in graph.nodes.values() if node.kind not in (SOURCE, RUN)}
    (source,) = graph.of_kind(SOURCE)
    assert {node.id for node in graph.descendants(source.id)} == artifacts
    for id in artifacts:
        assert source.id in {node.id for node in graph.ancestors(id)}
        assert graph.nodes[id].found and graph.nodes[id].made_by
    grid = trace(graph, first["samples"])
    assert grid.node.kind == "samples"
    walked = {grid.node.id, *(node.id for node in [*grid.ancestors, *grid.descendants])}
    assert walked == {source.id, *artifacts}
    folder = Path(source.uris[0])
    behind = {file.source_uri: file for file in raw_files(graph, grid.node.id)}
    assert behind
    for path, file in behind.items():
        assert hashlib.sha256((folder / path).read_bytes()).hexdigest()[:32] == file.image_id
    truth = [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]
    for path in [row["file"] for row in truth][::40]:  # every 40th: clean ones, and defects of most kinds
        traced = trace_photo(graph, path)
        stages = {f"stage {training.stage}" for training in traced.trainings if training.times}
        assert stages == set(behind[path].roles if path in behind else ())


def test_a_rerun_of_selection_runs_what_depends_on_it_and_equals_a_fresh_demo(first, home, new_home):
    cap = "selection.breed_cap=20"
    rerun, _ = dogflow(home, "rerun", first["run"], "selection", "-p", cap, "--downstream")
    results = {task["name"]: result_of(task) for task in rerun["tasks"]}
    ran = {task["name"] for task in rerun["tasks"] if task["state"] == "succeeded"}
    reused = {task["name"] for task in rerun["tasks"] if task["state"] == "reused"}
    assert ran == {"selection", "encoding", "initialization", *STAGES, "sampling", "evaluation", "report"}
    assert reused == set(results) - ran and "general-selection" in reused

    other = new_home()
    shutil.copytree(home / "demo", other / "demo")
    fresh, _ = run_demo(other, cap)
    assert fresh["model"] != first["model"]
    (record,) = (other / "runs").glob("*/run.json")
    for task in json.loads(record.read_text())["tasks"]:
        assert result_of(task) == results[task["name"]]

"""`dogflow step`: a command of its own for every step, made from its options."""

import json
import os
import subprocess
import sys

import pytest
from PIL import Image

from components.data.manifest import DatasetManifest
from pipelines import cli
from pipelines.commands.step import step_summaries
from pipelines.parameters import options_model


@pytest.fixture
def dogflow(home, monkeypatch, capfd):
    """Runs a command line in this process; returns (code, out, err)."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(3):
        Image.new("RGB", (64 + number, 48), (number * 40, 90, 10)).save(folder / f"{number}.png")
    return folder


@pytest.mark.parametrize("step", step_summaries())
def test_every_option_of_a_step_is_in_its_help(dogflow, step):
    code, out, _ = dogflow("step", step, "--help")
    assert code == 0 and step_summaries()[step][:60] in out
    flags = {f"--{name.replace('_', '-')}" for name in options_model(f"components.{step}").model_fields}
    words = set(out.replace("│", " ").split())
    assert flags - words == set()


def test_listing_the_steps_imports_none():
    code = "import sys, pipelines.cli; pipelines.cli.main(['step']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, timeout=60
    )
    assert "ingest" in done.stdout
    assert not {name for name in done.stderr.split() if name.startswith("components.quality")}


def test_steps_run_one_after_the_other_on_manifests(dogflow, photos, tmp_path):
    data = tmp_path / "data"
    code, out, _ = dogflow("step", "ingest", "--data-root", data, "--source", photos)
    first, *counters = out.splitlines()
    assert code == 0 and first.startswith(f"{data}/") and "  rows: 3" in counters
    for reference in (first, first.removeprefix(f"{data}/"), f"file://{first}"):
        command = ["step", "quality", "--data-root", data, "--manifest", reference]
        code, out, _ = dogflow(*command, "--fixed-side-px", "32", "--json")
        made = DatasetManifest.from_bytes(out.encode(), "stdout")
        assert code == 0
        assert (made.rows, made.options["fixed_side_px"]) == (3, 32)
        assert made.parents == [json.loads((data / first.removeprefix(f"{data}/")).read_text())["id"]]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["quality"], 1, "quality reads manifests of: dataset; 0 are given: use --manifest once for each"),
        (["quality", "--manifest", "none.json"], 1, "none.json"),
        (["quality", "--manifest", __file__], 1, "is not a dogflow manifest"),
        (["ingest", "--shard-rows", "-4"], 2, "ingest.shard_rows"),
        (["ingest", "--shard-rows", "many"], 2, "ingest.shard_rows"),
        (["ingest", "--shard-row", "4"], 2, "--shard-rows"),
        (["qualty"], 2, "Did you mean 'quality'?"),
    ],
)
def test_wrong_use_is_one_sentence(dogflow, tmp_path, arguments, code, message):
    step, *rest = arguments
    found, out, err = dogflow("step", step, "--data-root", tmp_path / "data", *rest)
    assert (found, out) == (code, "")
    assert err.startswith("error: ") and message in err

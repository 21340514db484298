"""The command line from the outside: fast help, one-sentence errors, exit codes."""

import importlib
import json
import os
import resource
import subprocess
import sys

import pytest
import typer

from pipelines import cli
from pipelines.runs.record import Runs

HELP_LIMIT_S = 0.5  # of CPU: the time on the wall where the machine does nothing else
HEAVY = {"torch", "kfp", "pyarrow", "cv2", "numpy", "open_clip"}


def dogflow(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
    )


@pytest.fixture
def toy_dogflow(toys, home, monkeypatch, capfd):
    """Runs a command line in this process, with versions for toy code; returns (code, out, err)."""
    monkeypatch.setattr("pipelines.compile.code_version", lambda step: f"code-of-{step}")
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        return code, *capfd.readouterr()

    return run


def test_help_lists_every_command_in_half_a_second():
    costs_s = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        shown = dogflow("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs_s.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert shown.returncode == 0
    assert [name for name in cli.COMMANDS if f" {name} " not in shown.stdout] == []
    assert min(costs_s) < HELP_LIMIT_S


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["compile", "--help"], ["step", "--help"]]
)
def test_help_imports_no_heavy_library(arguments):
    code = """
import sys, pipelines.cli
pipelines.cli.main(sys.argv[1:])
print(*sys.modules, sep="\\n", file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60
    )
    assert {name.partition(".")[0] for name in done.stderr.split()} & HEAVY == set()


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_table_says_of_each_command_what_the_command_says(name):
    module, text = cli.COMMANDS[name]
    command = typer.main.get_command(importlib.import_module(module).app)
    assert (command.help or "").startswith(text.split(":")[0].rstrip("."))


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(name):
    shown = dogflow(name, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert f"dogflow {name}" in shown.stdout.replace("python -m pipelines.cli", "dogflow")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rnus"], "error: No such command 'rnus'. Did you mean 'runs'? See `dogflow --help`.\n"),
        (["runs", "--limti", "3"], "--limit"),
        (["run", "curatoin"], "error: There is no pipeline curatoin; "),
        (["run", "--runner", "dokcer"], "There is no runner dokcer"),
        (["compile", "toy_pipelines:toy", "-p", "photos.rowz=1"], "did you mean photos.rows?"),
        (["compile", "toy_pipelines:toy", "-p", "photos.rows=-1"], "photos.rows='-1' is not valid"),
        (["compile", "toy_pipelines:toy", "--image", "dogflow-train"], "write base=registry/name:tag"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(toy_dogflow, arguments, message):
    code, out, err = toy_dogflow(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ") and message in err and len(err.splitlines()) == 1


def test_without_arguments_the_help_is_shown():
    shown = dogflow()
    assert shown.returncode == 2 and "Commands" in shown.stdout and shown.stderr == ""


def test_verbose_shows_the_traceback(toy_dogflow):
    _, _, quiet = toy_dogflow("runs", "show", "none")
    _, _, loud = toy_dogflow("--verbose", "runs", "show", "none")
    assert "Traceback" not in quiet and "Traceback" in loud


def test_compile_prints_what_it_writes(toy_dogflow, tmp_path):
    code, printed, _ = toy_dogflow("compile", "toy_pipelines:toy", "-o", "-")
    written = toy_dogflow("compile", "toy_pipelines:toy", "-o", tmp_path / "a" / "toy.yaml")
    assert (code, written[0]) == (0, 0)
    assert (tmp_path / "a" / "toy.yaml").read_text() == printed
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["toy.yaml"]
    assert "2 steps, 8 inputs" in written[1]


def test_a_dry_run_shows_values_and_their_origin_and_starts_nothing(toy_dogflow, home):
    code, out, _ = toy_dogflow("run", "toy_pipelines:toy", "--dry-run", "-p", "photos.rows=9")
    assert code == 0
    (line,) = [line for line in out.splitlines() if line.startswith("photos.rows")]
    assert line.split()[1:4] == ["9", "command", "line"]
    assert "s3://dogflow/data" in out and "Nothing was started" in out
    assert not home.exists()


def test_a_dry_run_as_json(toy_dogflow):
    _, out, _ = toy_dogflow("run", "toy_pipelines:toy", "--dry-run", "--json", "--partitions", "2")
    plan = json.loads(out)
    assert plan["tasks"] == ["photos", "marks.0", "marks.1", "marks-merge"]
    assert plan["parameters"]["photos_rows"] == 3 and plan["sources"]["photos_rows"] == "default"


def test_a_run_shows_its_tasks_as_lines_and_is_listed(toy_dogflow, home, tmp_path):
    code, out, err = toy_dogflow("run", "toy_pipelines:toy", "--data-root", tmp_path / "data")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert [line[:2] for line in lines if line[1] != "running"] == [
        ["photos", "succeeded"],
        ["marks", "succeeded"],
    ]
    assert "3/3 rows" in out and "kfp" not in out
    assert "succeeded in" in err
    (record,) = Runs(home)
    _, listed, _ = toy_dogflow("runs")
    assert record.run_id in listed and "2/2" in listed
    _, shown, _ = toy_dogflow("runs", "show")
    assert f"succeeded in {record.seconds:.1f} s" in shown
    _, as_json, _ = toy_dogflow("runs", "list", "--json")
    assert json.loads(as_json)[0]["run_id"] == record.run_id


def test_a_failed_run_shows_error_log_and_how_to_go_on(toy_dogflow, tmp_path):
    arguments = ["run", "toy_pipelines:toy", "--data-root", tmp_path / "data", "-p", "marks.behave=fail"]
    code, _, err = toy_dogflow(*arguments)
    assert code == 1
    assert "error: marks: photo_7.jpg has no dog in it: remove it.\n" in err
    assert "  marks 3/3 rows" in err or "  toy_steps.running.ToyError: photo_7.jpg" in err
    assert err.endswith("The same command goes on from there: what is done is not done again.\n")


def test_parts_that_fail_alike_are_told_once(toy_dogflow, tmp_path):
    arguments = ["run", "toy_pipelines:toy", "--data-root", tmp_path / "data", "-p", "marks.behave=fail"]
    _, _, err = toy_dogflow(*arguments, "--partitions", "2")
    assert "error: marks.0, marks.1: photo_7.jpg has no dog in it: remove it.\n" in err
    assert err.count("The last lines of") == 1


def test_a_run_as_json_prints_the_record_and_nothing_else(toy_dogflow, tmp_path):
    _, out, _ = toy_dogflow("run", "toy_pipelines:toy", "--data-root", tmp_path / "data", "--json")
    record = json.loads(out)
    assert record["state"] == "succeeded" and record["data_root"] == str(tmp_path / "data")


def test_a_relative_data_root_is_made_absolute(toy_dogflow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, out, _ = toy_dogflow("run", "toy_pipelines:toy", "--data-root", "data", "--dry-run", "--json")
    assert json.loads(out)["parameters"]["data_root"] == str(tmp_path / "data")


def test_tasks_know_the_home_also_when_nobody_named_one(toy_dogflow, tmp_path, monkeypatch):
    """Training keeps the log that TensorBoard watches there."""
    monkeypatch.delenv("DOGFLOW_HOME")
    monkeypatch.chdir(tmp_path)
    code, _, _ = toy_dogflow("run", "toy_pipelines:toy", "--data-root", tmp_path / "data")
    calls = [json.loads(line) for line in (tmp_path / "data" / "calls.jsonl").read_text().splitlines()]
    assert code == 0 and {call["home"] for call in calls} == {str(tmp_path / ".dogflow")}


def test_no_data_root_means_the_embedded_store(toy_dogflow, monkeypatch, home, tmp_path):
    """The store is brought up for this home, its keys reach the tasks, and the record has none of them."""
    monkeypatch.setattr("pipelines.launch.EMBEDDED_DATA_ROOT", str(tmp_path / "data"))
    monkeypatch.setattr("pipelines.store.server.up", lambda folder: folder)
    monkeypatch.setattr("pipelines.store.server.environment", lambda info: {"TOY_KEY": f"key of {info}"})
    code, _, _ = toy_dogflow("run", "toy_pipelines:toy")
    calls = [json.loads(line) for line in (tmp_path / "data" / "calls.jsonl").read_text().splitlines()]
    assert code == 0
    assert {call["key"] for call in calls} == {f"key of {home}"}
    (record,) = Runs(home)
    assert record.embedded_store and "key of" not in record.model_dump_json()

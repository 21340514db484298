"""`dogflow lineage` as a user types it."""

import json

import pytest
from rich.text import Text

from components.data.storage import open_store
from pipelines.cli import main
from pipelines.runs.record import Runs


@pytest.fixture
def root(making, home, tmp_path):
    """A data root with a dataset, a model and a report, and the run that made the dataset."""
    uri = (tmp_path / "root").as_uri()
    store = open_store(uri)
    dataset = making.manifest("a").save(store)
    making.manifest("m", "model", "a").save(store)
    task = making.task(
        "ingest", {}, {"result": making.artifact(dataset, uri)}, parameters={"source": "[b]/p"}
    )
    Runs(home).save(making.run("20260101-000000-toy-abcd", uri, task))
    return uri


def test_list_shows_every_kind_and_one_kind_alone(root, capsys):
    assert main(["lineage", "list"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("a" * 16, "m" * 16, "training stage 1 of dogs", "toy"))
    assert main(["lineage", "list", "--kind", "model", "--json"]) == 0
    assert [node["id"] for node in json.loads(capsys.readouterr().out)] == ["m" * 16]


def test_list_keeps_ids_whole_on_a_narrow_terminal_and_lines_whole_in_a_pipe(root, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["lineage", "list"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("m" * 16))
    assert "training stage 1 of dogs" in line
    monkeypatch.setenv("TTY_COMPATIBLE", "1")  # Rich takes it for a terminal
    assert main(["lineage", "list"]) == 0
    lines = Text.from_ansi(capsys.readouterr().out).plain.splitlines()
    assert "m" * 16 in {line.split(" ")[0] for line in lines} and max(map(len, lines)) <= 40


def test_trace_of_a_model_ends_at_the_raw_files(root, capsys):
    assert main(["lineage", "trace", "mmmm"]) == 0
    out = capsys.readouterr().out
    assert "ingest of dogs" in out
    assert "[b]/p" in out  # not taken for markup
    assert main(["lineage", "trace", "mmmm", "--json"]) == 0
    traced = json.loads(capsys.readouterr().out)
    assert traced["traced"] == "artifact"
    assert [node["kind"] for node in traced["ancestors"]] == ["dataset", "source"]


@pytest.mark.parametrize(
    "query", ["a" * 16, f"source:{'a' * 16}", "20260101", "run:20260101-000000-toy-abcd"]
)
def test_ids_of_datasets_sources_and_runs_are_traced(root, capsys, query):
    assert main(["lineage", "trace", query, "--json"]) == 0
    traced = json.loads(capsys.readouterr().out)
    ids = {traced["node"]["id"], *(node["id"] for node in [*traced["ancestors"], *traced["descendants"]])}
    assert {"a" * 16, "m" * 16} <= ids


def test_uris_of_manifests_are_traced(root, capsys):
    uri = f"{root}/dogs/manifests/training-{'m' * 16}.json"
    assert main(["lineage", "trace", uri, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["node"]["id"] == "m" * 16


@pytest.mark.parametrize(
    "query", ["ffff", "../none/passwd", "no such photo.jpg", "x" * 10_000, "\N{DOG FACE}"]
)
def test_what_is_not_there_is_one_sentence(root, capsys, query):
    assert main(["lineage", "trace", query]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: No dataset here has a photo") and len(error.splitlines()) == 1


def test_a_picture_of_somebody_else_is_refused_and_one_of_another_root_says_so(root, capsys, tmp_path):
    import numpy as np

    from components.data.pictures import png

    black = np.zeros((4, 4, 3), np.uint8)
    (tmp_path / "plain.png").write_bytes(png(black))
    assert main(["lineage", "trace", str(tmp_path / "plain.png")]) == 1
    assert "carries no lineage" in capsys.readouterr().err
    (tmp_path / "far.png").write_bytes(png(black, {"kind": "samples", "id": "9" * 16}))
    assert main(["lineage", "trace", str(tmp_path / "far.png")]) == 1
    assert "samples 9999999999999999, which is in no data root here" in capsys.readouterr().err


@pytest.mark.parametrize("format", ["json", "dot", "openlineage"])
def test_export_writes_a_file_or_to_the_terminal(root, capsys, tmp_path, format):
    assert main(["lineage", "export", "--format", format]) == 0
    printed = capsys.readouterr().out
    assert main(["lineage", "export", "--format", format, "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text() == printed


def test_wrong_kinds_and_formats_name_the_right_ones(root, capsys):
    assert main(["lineage", "export", "--format", "pdf"]) == 1
    assert "--format pdf is none of openlineage, json, dot" in capsys.readouterr().err
    assert main(["lineage", "list", "--kind", "cat"]) == 1
    assert "--kind cat is none of source, dataset" in capsys.readouterr().err


def test_one_data_root_can_be_looked_at_alone(root, making, capsys, tmp_path):
    other = (tmp_path / "other").as_uri()
    making.manifest("z").save(open_store(other))
    assert main(["lineage", "list", "--json", "--data-root", other]) == 0
    ids = {node["id"] for node in json.loads(capsys.readouterr().out)}
    assert ids == {"z" * 16, f"source:{'z' * 16}"}


def test_damaged_manifests_are_warnings(root, capsys):
    open_store(root).write("dogs/manifests/quality-x.json", b"{")
    assert main(["lineage", "list"]) == 0
    assert "warning: " in (error := capsys.readouterr().err) and "quality-x.json" in error

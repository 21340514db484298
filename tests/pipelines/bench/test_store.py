"""What is put comes back, and the report has one set of figures per place."""

import json
import os

import pytest
from typer.testing import CliRunner

from components.data.storage import open_store
from pipelines.bench import cli
from pipelines.bench.figures import Report
from pipelines.bench.places import embedded_bucket, local_folder
from pipelines.bench.store import bench_store, create_small, get, get_small, put_small


def test_small_objects_come_back_and_names_are_created_once(store_uri):
    store = open_store(store_uri)
    put_small(store, "a", 3)
    get_small(store, "a", 3)
    assert [entry.size for entry in store.list("a/")] == [1024] * 3
    create_small(store, "b", 2)
    with pytest.raises(RuntimeError, match="existed before"):
        create_small(store, "b", 2)
    with pytest.raises(RuntimeError, match="other bytes"):
        get(store, "a/1", b"else")


def test_the_report_has_the_rates_of_a_folder():
    report = bench_store(megabytes=1, small=3, rounds=1, places={"local": local_folder})
    assert [figure.unit for figure in report.figures] == ["MB/s", "MB/s", "1/s", "1/s", "1/s"]
    assert all(figure.value > 0 for figure in report.figures)


def test_the_embedded_bucket_is_there_meanwhile_and_the_environment_as_before(monkeypatch):
    monkeypatch.setenv("AWS_REGION", "eu-test-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with embedded_bucket() as uri:
        store = open_store(uri)
        store.write("x", b"1")
        assert store.read("x") == b"1"
        assert os.environ["AWS_REGION"] != "eu-test-1"
    assert os.environ["AWS_REGION"] == "eu-test-1"
    assert "AWS_ENDPOINT_URL" not in os.environ


@pytest.mark.parametrize("name", ["quality", "layout", "select", "store"])
def test_every_command_passes_its_sizes_on_and_prints_json(name, monkeypatch):
    asked = {}

    def measured(**sizes):
        asked.update(sizes)
        report = Report(name)
        report.add("figure", 1, "x", 2)
        return report

    monkeypatch.setattr(f"pipelines.bench.{name}.bench_{name}", measured)
    result = CliRunner().invoke(cli.app, [name, "--rounds", "7", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["figures"][0]["met"] is False
    assert asked["rounds"] == 7

"""Toy steps for the tests of what runs steps."""

import os
from pathlib import Path

import pytest

TOYS = Path(__file__).parent / "toys"


@pytest.fixture
def toys(monkeypatch):
    """Makes toy_steps and toy_pipelines importable here and in tasks; returns their folder."""
    monkeypatch.syspath_prepend(str(TOYS))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(TOYS), os.environ.get("PYTHONPATH", "")]).rstrip(":")
    )
    return TOYS


@pytest.fixture
def toy(toys):
    """The two-step pipeline."""
    import toy_pipelines

    return toy_pipelines.toy


@pytest.fixture
def twice(toys):
    """The pipeline that uses a step twice."""
    import toy_pipelines

    return toy_pipelines.twice


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A dogflow home of its own."""
    folder = tmp_path / "home"
    monkeypatch.setenv("DOGFLOW_HOME", str(folder))
    return folder

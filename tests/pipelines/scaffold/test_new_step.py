"""A new step runs, and passes its own tests and the linters, before a line of it was written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.scaffold.step import ScaffoldError, new_step

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def checkout(tmp_path):
    """A copy of this one, as far as a step needs it."""
    for folder in ("components", "pipelines", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def python(checkout, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["brightness", "tail_visible"])
def test_a_new_step_passes_its_tests_and_the_linters_at_once(checkout, name):
    made = python(checkout, "-m", "pipelines.cli", "new-step", name)
    assert made.returncode == 0, made.stderr
    files = [
        line.strip()
        for line in made.stdout.splitlines()
        if line.startswith("  ") and line.endswith((".py", ".md"))
    ]
    assert f"components/{name}/component.py" in files and "components/data/schema.py" in files
    tested = python(checkout, "-m", "pytest", "-q", f"tests/components/{name}")
    assert tested.returncode == 0 and "6 passed" in tested.stdout, tested.stdout
    folders = [f"components/{name}", f"tests/components/{name}", "components/data/schema.py"]
    # The noqa of a generated component.py is for long help texts, which these short ones do not need.
    for command in (["check", "--ignore", "RUF100"], ["format", "--check"]):
        linted = python(checkout, "-m", "ruff", *command, *folders)
        assert linted.returncode == 0, linted.stdout
    typed = python(checkout, "-m", "mypy", f"components/{name}")
    assert typed.returncode == 0, typed.stdout
    command = python(checkout, "-m", "pipelines.cli", "step", name, "--help")
    assert "--gamma" in command.stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Brightness", "cannot name a step"),
        ("a-b", "cannot name a step"),
        ("../x", "cannot name a step"),
        ("class", "cannot name a step"),
        ("json", "cannot name a step"),
        ("", "cannot name a step"),
        ("quality", "exists already"),
        ("data", "exists already"),
    ],
)
def test_impossible_names_are_refused_and_nothing_is_written(checkout, name, message):
    before = sorted(checkout.rglob("*"))
    with pytest.raises(ScaffoldError, match=message):
        new_step(name, checkout)
    assert sorted(checkout.rglob("*")) == before


def test_outside_a_checkout_it_says_so(tmp_path):
    with pytest.raises(ScaffoldError, match="is no checkout of dogflow"):
        new_step("brightness", tmp_path)

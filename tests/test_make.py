"""`make` sets itself up once, and again only when what is installed changes; CI knows its skips."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def checkout(tmp_path):
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def planned(checkout, target):
    """The commands `make target` would run."""
    done = subprocess.run(["make", "-n", target], cwd=checkout, capture_output=True, text=True, check=True)
    return done.stdout


def mark_as_set_up(checkout):
    (stamp,) = [
        line.split()[1] for line in planned(checkout, "setup").splitlines() if line.startswith("touch ")
    ]
    (checkout / stamp).parent.mkdir(exist_ok=True)
    (checkout / stamp).touch()


@pytest.mark.parametrize("target", ["demo", "test", "quick", "lint"])
def test_a_fresh_checkout_is_set_up_first_from_the_hashed_lock(checkout, target):
    commands = planned(checkout, target)
    assert "-m venv .venv" in commands
    assert "--no-deps --require-hashes -r requirements.lock" in commands
    mark_as_set_up(checkout)
    assert "pip install" not in planned(checkout, target)


@pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml"])
def test_a_changed_lock_or_project_is_installed_again(checkout, name):
    mark_as_set_up(checkout)
    with (checkout / name).open("a") as file:
        file.write("# changed\n")
    assert "pip install" in planned(checkout, "test")


def test_another_time_stamp_changes_nothing(checkout):
    mark_as_set_up(checkout)
    (checkout / "requirements.lock").touch()
    assert "pip install" not in planned(checkout, "test")


def test_ci_knows_expected_skips_from_others(tmp_path):
    spec = importlib.util.spec_from_file_location("skips", ROOT / ".ci" / "skips.py")
    skips = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(skips)
    report, expected = tmp_path / "r.xml", tmp_path / "expected.txt"
    expected.write_text("# why\nthe sample data\n\n")
    cases = {"x": "the sample data is not here", "y": "no GPU", "z": ""}
    skipped = {name: f'<skipped message="{reason}"/>' if reason else "" for name, reason in cases.items()}
    texts = [f'<testcase classname="a" name="{name}">{inner}</testcase>' for name, inner in skipped.items()]
    report.write_text(f"<testsuites><testsuite>{''.join(texts)}</testsuite></testsuites>")
    assert skips.unexpected(report, expected) == ["a.y: no GPU"]

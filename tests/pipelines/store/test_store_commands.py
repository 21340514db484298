"""`dogflow store`: what a user types and reads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines.store.cli import app
from pipelines.store.server import down

RUN = CliRunner()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DOGFLOW_HOME", str(tmp_path))
    yield tmp_path
    down(tmp_path)


def test_the_commands_of_a_session(home: Path):
    assert RUN.invoke(app, ["status"]).exit_code == 1
    assert "`dogflow store up`" in RUN.invoke(app, ["status"]).output
    started = RUN.invoke(app, ["up"])
    assert started.exit_code == 0 and "http://127.0.0.1:" in started.output
    shown = json.loads(RUN.invoke(app, ["status", "--json"]).output)
    assert shown["running"] and shown["rss_bytes"] > 10e6 and shown["bucket"] == "dogflow"
    exported = RUN.invoke(app, ["env"])
    lines = [line for line in exported.stdout.splitlines() if line.startswith("export ")]
    shell = subprocess.run(
        ["sh", "-c", exported.stdout + '\necho "$AWS_ENDPOINT_URL $AWS_REGION"'],
        capture_output=True,
        text=True,
    )
    assert len(lines) == 4 and shell.stdout.strip() == f"{shown['endpoint_url']} us-east-1"
    assert "secret" in exported.stderr
    secret = next(line.split("=", 1)[1] for line in lines if "SECRET" in line)
    for words in (["status"], ["status", "--json"], ["up"]):
        assert secret.strip("'") not in RUN.invoke(app, words).output
    assert "stopped" in RUN.invoke(app, ["down"]).output
    assert "was not running" in RUN.invoke(app, ["down"]).output
    stopped = RUN.invoke(app, ["status"])
    assert stopped.exit_code == 1 and "`dogflow store up` starts it" in stopped.output
    assert RUN.invoke(app, ["env"]).exit_code == 1


def test_errors_are_one_sentence_without_a_traceback(home: Path):
    refused = RUN.invoke(app, ["up", "--port", "80"])
    assert refused.exit_code == 1 and refused.output.startswith("Port 80 is not possible")
    assert len(refused.output.strip().splitlines()) == 1


def test_help_loads_nothing_heavy():
    heavy = "{'obstore', 'pyarrow', 'minio', 'psutil', 'torch'}"
    script = f"import sys, pipelines.store.cli; print(sorted({heavy} & set(sys.modules)))"
    root = Path(__file__).resolve().parents[3]
    ran = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"

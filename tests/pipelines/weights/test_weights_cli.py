"""`dogflow weights` from the outside: what it lists, pulls and verifies, without a network."""

import hashlib
import json

import pytest
from typer.testing import CliRunner

from components.model import download, weights
from components.model.published import PublishedWeights, WeightsFile
from components.model.weights import WeightsError, folder_of
from pipelines.weights import verification
from pipelines.weights.cli import app

CONTENT = b"pretend weights"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DOGFLOW_WEIGHTS", str(tmp_path))
    return tmp_path


@pytest.fixture
def publish(monkeypatch):
    """publish(sha256=...): "vit_b" is one file w.pth with that published sha256."""

    def set_file(sha256: str, url: str = "http://127.0.0.1:9/w.pth") -> None:
        entry = PublishedWeights("vit_b", "sam", (WeightsFile("w.pth", url=url, sha256=sha256),))
        for module in (weights, download, verification):
            monkeypatch.setattr(module, "published", lambda r, k: entry if r == "vit_b" else None)

    return set_file


def put(content: bytes = CONTENT, recorded: str = "") -> None:
    folder = folder_of("vit_b", "sam")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "w.pth").write_bytes(content)
    if recorded:
        (folder / "source.json").write_text(json.dumps({"file": "w.pth", "sha256": recorded}))


def invoke(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_list_shows_every_named_model_and_where_it_would_be():
    shown = json.loads(invoke("list", "--json").stdout)
    by_name = {row["reference"]: row for row in shown["weights"]}
    assert set(by_name) >= {"ViT-L-14/openai", "vit_b", "vit_l", "vit_h"}
    assert not any(row["here"] for row in by_name.values())
    assert by_name["vit_b"]["file"] == "sam_vit_b_01ec64.pth"
    assert by_name["ViT-L-14/openai"]["sha256"].startswith("b8cca3fd")
    text = invoke("list").stdout
    assert "ViT-L-14/openai" in text
    assert "sam_vit_b_01ec64.pth" in text


def test_list_notices_a_file_that_was_put_in_place():
    folder = folder_of("vit_b", "sam")
    folder.mkdir(parents=True)
    (folder / "sam_vit_b_01ec64.pth").write_bytes(b"x")
    rows = json.loads(invoke("list", "--json").stdout)["weights"]
    assert [row["reference"] for row in rows if row["here"]] == ["vit_b"]


@pytest.mark.parametrize(
    ("published", "recorded", "content", "status"),
    [
        (DIGEST, "", CONTENT, "published"),
        (DIGEST[:8], "", CONTENT, "prefix"),
        ("", DIGEST, CONTENT, "recorded"),
        ("", "", CONTENT, "unchecked"),
        (DIGEST, DIGEST, CONTENT + b"!", "different"),
        (DIGEST[:8], "", CONTENT + b"!", "different"),
        ("", DIGEST, CONTENT + b"!", "different"),
    ],
)
def test_verify_says_what_the_file_was_held_against(publish, published, recorded, content, status):
    publish(published)
    put(content, recorded)
    result = invoke("verify", "vit_b", "--json")
    (verdict,) = json.loads(result.stdout)["weights"]
    assert verdict["status"] == status
    assert verdict["sha256"] == hashlib.sha256(content).hexdigest()
    assert result.exit_code == (1 if status == "different" else 0)
    if status == "different":
        assert DIGEST.startswith(verdict["expected"])
        assert f"wanted {verdict['expected']}" in invoke("verify", "vit_b").stdout


def test_verify_of_absent_weights_fails_and_of_an_empty_cache_does_not(publish):
    publish(DIGEST)
    result = invoke("verify", "vit_b")
    assert result.exit_code == 1
    assert "is not on this machine" in result.stdout
    nothing = invoke("verify")
    assert nothing.exit_code == 0
    assert "dogflow weights pull" in nothing.stdout
    put()
    assert "vit_b: has the sha256" in invoke("verify").stdout


def test_pull_of_what_is_here_touches_no_network_and_without_one_is_a_sentence(publish):
    publish(DIGEST)
    result = invoke("pull", "vit_b")
    assert isinstance(result.exception, WeightsError)
    assert "127.0.0.1:9/w.pth" in str(result.exception)
    put()
    result = invoke("pull", "vit_b", "--json")
    assert json.loads(result.stdout) == [
        {"reference": "vit_b", "file": str(folder_of("vit_b", "sam") / "w.pth")}
    ]

"""Every page of the console, asked for as a browser would."""

import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from starlette.testclient import TestClient

from components.report.step import run as report_step
from components.selection import step as selection
from components.selection.rules import needed_columns
from pipelines.lineage.console.app import create_app
from pipelines.lineage.console.columns import Columns
from pipelines.runs.record import ArtifactRecord, Runs

RUN = "20260101-120000-curation-abcd"  # of the conftest beside
PAYLOAD = "window.pwned"


class Parsed(HTMLParser):
    """Elements and attributes of a page, and its text."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def pages(gallery):
    id = gallery.dataset.id
    first = gallery.made[0].id
    image_ids = Columns().table(gallery.store, gallery.dataset, ["image_id"]).column(0).to_pylist()
    return {
        "runs": "/",
        "run": f"/runs/{RUN}",
        "task": f"/runs/{RUN}/tasks/selection",
        "artifact": f"/artifacts/{id}",
        "manifest": f"/artifacts/{id}/manifest.json",
        "rows": f"/artifacts/{id}/rows?page=2",
        "filtered": f"/artifacts/{id}/rows?column=caption&operator=contains&value=dog",
        "ingested": f"/artifacts/{first}/rows",
        "thresholds": f"/artifacts/{id}/thresholds",
        "review": f"/artifacts/{id}/review?queue=all",
        "lineage": "/lineage",
        "node": f"/lineage?id={id[:8]}&up=99&down=99",
        "source": f"/lineage?id=source:{first}",
        "run node": f"/lineage?id=run:{RUN}",
        "photo": f"/lineage/photos/{image_ids[-1]}",
        "by prefix": f"/lineage?id={image_ids[-1][:12]}",
        "compare": "/compare",
        "compared": f"/compare?before={RUN}&after={RUN}",
        "api run": f"/api/runs/{RUN}",
        "api task": f"/api/runs/{RUN}/tasks/ingest",
        "api thresholds": f"/api/thresholds/{id}?laplacian_variance=50&changed=laplacian_variance",
        "api reviews": f"/api/reviews/{id}?queue=all",
        "css": "/static/report.css",
        "js": "/static/thresholds.js",
    }


def test_every_page_answers_and_hostile_text_makes_no_element(client, gallery):
    shown = 0
    for name, url in pages(gallery).items():
        answer = client.get(url)
        assert answer.status_code == 200, (name, answer.text[:500])
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        parsed = Parsed(answer.text)
        for tag, attributes in parsed.elements:
            assert not any(key.startswith("on") or key == "style" for key in attributes), (name, tag)
            if tag == "script":
                own = str(attributes.get("src", "")).startswith("/static/")
                assert own or attributes.get("type") == "application/json", name
            for key in ("src", "href", "action"):
                target = attributes.get(key) or "/"
                assert target.startswith(("/", "#", "?")) and not target.startswith("//"), (name, target)
        shown += PAYLOAD in answer.text
    assert shown > 3, "the hostile names were on some of these pages"


def test_hostile_captions_are_shown_as_text(client, gallery):
    wanted = dict(gallery.hostile)
    texts = ""
    for page in (1, 2):
        answer = client.get(f"/artifacts/{gallery.made[0].id}/rows?page={page}")
        texts += " ".join(Parsed(answer.text).text)
    for caption in wanted.values():
        start = re.split("[\u202e\u2066]", caption)[0][:60].strip()
        assert start in texts, caption[:80]
    assert "\u202e" not in texts and "49 a dog" not in texts
    assert len(texts) < 60_000, "a caption of 10,000 characters is cut"


def test_json_answers_are_no_html(client, gallery):
    for url in (f"/api/reviews/{gallery.dataset.id}?queue=all", f"/api/runs/{RUN}/tasks/ingest"):
        answer = client.get(url)
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert PAYLOAD in json.dumps(answer.json())


@pytest.mark.parametrize(
    "url",
    [
        "/static/../app.py",
        "/static/%2e%2e%2fapp.py",
        "/static/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/static//etc/passwd",
        "/runs/%2e%2e%2f%2e%2e",
        "/runs/..%2f..%2f..%2fetc%2fpasswd",
        "/runs/%00",
        f"/runs/{RUN}/tasks/..%2f..%2fsecret",
        "/artifacts/..%2f..%2fetc%2fpasswd",
        "/artifacts/%2fetc%2fpasswd/manifest.json",
        "/photos/..%2f..%2f/0/160",
        "/lineage/photos/..%2f..%2fetc%2fpasswd",
        "/lineage?id=/etc/passwd",
        "/lineage?id=file:///etc/passwd",
        "/lineage?id=../../../../etc/passwd",
        "/compare?before=../../x&after=../../x",
        "/api/runs/..%2f..%2fetc",
        "/docs",
        "/openapi.json",
        "/runs/" + "x" * 10_000,
        "/artifacts/" + "%F0%9F%90%95" * 1000,
    ],
)
def test_no_path_leads_to_a_file_that_is_not_offered(client, gallery, url):
    answer = client.get(url)
    assert answer.status_code in (400, 404, 409)
    assert "root:" not in answer.text and "def create_app" not in answer.text


def test_photos_are_offered_in_two_sizes_and_only_of_rows(client, gallery):
    id, rows = gallery.dataset.id, gallery.dataset.rows
    answer = client.get(f"/photos/{id}/{rows - 1}/160")
    assert answer.headers["content-type"] == "image/jpeg"
    assert answer.content.startswith(b"\xff\xd8\xff") and PAYLOAD.encode() not in answer.content
    for wrong in (f"{rows}/160", "-1/160", "0/161", "0/100000", "x/160", "0/1e3"):
        assert client.get(f"/photos/{id}/{wrong}").status_code in (404, 422), wrong


def test_a_report_is_shown_in_a_sandbox(own_gallery, access):
    from components.data.task import Task, artifact_metadata
    from components.report.options import ReportOptions

    report = report_step(
        Task(own_gallery.root), own_gallery.dataset, own_gallery.dataset, options=ReportOptions()
    )
    record = own_gallery.record.model_copy(deep=True)
    metadata = artifact_metadata(report, own_gallery.root, 1.0)
    record.tasks[-1].outputs["report"] = ArtifactRecord(type="system.HTML", path="", metadata=metadata)
    Runs(own_gallery.home).save(record)
    with TestClient(create_app(own_gallery.home, access)) as client:
        page = client.get(f"/artifacts/{report.id}")
        frames = [attributes for tag, attributes in Parsed(page.text).elements if tag == "iframe"]
        assert [(frame["sandbox"], frame["src"]) for frame in frames] == [
            (None, f"/artifacts/{report.id}/report")
        ]
        answer = client.get(f"/artifacts/{report.id}/report")
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("sandbox;") and "default-src 'none'" in policy and "script" not in policy
        assert answer.headers["x-frame-options"] == "SAMEORIGIN"
        assert "<h1>" in answer.text


@pytest.mark.parametrize("value", [20.0, 300.0])
def test_the_explorers_answer_is_what_a_selection_with_the_option_keeps(client, gallery, value):
    url = f"/api/thresholds/{gallery.dataset.id}?laplacian_variance={value}&changed=laplacian_variance"
    answer = client.get(url).json()
    options = selection.SelectionOptions(**{**gallery.dataset.options, "laplacian_variance": value})
    table = Columns().table(gallery.store, gallery.dataset, needed_columns(options))
    keep = np.asarray(selection.select(table, options).column("keep"))
    before = np.asarray(Columns().table(gallery.store, gallery.dataset, ["keep"]).column(0))
    assert answer["kept"] == keep.sum()
    assert answer["came"]["count"] == (keep & ~before).sum()
    assert answer["went"]["count"] == (before & ~keep).sum()
    rows = {photo["row"] for photo in answer["went"]["photos"]} | {p["row"] for p in answer["came"]["photos"]}
    assert rows <= set(np.flatnonzero(keep != before).tolist())
    assert answer["changes"] == {"laplacian_variance": json.dumps(value)}


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("laplacian_variance=x", 400),
        ("nonsense=1", 400),
        ("color_shift=2", 400),
        ("licenses=" + "x," * 2000, 200),
    ],
)
def test_impossible_thresholds_are_refused_in_a_sentence(client, gallery, query, status):
    answer = client.get(f"/api/thresholds/{gallery.dataset.id}?{query}")
    assert answer.status_code == status
    if status != 200:
        assert query.partition("=")[0] in answer.json()["error"]


def test_a_mark_needs_the_pages_token(client, gallery, csrf, own_gallery):
    table = Columns().table(gallery.store, gallery.dataset, ["image_id"])
    mark = {"row": 1, "image_id": table.column(0)[1].as_py(), "action": "reviewed"}
    url = f"/api/reviews/{gallery.dataset.id}"
    assert client.post(url, json=mark).status_code == 403
    assert not (own_gallery.home / "reviews").exists()
    assert client.post(url, json=mark, headers=csrf).json() == {"marked": 1}
    batch = client.get(f"{url}?queue=marked").json()
    assert [(photo["row"], photo["mark"]) for photo in batch["photos"]] == [(1, "reviewed")]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"row": 10**9}, 404),
        ({"row": -1}, 422),
        ({"image_id": "f" * 32}, 404),
        ({"image_id": "../../x"}, 404),
        ({"action": "delete"}, 422),
        ({"breed": "no such breed", "action": "wrong"}, 404),
        ({"extra": 1}, 422),
    ],
)
def test_a_mark_that_means_nothing_writes_nothing(client, gallery, csrf, own_gallery, change, status):
    table = Columns().table(gallery.store, gallery.dataset, ["image_id"])
    mark = {"row": 1, "image_id": table.column(0)[1].as_py(), "action": "reviewed", **change}
    assert client.post(f"/api/reviews/{gallery.dataset.id}", json=mark, headers=csrf).status_code == status
    assert not (own_gallery.home / "reviews").exists()


def test_a_rerun_needs_the_pages_token_and_a_known_run(client, csrf, monkeypatch):
    request = {"run": "absent", "task": "selection"}
    for what in ("plan", "start"):
        assert client.post(f"/api/rerun/{what}", json=request).status_code == 403
    answer = client.post("/api/rerun/plan", json=request, headers=csrf)
    assert answer.status_code == 409 and "absent" in answer.json()["error"]
    assert client.post("/api/rerun/plan", json={"run": 1}, headers=csrf).status_code == 422


def test_what_a_page_shows_of_a_failed_task(own_gallery, access):
    record = own_gallery.record.model_copy(deep=True)
    record.state, record.error = "failed", "quality: It broke."
    record.task("quality").state, record.task("quality").error = "failed", "It broke <b>here</b>."
    Runs(own_gallery.home).save(record)
    with TestClient(create_app(own_gallery.home, access)) as client:
        page = client.get(f"/runs/{RUN}/tasks/quality").text
        assert html.escape("It broke <b>here</b>.") in page
        assert "first line of quality" in page
        assert f"dogflow rerun {RUN} quality --downstream" in page
        assert f"dogflow rerun {RUN} quality --downstream" in client.get(f"/runs/{RUN}").text


def test_no_page_of_an_embedded_store_holds_its_keys(tmp_path, s3_env, access, gallery):
    """The same artifacts in an S3 bucket, whose keys stand in no answer."""
    from components.data.storage import open_store
    from pipelines.store.server import BUCKET

    root = f"s3://{BUCKET}/console"
    target = open_store(root)
    for entry in gallery.store.list():
        target.write(entry.path, gallery.store.read(entry.path))
    runs = Runs(tmp_path / "home")
    runs.save(gallery.record_of(gallery.made, root))

    with TestClient(create_app(tmp_path / "home", access)) as client:
        for name, url in pages(gallery).items():
            answer = client.get(url)
            assert answer.status_code == 200, (name, answer.text[:300])
            assert s3_env.secret_key not in answer.text and s3_env.access_key not in answer.text, name


def test_a_store_that_is_away_is_told_in_a_sentence(own_gallery, access, monkeypatch):
    monkeypatch.setenv("DOGFLOW_STORE_TIMEOUT_S", "0")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "verysecret")
    Runs(own_gallery.home).save(own_gallery.record.model_copy(update={"data_root": "s3://away/data"}))
    with TestClient(create_app(own_gallery.home, access)) as client:
        assert client.get("/").status_code == 200
        assert client.get(f"/runs/{RUN}").status_code == 200
        answer = client.get(f"/artifacts/{own_gallery.dataset.id}")
        assert answer.status_code == 404 and "verysecret" not in answer.text
        page = client.get("/lineage")
        assert page.status_code == 200 and "s3://away/data" in page.text and "verysecret" not in page.text

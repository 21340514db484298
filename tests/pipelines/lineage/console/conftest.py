"""A small gallery with hostile names, through the real steps, and the console over it."""

import json
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, sync_playwright
from starlette.testclient import TestClient

from components.data.manifest import DatasetManifest
from components.data.storage import open_store
from components.data.task import artifact_metadata
from pipelines.demo.dataset import make_dataset
from pipelines.lineage.console.app import create_app
from pipelines.lineage.console.security import Access
from pipelines.runners.bare import run_step
from pipelines.runs.record import ArtifactRecord, RunRecord, Runs, TaskRecord

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
RUN = "20260101-120000-curation-abcd"
LIMITS = {
    "min_side_px": 128,
    "laplacian_variance": 100.0,
    "color_shift": 0.85,
    "clip_similarity": -1.0,
    "foreground_ratio": 0.0,
    "breed_required": False,
}
SCRIPT = "<script>window.pwned=1</script><img src=x onerror=window.pwned=2>"
HOSTILE = {
    "tag": SCRIPT,
    "quotes": "\"'`><svg onload=window.pwned=3> a dog that sits in the green park today",
    "jinja": "{{ 7*7 }} {% raw %} ${7*7} a dog that sits in the green park",
    "bidi": "a dog \u202egnitirw yzarc\u202c sits in the green park with \u2066others\u2069",
    "long": "dog " * 2500 + "END",
    "path": "../../../../etc/passwd %2e%2e%2f a dog in the park on a day",
    "unicode": "собака 狗 كلب 🐕 a dog sits in the green park all day",
}


def add_hostile(source: Path) -> dict[str, str]:
    """Append rows with hostile captions, sources and file names; returns their captions by file."""
    picture = next(path for path in sorted((source / "images").rglob("*.jpg")) if path.stat().st_size > 3000)
    data = picture.read_bytes()
    written = {}
    with (source / "captions.jsonl").open("a", encoding="utf-8") as file:
        for name, caption in HOSTILE.items():
            place = f'images/{name} "><img src=x onerror=window.pwned=4> \u202e.jpg'
            # A byte behind the end makes another photo of it.
            (source / place).write_bytes(data + name.encode())
            row = {"file": place, "caption": caption, "breed": "pug", "source": SCRIPT, "license": "CC0-1.0"}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            written[place] = caption
    return written


def selected(root: str, source: Path, name: str = "demo", **ingest: Any) -> list[DatasetManifest]:
    """The steps up to selection; returns the dataset after each."""
    made: list[DatasetManifest] = []
    for step, options in (
        ("ingest", {"source": str(source), "name": name, "shard_rows": 40, **ingest}),
        ("captions", {}),
        ("quality", {}),
        ("duplicates", {"near_distance": 4}),
        ("selection", LIMITS),
    ):
        inputs = [f"{root}/{made[-1].path}"] if made else []
        manifest = run_step(step, inputs, root, options)
        assert isinstance(manifest, DatasetManifest)
        made.append(manifest)
    return made


def record_of(made: list[DatasetManifest], root: str, run_id: str = RUN) -> RunRecord:
    """The record of a run that made these datasets."""
    tasks, before = [], None
    for manifest in made:
        result = ArtifactRecord(
            type="system.Dataset", path=f"/{manifest.step}", metadata=artifact_metadata(manifest, root, 1.0)
        )
        tasks.append(
            TaskRecord(
                name=manifest.step,
                step=manifest.step,
                state="succeeded",
                started_at="2026-01-01T12:00:00.000+00:00",
                ended_at="2026-01-01T12:00:01.500+00:00",
                attempts=1,
                parameters={"data_root": root},
                inputs={"dataset": before} if before else {},
                outputs={"result": result},
                log=f"tasks/{manifest.step}/log.txt",
                progress="48/48 rows, 100 rows/s",
            )
        )
        before = result
    return RunRecord(
        run_id=run_id,
        pipeline="curation",
        runner="subprocess",
        state="succeeded",
        started_at="2026-01-01T12:00:00.000+00:00",
        ended_at="2026-01-01T12:01:00.000+00:00",
        data_root=root,
        options={manifest.step: dict(manifest.options) for manifest in made},
        tasks=tasks,
    )


@pytest.fixture(scope="session")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A home with one run over a data root in a folder. Tests that write to it take `own_gallery`."""
    folder = tmp_path_factory.mktemp("gallery")
    source = make_dataset(
        folder / "source", clean_per_breed=4, defect_share=0.2, breeds=("pug", "samoyed", "pembroke")
    )
    hostile = add_hostile(source)
    root = (folder / "data").as_uri()
    made = selected(root, source)
    runs = Runs(folder / "home")
    record = record_of(made, root)
    runs.save(record)
    for task in record.tasks:
        log = runs.folder_of(RUN) / task.log
        log.parent.mkdir(parents=True)
        log.write_text(f"first line of {task.name}\n{SCRIPT}\n", encoding="utf-8")
    return SimpleNamespace(
        folder=folder,
        home=folder / "home",
        root=root,
        source=source,
        store=open_store(root),
        made=made,
        dataset=made[-1],
        record=record,
        record_of=record_of,
        selected=selected,
        hostile=hostile,
    )


@pytest.fixture
def own_gallery(gallery: SimpleNamespace, tmp_path: Path) -> SimpleNamespace:
    """The gallery with a home of the test's own; the data is shared."""
    shutil.copytree(gallery.home, tmp_path / "home")
    return SimpleNamespace(**{**vars(gallery), "home": tmp_path / "home"})


@pytest.fixture
def access() -> Access:
    """What the test client's host is asked for: loopback rules."""
    return Access(frozenset({"testserver"}))


@pytest.fixture
def client(own_gallery: SimpleNamespace, access: Access) -> Iterator[TestClient]:
    """A browser without a browser, on the gallery."""
    with TestClient(create_app(own_gallery.home, access), raise_server_exceptions=False) as made:
        yield made


@pytest.fixture
def csrf(access: Access) -> dict[str, str]:
    """The header with which our own pages post."""
    return {"x-csrf-token": access.csrf}


@contextmanager
def served(app: Any) -> Iterator[str]:
    """An application on a free port of loopback; its URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()


@pytest.fixture
def serve() -> Iterator[Callable[[Any], str]]:
    """Serves applications until the end of the test; gives their URLs."""
    with ExitStack() as stack:
        yield lambda app: stack.enter_context(served(app))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Opens browser contexts in which nothing may execute that is not ours: they collect what went wrong.

    `context.faults` are dialogs, errors of scripts, and what the content policy blocked.
    """
    opened: list[BrowserContext] = []

    def visit(**options: Any) -> BrowserContext:
        context = chromium.new_context(**options)
        faults: list[str] = []
        context.faults = faults  # type: ignore[attr-defined]
        context.on("dialog", lambda dialog: (faults.append(f"dialog {dialog.message}"), dialog.dismiss()))
        context.on("weberror", lambda error: faults.append(f"error {error.error}"))
        context.on(
            "console",
            lambda message: (
                faults.append(message.text) if "Content Security Policy" in message.text else None
            ),
        )
        opened.append(context)
        return context

    yield visit
    for context in opened:
        context.close()

"""Takes the README's pictures of the console: `python tests/golden/make_console.py HOME` of a finished demo.

HOME is the dogflow home of a `dogflow demo`. Writes tests/golden/console/*.webp.
"""

import io
import socket
import sys
from pathlib import Path
from threading import Thread

import uvicorn
from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from pipelines.lineage.console.app import create_app
from pipelines.lineage.console.security import access_for
from pipelines.runs.record import RunRecord, Runs

CHROMIUM = "/usr/bin/chromium"
FOLDER = Path(__file__).with_name("console")
SIZE = {"width": 1200, "height": 860}
QUALITY = 82
WAIT_MS = 60_000


def main() -> None:
    """Serve the home's console and visit four of its pages."""
    home = Path(sys.argv[1]).absolute()
    demo = next(run for run in reversed(list(Runs(home))) if run.state == "succeeded" and not run.parent_run)
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(home, access_for("127.0.0.1")), log_level="warning"))
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    FOLDER.mkdir(exist_ok=True)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", viewport=SIZE)
            page.set_default_timeout(WAIT_MS)
            shoot(page, demo)
            browser.close()
    finally:
        server.should_exit = True
        thread.join()


def shoot(page: Page, demo: RunRecord) -> None:
    """Four pictures."""
    selected = demo.result("selection").metadata["dataset_id"]
    page.goto(f"/runs/{demo.run_id}", wait_until="networkidle")
    save(page, "run")
    page.goto(f"/artifacts/{selected}/thresholds", wait_until="networkidle")
    page.fill("input[name=foreground_ratio]", "0.32")
    expect(page.locator("#outcome")).to_have_attribute("aria-busy", "false")
    page.locator(".slider[data-name=clip_similarity]").evaluate(
        "(box) => scrollTo(0, box.getBoundingClientRect().top + scrollY - 130)"
    )
    page.wait_for_load_state("networkidle")
    save(page, "thresholds")
    page.goto(f"/artifacts/{selected}/review", wait_until="networkidle")
    # The path of the machine that took the picture says nothing to others.
    page.locator(".lead code").evaluate("(code) => { code.textContent = '.dogflow/reviews/demo.jsonl'; }")
    save(page, "review")
    page.goto(f"/lineage?id={selected}&up=2&down=99", wait_until="networkidle")
    save(page, "lineage")


def save(page: Page, name: str) -> None:
    """What the page shows, as WebP."""
    Image.open(io.BytesIO(page.screenshot())).save(FOLDER / f"{name}.webp", quality=QUALITY, method=6)


if __name__ == "__main__":
    main()

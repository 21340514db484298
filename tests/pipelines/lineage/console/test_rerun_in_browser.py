"""Reruns that are started in the console: with moved thresholds, and with reviews."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from components.data.manifest import DatasetManifest
from components.data.storage import open_store
from components.data.task import Task
from components.selection import step as selection
from components.selection.options import SelectionOptions
from pipelines.launch import launch
from pipelines.launch import plan as plan_run
from pipelines.lineage.console.app import create_app
from pipelines.lineage.console.columns import Columns
from pipelines.lineage.console.security import access_for
from pipelines.runners.view import SilentView
from pipelines.runs.diff import selected_dataset
from pipelines.runs.record import Runs
from pipelines.values import resolve

pytestmark = [pytest.mark.browser, pytest.mark.slow]
RUN_MS = 300_000
LIMITS = {
    "min_side_px": 128,
    "color_shift": 0.85,
    "clip_similarity": -1.0,
    "foreground_ratio": 0.0,
    "breed_required": False,
}


@pytest.fixture
def ran(gallery, tmp_path, monkeypatch):
    """(home, record) of a run of the quick pipeline on the gallery's photos, by the real runner."""
    here = str(Path(__file__).parent)
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]).rstrip(":"))
    from quick_pipelines import quick

    given = {f"selection.{name}": value for name, value in LIMITS.items()}
    given |= {
        "ingest.source": str(gallery.source),
        "ingest.name": "demo",
        "data_root": str(tmp_path / "data"),
    }
    planned = plan_run(quick, resolve(quick, assignments=[], given=given), runner="subprocess")
    record = launch(planned, tmp_path / "home", SilentView())
    assert record.state == "succeeded", record.error
    return tmp_path / "home", record


@pytest.fixture
def page(ran, visit, serve):
    """A page at the console of the run's home; relative URLs work."""
    return visit(base_url=serve(create_app(ran[0], access_for("127.0.0.1")))).new_page()


def dataset_of(record):
    return str(record.result("selection").metadata["dataset_id"])


def finished(page, home):
    """Wait on the page of a new run until it has ended well; its record."""
    page.wait_for_url("**/runs/*", timeout=RUN_MS)
    expect(page.locator("#run-state")).to_have_text("succeeded", timeout=RUN_MS)
    return Runs(home).read(page.url.rpartition("/")[2])


def test_a_rerun_with_moved_thresholds_keeps_what_the_explorer_showed(ran, page):
    home, earlier = ran
    page.goto(f"/artifacts/{dataset_of(earlier)}/thresholds")
    page.fill("input[name=laplacian_variance]", "420")
    page.uncheck("input[name=caption_vague]")
    expect(page.locator("#outcome")).to_have_attribute("aria-busy", "false")
    kept = int(page.inner_text("#kept"))
    assert page.inner_text("#came") != "0" or page.inner_text("#went") != "0"
    page.click("#plan")
    expect(page.locator("#planned")).to_contain_text(
        "selection.laplacian_variance: 100 → 420", timeout=RUN_MS
    )
    expect(page.locator("#planned")).to_contain_text("Reuses ingest, captions, quality, duplicates.")
    assert len(Runs(home).ids()) == 1, "a plan starts nothing"

    page.click("#launch")
    record = finished(page, home)
    assert (record.parent_run, record.rerun_of) == (earlier.run_id, "selection")
    assert [task.name for task in record.tasks if task.state == "succeeded"] == ["selection"]
    made = selected_dataset(home, record, "selection")
    assert made.counters["kept"] == kept
    before = earlier.task("duplicates").outputs["result"].metadata["data_uri"]
    store = open_store(record.data_root)
    parent = DatasetManifest.load(store, before.removeprefix(record.data_root).lstrip("/"))
    options = SelectionOptions(**LIMITS, laplacian_variance=420, caption_vague=False)
    assert selection.run(Task(record.data_root), parent, options=options).id == made.id

    page.goto(f"/compare?before={earlier.run_id}&after={record.run_id}")
    expect(page.locator("main")).to_contain_text(f"{kept} after")
    expect(page.locator("main")).to_contain_text("selection.laplacian_variance")


def test_reviews_are_taken_in_by_the_run_that_the_page_starts(ran, page):
    home, earlier = ran
    page.goto(f"/artifacts/{dataset_of(earlier)}/review?queue=kept", wait_until="networkidle")
    for number in (1, 2):
        page.keyboard.press("r")
        expect(page.locator("#said")).to_contain_text(f"Photo {number}: reviewed")
    page.click("form.rerun button[type=submit]")
    record = finished(page, home)

    def tiers(run):
        store, made = open_store(run.data_root), selected_dataset(home, run, "selection")
        table = Columns().table(store, made, ["image_id", "tier"]).to_pylist()
        return {row["image_id"]: row["tier"] for row in table}

    before, after = tiers(earlier), tiers(record)
    changed = {id: (before[id], tier) for id, tier in after.items() if before[id] != tier}
    assert len(changed) == 2 and set(changed.values()) == {(-1, 0)}
    counted = [run.task("selection").counters["kept_tier_0"] for run in (earlier, record)]
    assert counted[1] == counted[0] + 2, "only kept photos were in the queue"


def test_a_rerun_that_cannot_be_planned_says_why(ran, page):
    home, earlier = ran
    page.goto(f"/runs/{earlier.run_id}/tasks/selection")
    page.fill("textarea", "selection.laplacian_varience=3")
    page.click("form.rerun button[type=submit]")
    expect(page.locator("form.rerun .plan")).to_contain_text("laplacian_variance", timeout=RUN_MS)
    assert len(Runs(home).ids()) == 1

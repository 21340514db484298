"""The console in a real browser: what it shows, how fast, and that nothing hostile executes."""

import json

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from components.data.storage import open_store
from components.data.task import Task
from components.ingest.reviews import Reviews
from components.selection import step as selection
from components.selection.options import SelectionOptions
from components.selection.rules import needed_columns
from pipelines.bench.rows import scored_dataset, scored_rows
from pipelines.lineage.console.app import create_app
from pipelines.lineage.console.columns import Columns
from pipelines.lineage.console.security import Access, access_for
from pipelines.runs.record import Runs, TaskRecord, this_process

pytestmark = pytest.mark.browser
RUN = "20260101-120000-curation-abcd"  # of the conftest beside
FIRST_PAINT_MS = 1000
ANSWER_MS = 300
WAIT_MS = 60_000  # the machine may be busy


@pytest.fixture
def url(own_gallery, serve):
    """Where the gallery's console is."""
    return serve(create_app(own_gallery.home, access_for("127.0.0.1")))


def paths(gallery):
    id = gallery.dataset.id
    last = Columns().table(gallery.store, gallery.dataset, ["image_id"]).column(0)[-1].as_py()
    return {
        "runs": "/",
        "run": f"/runs/{RUN}",
        "task": f"/runs/{RUN}/tasks/selection",
        "artifact": f"/artifacts/{id}",
        "rows": f"/artifacts/{gallery.made[0].id}/rows?page=2",
        "thresholds": f"/artifacts/{id}/thresholds",
        "review": f"/artifacts/{id}/review?queue=all",
        "lineage": "/lineage",
        "node": f"/lineage?id={id}&up=99&down=99",
        "photo": f"/lineage/photos/{last}",
        "compare": f"/compare?before={RUN}&after={RUN}",
        "missing": "/runs/absent",
    }


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_the_screen_are_accessible_and_execute_nothing(visit, url, gallery, width, scheme):
    context = visit(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    for name, path in paths(gallery).items():
        page.goto(url + path, wait_until="networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        found = Axe().run(page).response["violations"]
        assert [(item["id"], [node["html"][:200] for node in item["nodes"][:3]]) for item in found] == [], (
            name
        )
        assert page.evaluate("typeof window.pwned") == "undefined", name
    assert context.faults == []


def test_pages_load_nothing_from_elsewhere(visit, url, gallery):
    context = visit()
    asked = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    for path in paths(gallery).values():
        page.goto(url + path, wait_until="networkidle")
    assert len(asked) > 50
    assert [other for other in asked if not other.startswith(url + "/")] == []


def settled(page):
    """Wait until the explorer shows the answer to the last move."""
    expect(page.locator("#outcome")).to_have_attribute("aria-busy", "false", timeout=WAIT_MS)


def test_a_moved_threshold_shows_what_the_real_selection_would_keep(visit, url, gallery):
    page = visit().new_page()
    page.goto(f"{url}/artifacts/{gallery.dataset.id}/thresholds")
    before = np.asarray(Columns().table(gallery.store, gallery.dataset, ["keep"]).column(0))
    assert page.inner_text("#kept") == f"{before.sum():,}"
    for value in ("300", "0", "700"):
        page.fill("input[name=laplacian_variance]", value)
        settled(page)
        options = SelectionOptions(**{**gallery.dataset.options, "laplacian_variance": float(value)})
        table = Columns().table(gallery.store, gallery.dataset, needed_columns(options))
        keep = np.asarray(selection.select(table, options).column("keep"))
        shown = [page.inner_text(f"#{name}") for name in ("kept", "came", "went")]
        assert shown == [str(n) for n in (keep.sum(), (keep & ~before).sum(), (before & ~keep).sum())]
        assert page.input_value("#range-laplacian_variance") == value or float(value) > 700
        came = page.locator("#came-photos li").count()
        assert came == min((keep & ~before).sum(), 24)
    assert page.inner_text("#changes") == "selection.laplacian_variance=700.0"
    page.click("button[type=reset]")
    expect(page.locator("#changes")).to_have_text("None yet.")
    assert page.inner_text("#kept") == f"{before.sum():,}"
    assert page.is_disabled("#launch")


def test_thresholds_move_by_keyboard_and_are_announced(visit, url, gallery):
    page = visit().new_page()
    page.goto(f"{url}/artifacts/{gallery.dataset.id}/thresholds")
    page.focus("#range-laplacian_variance")
    page.keyboard.press("End")
    settled(page)
    high = page.get_attribute("#range-laplacian_variance", "max")
    assert float(page.input_value("input[name=laplacian_variance]")) == float(high)
    assert page.inner_text("#said") == " ".join(
        [
            f"{page.inner_text('#kept')} kept,",
            f"{page.inner_text('#came')} come,",
            f"{page.inner_text('#went')} go",
        ]
    )


def ids_in(page):
    """image ids of the queue's photos, as the server gives them."""
    return page.evaluate(
        "fetch(location.pathname.replace('/artifacts/', '/api/reviews/').replace(/\\/review$/, '')"
        " + location.search).then((r) => r.json()).then((b) => b.photos)"
    )


def test_marks_made_by_keyboard_make_photos_tier_0_in_the_next_run(visit, url, own_gallery, tmp_path):
    context = visit()
    page = context.new_page()
    page.goto(
        f"{url}/artifacts/{own_gallery.dataset.id}/review?queue=kept&breed=pug", wait_until="networkidle"
    )
    photos = ids_in(page)
    page.keyboard.press("r")
    expect(page.locator("#said")).to_contain_text("Photo 1")
    page.select_option("#right", "samoyed")
    page.locator("#right").blur()
    page.keyboard.press("w")
    expect(page.locator("#said")).to_contain_text("Photo 2")
    page.keyboard.press("r")
    expect(page.locator("#said")).to_contain_text("Photo 3")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("u")
    expect(page.locator("#said")).to_contain_text("Mark taken back")

    file = own_gallery.home / "reviews" / "demo.jsonl"
    root = (tmp_path / "next").as_uri()
    after = own_gallery.selected(root, own_gallery.source, reviews=str(file))[-1]
    names = ["image_id", "tier", "breed", "reviewed"]
    rows = {row["image_id"]: row for row in Columns().table(open_store(root), after, names).to_pylist()}
    before = {
        row["image_id"]: row
        for row in Columns().table(own_gallery.store, own_gallery.dataset, names).to_pylist()
    }
    first, second, third = (photo["image_id"] for photo in photos[:3])
    assert [before[id]["tier"] for id in (first, second, third)] == [-1, -1, -1]
    assert (rows[first]["tier"], rows[first]["breed"]) == (0, "pug")
    assert (rows[second]["tier"], rows[second]["breed"]) == (0, "samoyed")
    assert rows[third] == before[third], "undone"
    changed = {id for id in rows if rows[id] != before[id]}
    assert changed == {first, second}
    assert context.faults == []


def test_two_tabs_lose_no_mark(visit, url, own_gallery):
    context = visit()
    tabs = [context.new_page() for _ in range(2)]
    photos = []
    for tab in tabs:
        tab.goto(f"{url}/artifacts/{own_gallery.dataset.id}/review?queue=all", wait_until="networkidle")
        photos = ids_in(tab)
    for _ in range(4):
        tabs[1].keyboard.press("ArrowRight")
    for at in range(4):
        tabs[0].keyboard.press("r")
        tabs[1].keyboard.press("w")
        for tab, number in ((tabs[0], at + 1), (tabs[1], at + 5)):
            expect(tab.locator("#said")).to_contain_text(f"Photo {number}:")
    file = own_gallery.home / "reviews" / "demo.jsonl"
    marks = {line["image_id"]: line["mark"] for line in map(json.loads, file.read_text().splitlines())}
    wanted = [photo["image_id"] for photo in photos[:8]]
    assert marks == {id: "reviewed" if at < 4 else "wrong" for at, id in enumerate(wanted)}
    assert len(Reviews(file.read_bytes(), file.name)) == 8


def test_a_run_that_goes_on_is_shown_without_a_reload(visit, serve, own_gallery):
    runs = Runs(own_gallery.home)
    record = own_gallery.record.model_copy(deep=True, update={"run_id": "20260102-000000-curation-live"})
    record.state, record.ended_at = "running", ""
    record.process, record.process_started = this_process().values()
    for task in record.tasks[2:]:
        task.state, task.started_at, task.ended_at, task.outputs = "pending", "", "", {}
    record.tasks[2].state = "running"
    runs.save(record)
    page = visit().new_page()
    page.goto(f"{serve(create_app(own_gallery.home, access_for('127.0.0.1')))}/runs/{record.run_id}")
    box = page.locator("[data-box=quality]")
    assert "running" in box.get_attribute("aria-label")
    record.tasks[2].progress = "12/48 rows, 7 rows/s"
    runs.save(record)
    expect(box).to_contain_text("12/48 rows")
    record.tasks[2].state, record.tasks[2].error = "failed", "It broke."
    record.state, record.error = "failed", "quality: It broke."
    runs.save(record)
    page.wait_for_selector("[data-box=quality].state-failed")
    assert page.inner_text("#run-error") == "quality: It broke."
    assert page.inner_text("#announce") == "The run failed."


def test_another_site_reads_nothing_and_changes_nothing(visit, url, serve, own_gallery):
    id = own_gallery.dataset.id
    attack = f"""<!doctype html><title>evil</title><form id=f method=post action="{url}/api/reviews/{id}">
    <input name=row value=1></form><iframe id=i src="{url}/"></iframe><img id=p src="{url}/photos/{id}/1/160">
    <script>
    const outcome = {{}};
    const ask = (name, options) => fetch("{url}/api/reviews/{id}", options).then(
      async (r) => outcome[name] = r.type + r.status + await r.text(), (e) => outcome[name] = "refused");
    window.done = Promise.all([
      ask("read", {{}}), ask("blind", {{mode: "no-cors"}}),
      ask("json", {{method: "POST", headers: {{"content-type": "application/json"}}, body: "{{}}"}}),
      ask("text", {{method: "POST", mode: "no-cors", body: '{{"row": 1}}'}}),
    ]).then(() => outcome);
    </script>"""

    async def page_of_evil(request):
        return HTMLResponse(attack)

    evil = serve(Starlette(routes=[Route("/", page_of_evil)]))
    context = visit()
    context.new_page().goto(url)
    page = context.new_page()
    page.goto(evil, wait_until="load")
    outcome = page.evaluate("window.done")
    assert outcome["read"] == outcome["json"] == "refused"
    assert outcome["blind"] in ("refused", "opaque0") and outcome["text"] in ("refused", "opaque0")
    assert page.evaluate("document.getElementById('p').naturalWidth") == 0
    with page.expect_navigation():
        page.evaluate("document.getElementById('f').submit()")
    assert "refused" in page.inner_text("body")
    assert not (own_gallery.home / "reviews").exists()


def test_beyond_loopback_the_link_lets_one_browser_in_once(visit, serve, own_gallery):
    access = Access(frozenset({"127.0.0.1"}), token="t" * 40)
    url = serve(create_app(own_gallery.home, access))
    link = f"{url}/login?link={access.link}"
    mine, other = visit().new_page(), visit().new_page()
    assert mine.goto(url).status == 401
    mine.goto(link)
    mine.wait_for_selector("text=" + RUN)
    mine.goto(f"{url}/artifacts/{own_gallery.dataset.id}/thresholds", wait_until="networkidle")
    mine.fill("input[name=laplacian_variance]", "300")
    settled(mine)
    assert mine.evaluate("document.cookie") == "", "scripts cannot read it"
    assert other.goto(link).status == 403
    assert other.goto(url).status == 401


def test_the_list_of_a_thousand_runs_first_paints_within_a_second(visit, serve, tmp_path, gallery):
    runs = Runs(tmp_path / "home")
    tasks = [*gallery.record.tasks, *(TaskRecord(name=f"stage{at}", step="training") for at in range(13))]
    for number in range(1000):
        run_id = f"202601{number // 100 + 1:02d}-{number % 100:06d}-dog-breed-{number:04x}"
        runs.save(gallery.record.model_copy(update={"run_id": run_id, "tasks": tasks}))
    url = serve(create_app(tmp_path / "home", access_for("127.0.0.1")))
    page = visit().new_page()
    page.goto(f"{url}/static/icon.svg")  # a browser that runs, as a person's does
    page.goto(url)
    paint_ms = page.evaluate(PAINT)
    print(f"\nfirst paint of the list of 1,000 runs: {paint_ms:.0f} ms")
    assert paint_ms < FIRST_PAINT_MS
    assert "1,000 runs" in page.inner_text("caption")
    assert page.locator("tbody tr").count() == 50
    page.click("text=Next")
    assert page.inner_text("tbody tr:first-child a") == "20260110-000049-dog-breed-03b5"


# From the start of the navigation to the first text on the screen.
PAINT = """() => new Promise((resolve) => new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (entry.name === "first-contentful-paint") resolve(entry.startTime);
  }
}).observe({ type: "paint", buffered: true }))"""
# From the input event to the frame after the DOM has the answer, as a person would see it.
DRAG = """async (values) => {
  const range = document.getElementById("range-laplacian_variance");
  const outcome = document.getElementById("outcome"), found = [];
  for (const value of values) {
    const start = performance.now();
    range.value = value;
    range.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((resolve) => {
      const watcher = new MutationObserver(() => {
        if (outcome.getAttribute("aria-busy") === "false") { watcher.disconnect(); resolve(); }
      });
      watcher.observe(outcome, { attributes: true });
    });
    found.push([performance.now() - start, document.getElementById("kept").textContent]);
  }
  return found;
}"""


@pytest.mark.slow
def test_a_million_rows_answer_a_moved_threshold_within_300_ms(visit, serve, tmp_path, gallery):
    root = (tmp_path / "data").as_uri()
    table = scored_rows(1_000_000)
    base = SelectionOptions()
    dataset = selection.run(Task(root), scored_dataset(open_store(root), table), options=base)
    Runs(tmp_path / "home").save(gallery.record_of([dataset], root))
    url = serve(create_app(tmp_path / "home", access_for("127.0.0.1")))
    page = visit().new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(f"{url}/artifacts/{dataset.id}/thresholds", wait_until="networkidle", timeout=WAIT_MS)
    values = [20, 45, 60, 80, 110, 140, 180, 240, 300, 400, 520, 640]
    found = page.evaluate(DRAG, values)
    times_ms = sorted(ms for ms, _ in found)
    print(
        f"\n1,000,000 rows, {len(values)} moves: "
        f"median {np.median(times_ms):.0f} ms, most {times_ms[-1]:.0f} ms"
    )
    for value, (_, kept) in zip(values[::4], found[::4], strict=True):
        options = base.model_copy(update={"laplacian_variance": float(value)})
        keep = selection.select(table.select(needed_columns(options)), options).column("keep")
        assert kept == f"{np.asarray(keep).sum():,}"
    # The median: one move in twelve may meet another program at work.
    assert np.median(times_ms) < ANSWER_MS

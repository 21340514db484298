"""The list of runs, a run as it goes, and its tasks."""

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from pipelines.lineage.console import relaunch
from pipelines.lineage.console.catalog import Catalog, Missing
from pipelines.lineage.console.logs import log_tail
from pipelines.lineage.console.relaunch import Request
from pipelines.lineage.console.site import Site, TheSite
from pipelines.runners.view import duration
from pipelines.runs.record import DONE, GOING, RunError, RunRecord, TaskRecord

router = APIRouter()
PAGE_RUNS = 50


@router.get("/")
def runs_page(site: TheSite, page: int = 1, q: str = "") -> Response:
    """Runs, the newest first, of those whose id holds `q`. Reads the records of one page alone."""
    ids = [run_id for run_id in site.catalog.runs.ids() if q.strip().lower() in run_id.lower()]
    pages = max(1, -(-len(ids) // PAGE_RUNS))
    page = min(max(page, 1), pages)
    rows = [_line(site.catalog, run_id) for run_id in ids[(page - 1) * PAGE_RUNS : page * PAGE_RUNS]]
    return site.pages.render(
        "runs.html.j2", {"rows": rows, "total": len(ids), "page": page, "pages": pages, "q": q}
    )


def _line(catalog: Catalog, run_id: str) -> dict[str, Any]:
    """A line of the list; a record that cannot be read has its reason as error."""
    try:
        run = catalog.runs.summary(run_id)
    except RunError as error:
        return {"run_id": run_id, "run": None, "done": 0, "error": str(error)}
    done = sum(task.state in DONE for task in run.tasks)
    return {"run_id": run_id, "run": run, "done": done, "error": run.error}


@router.get("/runs/{run_id}")
def run_page(site: TheSite, run_id: str) -> Response:
    """A run as a graph of its tasks."""
    record = site.catalog.record(run_id)
    boxes = {box.name: box for box in site.dags.boxes(record)}
    drawing = site.dags.drawing(record)
    return site.pages.render(
        "run.html.j2",
        {
            "record": record,
            "boxes": boxes,
            "drawing": drawing,
            "done": sum(task.state in DONE for task in record.tasks),
            "options": _options_shown(record),
            "how_to_go_on": how_to_go_on(record),
            "live": record.state in GOING,
        },
    )


@router.get("/api/runs/{run_id}")
def run_state(site: TheSite, run_id: str) -> dict[str, Any]:
    """What of a run changes while it goes."""
    record = site.catalog.record(run_id)
    return {
        "state": record.state,
        "seconds": duration(record.seconds),
        "done": sum(task.state in DONE for task in record.tasks),
        "error": record.error,
        "boxes": [
            {**asdict(box), "work": box.work, "seconds": duration(box.seconds) if box.seconds else ""}
            for box in site.dags.boxes(record)
        ],
    }


@router.get("/runs/{run_id}/tasks/{task_name}")
def task_page(site: TheSite, run_id: str, task_name: str) -> Response:
    """One task: what it was given, what it made, how it went."""
    record = site.catalog.record(run_id)
    task = _task(record, task_name)
    return site.pages.render(
        "task.html.j2",
        {
            "record": record,
            "task": task,
            "log": log_tail(site.catalog.runs, run_id, task),
            "inputs": {name: _artifact(artifact.metadata) for name, artifact in task.inputs.items()},
            "outputs": {
                name: _artifact(artifact.metadata)
                for name, artifact in task.outputs.items()
                if name != "metrics"
            },
            "prefix": prefix_of(record, task),
            "unit": _unit(site, record, task),
            "how_to_go_on": how_to_go_on(record) if task.state in ("failed", "interrupted") else "",
            "live": record.state in GOING,
        },
    )


@router.get("/api/runs/{run_id}/tasks/{task_name}")
def task_state(site: TheSite, run_id: str, task_name: str) -> dict[str, Any]:
    """What of a task changes while it goes."""
    record = site.catalog.record(run_id)
    task = _task(record, task_name)
    return {
        "state": task.state,
        "seconds": duration(task.seconds) if task.seconds else "",
        "progress": task.progress,
        "error": task.error,
        "log": log_tail(site.catalog.runs, run_id, task),
        "over": record.state not in GOING,
    }


@router.post("/api/rerun/plan")
def plan_rerun(site: TheSite, request: Request) -> dict[str, Any]:
    """What a rerun would run, reuse and cost."""
    return relaunch.planned(site.catalog.home, request)


@router.post("/api/rerun/start")
def start_rerun(site: TheSite, request: Request) -> dict[str, str]:
    """Start a rerun; its page is `/runs/{run_id}`."""
    return {"run_id": relaunch.started(site.catalog.home, request)}


def _task(record: RunRecord, name: str) -> TaskRecord:
    try:
        return record.task(name)
    except RunError as error:
        raise Missing(str(error)) from None


def _artifact(metadata: dict[str, Any]) -> dict[str, str]:
    """The id and the name of an artifact from its KFP metadata; "" where it has none."""
    kinds = ("dataset", "model", "samples", "evaluation", "report")
    found = next((str(metadata[f"{kind}_id"]) for kind in kinds if metadata.get(f"{kind}_id")), "")
    return {"id": found, "name": str(metadata.get("display_name", ""))}


def _unit(site: Site, record: RunRecord, task: TaskRecord) -> str:
    """What a rerun calls the task: the parts of a split step stand for the whole."""
    units = site.dags.units(record).tasks
    return next((name for name, tasks in units.items() if task.name in tasks), task.name)


def prefix_of(record: RunRecord, task: TaskRecord) -> str:
    """The prefix under which a task's options stand in a record: `selection`, `general_selection`, ..."""
    name = task.name.rpartition(".")[0] or task.name.removesuffix("-merge")
    named = name.replace("-", "_")
    return named if named in record.options else task.step


def _options_shown(record: RunRecord) -> dict[str, dict[str, Any]]:
    return {prefix: options for prefix, options in record.options.items() if options}


def how_to_go_on(record: RunRecord) -> str:
    """The command that goes on with a run that failed or was interrupted; "" for others."""
    stopped = [task for task in record.tasks if task.state in ("failed", "interrupted")]
    if record.state not in ("failed", "interrupted") or not stopped:
        return ""
    first = stopped[0].name
    task = first.rpartition(".")[0] or first.removesuffix("-merge")
    return f"dogflow rerun {record.run_id} {task} --downstream"

"""Two runs side by side: options, code, counters, and which photos came and went."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from components.data.manifest import ManifestError
from components.data.storage import NotFound
from pipelines.lineage.console.catalog import check_files
from pipelines.lineage.console.site import Site, TheSite
from pipelines.lineage.roots import open_root
from pipelines.runs.diff import diff, selected_dataset
from pipelines.runs.record import DONE, RunError, RunRecord

router = APIRouter()
PHOTOS_SHOWN = 24
RUNS_OFFERED = 500


@router.get("/compare")
def compare_page(site: TheSite, before: str = "", after: str = "") -> Response:
    """Compare two runs by their ids; without them, choose."""
    content: dict[str, Any] = {"before": before, "after": after, "compared": None, "shown": PHOTOS_SHOWN}
    content["ids"] = site.catalog.runs.ids()[:RUNS_OFFERED]
    if before and after:
        one, other = site.catalog.record(before), site.catalog.record(after)
        for record in (one, other):
            _check_selections(site, record)
        compared = diff(site.catalog.home, one.run_id, other.run_id)
        content["compared"] = compared
        content["datasets"] = {
            name: [str(record.result(name).metadata.get("dataset_id", "")) for record in (one, other)]
            for name in compared.rows
        }
    return site.pages.render("compare.html.j2", content)


def _check_selections(site: Site, record: RunRecord) -> None:
    """Raises LineageError when a selection that `diff` would read names files outside its data root."""
    for task in record.tasks:
        if task.step == "selection" and task.state in DONE:
            try:
                dataset = selected_dataset(site.catalog.home, record, task.name)
            except (NotFound, ManifestError, RunError):
                continue  # `diff` says so
            check_files(open_root(site.catalog.home, record), dataset)

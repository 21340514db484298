"""Two runs side by side: options, code, counters, and which photos came and went."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from pipelines.lineage.console.site import TheSite
from pipelines.runs.diff import diff

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
        compared = diff(site.catalog.home, one.run_id, other.run_id)
        content["compared"] = compared
        content["datasets"] = {
            name: [str(record.result(name).metadata.get("dataset_id", "")) for record in (one, other)]
            for name in compared.rows
        }
    return site.pages.render("compare.html.j2", content)

"""The review page: photos one at a time, marked by keyboard."""

import re
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from components.data.breeds import default_breeds
from components.data.manifest import DatasetManifest
from components.data.scope import float_column
from components.data.storage import Store
from components.ingest.reviews import Review
from components.report.wording import printable
from pipelines.lineage.console.artifacts import origin
from pipelines.lineage.console.catalog import Missing
from pipelines.lineage.console.columns import small_columns
from pipelines.lineage.console.photos import has_photos
from pipelines.lineage.console.reviews import ReviewsFile
from pipelines.lineage.console.rows import Filter, matching, shown_rows
from pipelines.lineage.console.site import Site, TheSite
from pipelines.lineage.console.tuning import breed_name

router = APIRouter()
BATCH_ROWS = 60
_IMAGE_ID = re.compile(r"[0-9a-f]{32}")
Queue = Literal["kept", "all", "marked"]


class MarkRequest(BaseModel):
    """A mark on the photo of one row. `breed` is a key of the breed table, or "" where it is not known."""

    model_config = ConfigDict(extra="forbid")

    row: Annotated[int, Field(ge=0)]
    image_id: str
    action: Literal["reviewed", "wrong", "undo"]
    breed: str = ""


@router.get("/artifacts/{dataset_id}/review")
def review_page(site: TheSite, dataset_id: str, queue: Queue = "kept", breed: str = "") -> Response:
    """Photos to look at: the kept ones that nobody reviewed, the least certain labels first."""
    _, dataset = site.catalog.dataset(dataset_id)
    if not has_photos(dataset):
        raise Missing(f"Dataset {dataset_id} has no photos to review.")
    file = ReviewsFile(site.catalog.home, dataset.name)
    came_from = _ingest_run(site, dataset)
    return site.pages.render(
        "review.html.j2",
        {
            "manifest": dataset,
            "queue": queue,
            "breed": breed,
            "breeds": _breeds(site, dataset_id),
            "table": _right_breeds(site, dataset_id),
            "file": str(file.path),
            "run": came_from,
        },
    )


@router.get("/api/reviews/{dataset_id}")
def review_batch(
    site: TheSite, dataset_id: str, queue: Queue = "kept", breed: str = "", start: int = 0
) -> dict[str, Any]:
    """A batch of photos from a queue, with the marks they have."""
    store, dataset = site.catalog.dataset(dataset_id)
    marks = ReviewsFile(site.catalog.home, dataset.name).marks()
    rows = _queue(site, store, dataset, queue, breed, list(marks))
    some = rows[max(start, 0) : max(start, 0) + BATCH_ROWS]
    photos = []
    for item in shown_rows(site.columns, store, dataset, some, ["breed_confidence", "reviewed"]):
        mark = marks.get(item["image_id"])
        confidence = item.get("breed_confidence")
        photos.append(
            {
                "row": item["row"],
                "image_id": item["image_id"],
                "caption": printable(item["caption"] or "")[:400],
                "breed": breed_name(item["breed"]),
                "place": printable(item["source_uri"] or "")[-200:],
                "confidence": round(confidence, 3) if confidence is not None else None,
                "reviewed": bool(item.get("reviewed")),
                "mark": mark.action if mark else "",
                "right": breed_name(mark.breed) if mark and mark.breed not in ("", "-") else "",
            }
        )
    return {"total": len(rows), "start": max(start, 0), "photos": photos, "marked": len(marks)}


@router.post("/api/reviews/{dataset_id}")
def review_mark(site: TheSite, dataset_id: str, mark: MarkRequest) -> dict[str, Any]:
    """Append a mark to the dataset's reviews file."""
    store, dataset = site.catalog.dataset(dataset_id)
    if mark.row >= dataset.rows:
        raise Missing(f"Dataset {dataset_id} has no row {mark.row}.")
    if mark.breed and mark.breed not in (key for _, key in _right_breeds(site, dataset_id)):
        raise Missing(f"{mark.breed[:80]!r} is no key of the breed table.")
    names = [name for name in ("image_id", "reviewed") if name in small_columns(dataset)]
    row = site.columns.table(store, dataset, names).slice(mark.row, 1).to_pylist()[0]
    # The page may be an old one: the id says which photo its reader saw.
    if row["image_id"] != mark.image_id or not _IMAGE_ID.fullmatch(mark.image_id):
        raise Missing(f"Row {mark.row} of {dataset_id} is another photo now: reload the page.")
    file = ReviewsFile(site.catalog.home, dataset.name)
    file.add(mark.image_id, mark.action, Review(bool(row.get("reviewed")), ""), mark.breed)
    return {"marked": len(file.marks())}


def _queue(
    site: Site, store: Store, dataset: DatasetManifest, queue: Queue, breed: str, marked: list[str]
) -> np.ndarray:
    have = small_columns(dataset)
    filters = [Filter("breed", "is", breed)] if breed else []
    if queue == "marked":
        ids = site.columns.table(store, dataset, ["image_id"]).column(0)
        mine = np.asarray(pc.is_in(ids, value_set=pa.array(marked, pa.string())))
        rows = matching(site.columns, store, dataset, filters)
        return rows[mine[rows]]
    if queue == "kept" and "keep" in have:
        filters.append(Filter("keep", "is", "true"))
    if "reviewed" in have and queue == "kept":
        filters.append(Filter("reviewed", "is not", "true"))
    rows = matching(site.columns, store, dataset, filters)
    if "breed_confidence" not in have:
        return rows
    confidence = float_column(site.columns.table(store, dataset, ["breed_confidence"]), "breed_confidence")
    return rows[np.argsort(np.nan_to_num(confidence[rows], nan=2.0), kind="stable")]


def _breeds(site: Site, dataset_id: str) -> list[tuple[str, str]]:
    store, dataset = site.catalog.dataset(dataset_id)
    if "breed" not in small_columns(dataset):
        return []
    keys = site.columns.table(store, dataset, ["breed"]).column(0).unique().to_pylist()
    return sorted((breed_name(key), key) for key in keys if key)


def _right_breeds(site: Site, dataset_id: str) -> list[tuple[str, str]]:
    """What a label can be corrected to: (name, key) of the breed table and of the dataset's own breeds."""
    known = {key: (breed.name, key) for key, breed in default_breeds().breeds.items()}
    return sorted({**known, **{key: (name, key) for name, key in _breeds(site, dataset_id)}}.values())


def _ingest_run(site: Site, dataset: DatasetManifest) -> str:
    """The newest run of the dataset, whose `ingest` can be run again with the reviews."""
    found = origin(site.catalog, dataset.id)
    return found[0].run_id if found else ""

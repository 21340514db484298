"""An artifact by its id: what it says of itself, and a look into it."""

from pathlib import PurePosixPath
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from components.data.artifacts import REPORT_PAGE, FilesManifest, ReportManifest
from components.data.manifest import DatasetManifest, Manifest
from components.report.charts import line_chart
from components.report.model_results import training_stages
from pipelines.lineage.console.catalog import Catalog, Missing
from pipelines.lineage.console.photos import SIDES_PX, has_photos, picture
from pipelines.lineage.console.rows import (
    OPERATORS,
    PAGE_ROWS,
    Filter,
    FilterError,
    column_help,
    row_page,
)
from pipelines.lineage.console.site import TheSite
from pipelines.lineage.manifests import Found
from pipelines.runs.record import RunRecord, TaskRecord

router = APIRouter()
# A report is a page of its own: no script, nothing loaded, no origin, shown inside the artifact's page.
_REPORT_POLICY = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'"
)
Texts = Annotated[list[str], Query(max_length=20)]


@router.get("/artifacts/{artifact_id}")
def artifact_page(site: TheSite, artifact_id: str) -> Response:
    """What an artifact is, with a preview that suits its kind."""
    found = site.catalog.found(artifact_id)
    manifest = found.manifest
    node = site.catalog.graph().nodes.get(artifact_id)
    return site.pages.render(
        "artifact.html.j2",
        {
            "manifest": manifest,
            "uri": found.uri,
            "made_by": list(node.made_by) if node else [],
            "is_dataset": isinstance(manifest, DatasetManifest),
            "is_report": isinstance(manifest, ReportManifest),
            "selected": is_selected(manifest),
            "photos": isinstance(manifest, DatasetManifest) and has_photos(manifest),
            "groups": _groups(manifest),
            "files": manifest.files if isinstance(manifest, FilesManifest) else {},
            "pictures": _pictures(manifest),
            "stages": _stages(found),
            "text": manifest.to_bytes().decode(),
        },
    )


@router.get("/artifacts/{artifact_id}/manifest.json")
def artifact_manifest(site: TheSite, artifact_id: str) -> Response:
    """The manifest as it is stored."""
    manifest = site.catalog.found(artifact_id).manifest
    return Response(manifest.to_bytes(), media_type="application/json")


@router.get("/artifacts/{artifact_id}/report")
def report_page(site: TheSite, artifact_id: str) -> Response:
    """A report as its step wrote it, in a sandbox."""
    manifest, data = site.catalog.file(artifact_id, REPORT_PAGE)
    if not isinstance(manifest, ReportManifest):
        raise Missing(f"{artifact_id} is no report.")
    headers = {"content-security-policy": _REPORT_POLICY, "x-frame-options": "SAMEORIGIN"}
    return Response(data, media_type="text/html; charset=utf-8", headers=headers)


@router.get("/artifacts/{artifact_id}/pictures/{name}")
def artifact_picture(site: TheSite, artifact_id: str, name: str) -> Response:
    """A grid of pictures among an artifact's files, encoded again."""
    manifest = site.catalog.found(artifact_id).manifest
    if name not in _pictures(manifest):
        raise Missing(f"{artifact_id} has no picture {name!r}.")
    return Response(picture(site.catalog.file(artifact_id, name)[1]), media_type="image/png")


@router.get("/photos/{dataset_id}/{row}/{side_px}")
def photo(site: TheSite, dataset_id: str, row: int, side_px: int) -> Response:
    """A row's photo as a JPEG of one of the offered sizes."""
    if side_px not in SIDES_PX:
        raise Missing(f"Photos come with a long side of {' or '.join(map(str, SIDES_PX))} px.")
    store, dataset = site.catalog.dataset(dataset_id)
    jpeg = site.photos.jpeg(store, dataset, row, side_px)
    # A row of a dataset never changes, as the id says.
    headers = {"cache-control": "private, max-age=86400"}
    return Response(jpeg, media_type="image/jpeg", headers=headers)


@router.get("/artifacts/{dataset_id}/rows")
def rows_page(
    site: TheSite,
    dataset_id: str,
    column: Texts = [],  # noqa: B006 (FastAPI copies it)
    operator: Texts = [],  # noqa: B006
    value: Texts = [],  # noqa: B006
    page: int = 1,
) -> Response:
    """Rows of a dataset with their photos, filtered on any column."""
    store, dataset = site.catalog.dataset(dataset_id)
    filters = filters_of(column, operator, value)
    error = ""
    try:
        shown = row_page(site.columns, store, dataset, filters, page)
    except FilterError as wrong:
        error, shown = str(wrong), row_page(site.columns, store, dataset, [], page)
    return site.pages.render(
        "rows.html.j2",
        {
            "manifest": dataset,
            "shown": shown,
            "first": (shown.number - 1) * PAGE_ROWS + 1,
            "filters": filters,
            "columns": column_help(dataset),
            "operators": OPERATORS,
            "extra": list(dict.fromkeys(item.column for item in filters)),
            "error": error,
        },
        400 if error else 200,
    )


def filters_of(columns: list[str], operators: list[str], values: list[str]) -> list[Filter]:
    """Filters from the form's parallel lists; lines without a column are empty ones."""
    if not len(columns) == len(operators) == len(values):
        raise FilterError("A filter is a column, an operator and a value: one of them is missing.")
    return [Filter(*parts) for parts in zip(columns, operators, values, strict=True) if parts[0]]


def is_selected(manifest: Manifest) -> bool:
    """Whether a dataset has verdicts whose thresholds can be explored."""
    return isinstance(manifest, DatasetManifest) and "selection" in manifest.groups


def origin(catalog: Catalog, artifact_id: str) -> tuple[RunRecord, TaskRecord] | None:
    """The newest run and its task that an artifact came out of."""
    for record in catalog.records():
        for task in record.tasks:
            result = task.outputs.get("result")
            if result is None or result.metadata.get("step") != task.step:
                continue
            if artifact_id in (result.metadata.get("dataset_id"), result.metadata.get("model_id")):
                return record, task
    return None


def _groups(manifest: Manifest) -> list[dict[str, Any]]:
    if not isinstance(manifest, DatasetManifest):
        return []
    return [
        {
            "name": group.name,
            "id": group.group_id,
            "columns": group.columns,
            "files": len(group.files()),
            "bytes": sum(file.bytes for file in group.files()),
        }
        for group in manifest.groups.values()
    ]


def _pictures(manifest: Manifest) -> list[str]:
    if not isinstance(manifest, FilesManifest):
        return []
    return [name for name, file in manifest.files.items() if PurePosixPath(file.path).suffix == ".png"]


def _stages(found: Found) -> list[tuple[Any, Any]]:
    """Loss curves of the trainings behind a model, samples or an evaluation; [] where there are none."""
    if isinstance(found.manifest, DatasetManifest):
        return []
    stages = training_stages(found.store, found.manifest)
    return [(stage, line_chart(stage.steps, stage.losses, "Loss")) for stage in stages]

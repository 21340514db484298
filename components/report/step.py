"""Write the report: one HTML page of what was kept and why, and of how good the model is."""

import platform
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pyarrow as pa

from components.data.artifacts import REPORT_PAGE, ReportManifest, StoredFile
from components.data.breeds import default_breeds
from components.data.identity import code_version
from components.data.manifest import DatasetManifest, Manifest, sha256_hex
from components.data.options import identity_options
from components.data.task import Task, step_id, stored
from components.report.data import ReportData
from components.report.history import step_records, step_runs
from components.report.model_results import evaluation_shown, training_stages
from components.report.options import ReportOptions
from components.report.page import render_report
from components.report.thumbnails import thumbnails
from components.report.verdicts import judged_rows, judged_rules, selection_record

INPUTS = ("dataset", "results")
INPUT_KINDS = {"results": "Artifact"}
RESULT_KIND = "HTML"
_LIBRARIES = ("dogflow", "numpy", "pyarrow", "torch")
_BYTES_PER_MB = 1_000_000


def run(task: Task, dataset: DatasetManifest, results: Manifest, *, options: ReportOptions) -> ReportManifest:
    """Report on a dataset after selection.

    `results` is the evaluation to show beside it, or the dataset itself once more when nothing was trained:
    KFP has no optional artifacts. The page shows how long steps took, which takes no part in its id.
    Raises ReportError when selection did not run, ManifestError when rows lack a column.
    """
    is_trained = results.id != dataset.id
    parents = [dataset, results] if is_trained else [dataset]
    manifest = ReportManifest(
        name=dataset.name,
        id=step_id("report", parents, options, {}),
        step="report",
        parents=[parent.id for parent in parents],
        code_version=code_version("report"),
        options=identity_options(options),
        history=[*results.history, results.record()],
    )
    done = stored(task, manifest)
    if done is not None:
        return done
    data = report_data(task, dataset, results, options)
    photos = _shown_photos(task, dataset, data, options)
    page = _render(replace(data, thumbnail=photos.get), options).encode()
    path = f"{dataset.name}/reports/{manifest.id}/report.html"
    task.store.write(path, page)
    file = StoredFile(path=path, bytes=len(page), sha256=sha256_hex(page))
    counters = {**_totals(data.rows), "photos": len(photos), "bytes": len(page)}
    return manifest.model_copy(update={"files": {REPORT_PAGE: file}, "counters": counters}).save(task.store)


def report_data(
    task: Task, dataset: DatasetManifest, results: Manifest, options: ReportOptions
) -> ReportData:
    """Everything the page shows but the photos."""
    selection = selection_record(dataset)
    rows = judged_rows(task.store, dataset, selection.options)
    records = step_records(dataset, results)
    facts = {"dataset": f"{dataset.name} {dataset.id}", "data root": task.data_root}
    if results.id != dataset.id:
        facts[results.kind] = results.id
    return ReportData(
        title=options.title or f"Report on {dataset.name}",
        rows=rows,
        rules=judged_rules(rows, selection.options),
        steps=step_runs(task.store, records, [dataset.name, results.name]),
        thumbnail=lambda image_id: None,
        facts=facts,
        versions=_versions(),
        breed_names={key: breed.name for key, breed in default_breeds().breeds.items()},
        training=training_stages(task.store, results),
        evaluation=evaluation_shown(task.store, results),
    )


def _shown_photos(
    task: Task, dataset: DatasetManifest, data: ReportData, options: ReportOptions
) -> Mapping[str, bytes]:
    """Thumbnails of the photos that the page asks for: it is rendered once to hear which."""
    asked: dict[str, None] = {}
    _render(replace(data, thumbnail=lambda image_id: asked.setdefault(image_id)), options)
    image_ids = data.rows.column("image_id")
    return thumbnails(task.store, dataset, image_ids, asked, options.thumbnail_px, task.workers)


def _render(data: ReportData, options: ReportOptions) -> str:
    return render_report(data, int(options.photo_budget_mb * _BYTES_PER_MB), options.photos_per_side)


def _totals(rows: pa.Table) -> dict[str, Any]:
    return {"rows": rows.num_rows, "kept": int(np.asarray(rows.column("keep")).sum())}


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a checkout that is not installed
            continue
    return found

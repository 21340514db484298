"""The report as one HTML file: everything inline, nothing requested, foreign text escaped."""

import base64
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from components.report import charts, wording
from components.report.data import ReportData, TrainingStage
from components.report.incidents import DuplicateCluster, duplicate_clusters, error_kinds
from components.report.insights import insights
from components.report.photos import BUDGET_BYTES, Album, Photo, kept_examples
from components.report.reasons import Combination, Reasons, combinations, funnel, reason_masks, rule_counts
from components.report.scores import scores
from components.report.shares import Share, shares

_TEMPLATES = Path(__file__).with_name("templates")
_COMBINATIONS = 12
_ERRORS = 20
_CLUSTERS = 6
_COPIES = 5
_KEPT_EXAMPLES = 12
PHOTOS_PER_SIDE = 6
_GROUP_COLUMNS = {"breed": "breed", "script": "caption_script", "source": "source"}


def render_report(
    data: ReportData, photo_budget_bytes: int = BUDGET_BYTES, photos_per_side: int = PHOTOS_PER_SIDE
) -> str:
    """The report of a dataset as HTML text, with so many photos on either side of each threshold.

    Works through numpy and pyarrow on whole columns; Python loops see only what is shown. Raises ReportError
    for rows without the columns that rules and thresholds need.
    """
    content = _content(data, Album(data, photo_budget_bytes), photos_per_side)
    return _environment().get_template("page.html.j2").render(content)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: wording.printable(value) if type(value) is str else value,
    )
    environment.filters.update(
        number=wording.number,
        precise=wording.precise,
        percent=wording.percent,
        duration=wording.duration,
        option=wording.option_value,
    )
    environment.globals.update(charts=charts, style=_style())
    return environment


def _style() -> Markup:
    # Our own file, read whole: run through the template engine, its braces would be taken for tags.
    return Markup((_TEMPLATES / "style.css").read_text(encoding="utf-8"))


def _content(data: ReportData, album: Album, photos_per_side: int) -> dict[str, Any]:
    reasons = reason_masks(data.rows, data.rules)
    total = data.rows.num_rows
    kept = int(reasons.keep.sum())
    errors = int((reasons.fails(data.error_rule) & ~reasons.keep).sum())
    examples = [album.photo(row) for row in kept_examples(data.rows, _KEPT_EXAMPLES)]
    scored = scores(data, reasons, album, photos_per_side)
    counts = [count for count in rule_counts(reasons) if count.rule.name != data.error_rule]
    kinds, more_errors = error_kinds(data.rows, _ERRORS)
    groups = _groups(data)
    return {
        "data": data,
        "total": total,
        "kept": kept,
        "errors": errors,
        "rejected": total - kept - errors,
        "funnel": funnel(reasons),
        "counts": counts,
        "overlap": _overlap(reasons),
        "examples": examples,
        "scores": [(score, charts.histogram_chart(score)) for score in scored],
        "groups": groups,
        "clusters": [_cluster_photos(album, c) for c in duplicate_clusters(data.rows, _CLUSTERS, _COPIES)],
        "error_kinds": kinds,
        "more_errors": more_errors,
        "insights": insights(total, errors, counts, scored, groups),
        "stages": [_stage(stage) for stage in data.training],
        "samples_src": _png_source(data.evaluation.samples_png if data.evaluation else b""),
        "nearest_src": _png_source(data.evaluation.nearest_png if data.evaluation else b""),
        "seconds": sum(step.seconds or 0.0 for step in data.steps),
        "photos_left_out": album.left_out,
    }


def _stage(stage: TrainingStage) -> tuple[TrainingStage, charts.LineChart | None, charts.LineChart | None]:
    curve = charts.line_chart(stage.steps, stage.losses, "Loss", stage.held_out)
    return stage, curve, charts.noise_level_chart(stage.loss_by_t, stage.floor_by_t)


def _groups(data: ReportData) -> dict[str, list[Share]]:
    """Kept shares of every grouping that tells something: more than one group."""
    found = {name: shares(data.rows, column) for name, column in _GROUP_COLUMNS.items()}
    return {name: group for name, group in found.items() if len(group) > 1}


def _overlap(reasons: Reasons) -> tuple[list[str], list[Combination], int]:
    """Rules that occur in the most frequent combinations, those combinations, and the rows of the others."""
    top, others = combinations(reasons, _COMBINATIONS)
    used = {name for combination in top for name in combination.rules}
    return [rule.name for rule in reasons.rules if rule.name in used], top, others


def _cluster_photos(album: Album, cluster: DuplicateCluster) -> tuple[Photo | None, list[Photo], int]:
    return album.by_id(cluster.original), [album.photo(row) for row in cluster.copies], cluster.total


def _png_source(png: bytes) -> str:
    if not png.startswith(b"\x89PNG"):
        return ""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")

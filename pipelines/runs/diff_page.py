"""Two runs compared as one HTML file: everything inline, nothing requested, foreign text escaped."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from components.data.manifest import DatasetManifest
from components.data.shards import read_table
from components.data.storage import Store
from components.report.thumbnails import thumbnails
from pipelines.lineage.roots import open_root
from pipelines.runs.diff import Row, RunsDiff, selected_dataset
from pipelines.runs.record import Runs

PHOTOS = 48  # of each list, spread over it; the others are counted
_SIDE_PX = 160
_WORKERS = 2


def diff_page(home: Path, compared: RunsDiff) -> str:
    """The page of a comparison, with thumbnails of at most PHOTOS rows that came and that went."""
    runs = Runs(home)
    one, other = runs.load(compared.before), runs.load(compared.after)
    rows = {}
    for name, changed in compared.rows.items():
        came, went = _spread(changed.came), _spread(changed.went)
        rows[name] = {
            "kept_before": changed.kept_before,
            "kept_after": changed.kept_after,
            "lists": [
                {
                    "title": title,
                    "total": total,
                    "photos": _photos(shown, _pictures(home, record, name, shown)),
                }
                for title, total, shown, record in (
                    ("Came", len(changed.came), came, other),
                    ("Went", len(changed.went), went, one),
                )
            ],
        }
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = _shown
    return environment.get_template("diff.html.j2").render(compared=compared, rows=rows)


def _spread(rows: Sequence[Row]) -> list[Row]:
    """At most PHOTOS rows, evenly over all: neighbours tend to be of one breed."""
    count = min(PHOTOS, len(rows))
    return [rows[index * len(rows) // count] for index in range(count)]


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _pictures(home: Path, record: Any, task: str, rows: Sequence[Row]) -> Mapping[str, bytes]:
    if not rows:
        return {}
    return pictures(open_root(home, record), selected_dataset(home, record, task), rows)


def pictures(store: Store, dataset: DatasetManifest, rows: Sequence[Row]) -> dict[str, bytes]:
    """Small JPEGs of rows of a dataset by image id; pictures that cannot be decoded are left out."""
    image_ids = read_table(store, dataset, ["image_id"]).column("image_id")
    return thumbnails(store, dataset, image_ids, [row.image_id for row in rows], _SIDE_PX, _WORKERS)


def _photos(rows: Sequence[Row], jpegs: Mapping[str, bytes]) -> list[dict[str, Any]]:
    return [
        {
            "src": _data_uri(jpegs[row.image_id]) if row.image_id in jpegs else "",
            "breed": row.breed,
            "caption": row.caption,
            "place": row.source_uri,
            "reasons": ", ".join(row.reasons),
        }
        for row in rows
    ]


def _data_uri(jpeg: bytes) -> str:
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode("ascii")

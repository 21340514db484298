"""The threshold explorer's page, and its answers while a threshold is dragged."""

import json
from collections import OrderedDict
from threading import Lock
from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from starlette.responses import Response

from components.data.breeds import default_breeds
from components.data.manifest import DatasetManifest
from components.data.options import OptionError
from components.data.storage import Store
from components.report.wording import printable
from components.selection.options import SelectionOptions
from pipelines.lineage.console.artifacts import origin
from pipelines.lineage.console.columns import Columns
from pipelines.lineage.console.rows import shown_rows
from pipelines.lineage.console.run_pages import prefix_of
from pipelines.lineage.console.site import Site, TheSite
from pipelines.lineage.console.thresholds import Explorer, Outcome, changed

router = APIRouter()
PHOTOS_SHOWN = 24
BREEDS_SHOWN = 40
CAPTION_CHARACTERS = 160
_KEPT = 2  # explorers; one of a million rows holds some 0.2 GB


class Explorers:
    """The datasets whose thresholds were explored last."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._explorers: OrderedDict[str, Explorer] = OrderedDict()
        self._lock = Lock()

    def of(self, store: Store, dataset: DatasetManifest) -> Explorer:
        """The explorer of a selected dataset. Raises ReportError for one that was not selected."""
        with self._lock:
            if dataset.id not in self._explorers:
                self._explorers[dataset.id] = Explorer(self._columns, store, dataset)
                while len(self._explorers) > _KEPT:
                    self._explorers.popitem(last=False)
            self._explorers.move_to_end(dataset.id)
            return self._explorers[dataset.id]


@router.get("/artifacts/{dataset_id}/thresholds")
def thresholds_page(site: TheSite, dataset_id: str) -> Response:
    """Sliders for the thresholds of a selection."""
    store, dataset = site.catalog.dataset(dataset_id)
    explorer = site.explorers.of(store, dataset)
    # Their first use would delay the first answer.
    shown_rows(site.columns, store, dataset, np.zeros(0, np.int64))
    came_from = origin(site.catalog, dataset_id)
    record, task = came_from if came_from else (None, None)
    return site.pages.render(
        "thresholds.html.j2",
        {
            "manifest": dataset,
            "sliders": explorer.sliders(),
            "flags": [
                (name, SelectionOptions.model_fields[name].description, getattr(explorer.base, name))
                for name in explorer.flags()
            ],
            "lists": [
                (
                    name,
                    SelectionOptions.model_fields[name].description,
                    ", ".join(getattr(explorer.base, name)),
                )
                for name in ("licenses", "sources")
                if explorer.adjustable(name)
            ],
            "start": _answer(site, store, dataset, explorer, explorer.base, ""),
            "record": record,
            "task": task,
            "prefix": prefix_of(record, task) if record and task else "",
        },
    )


@router.get("/api/thresholds/{dataset_id}")
def thresholds_answer(site: TheSite, dataset_id: str, request: Request) -> dict[str, Any]:
    """What the options in the query would keep; `changed` names the one that was moved last."""
    store, dataset = site.catalog.dataset(dataset_id)
    explorer = site.explorers.of(store, dataset)
    values = {name: _value(name, text) for name, text in request.query_params.items() if name != "changed"}
    moved = request.query_params.get("changed", "")
    return _answer(site, store, dataset, explorer, explorer.options(values), moved)


def _value(name: str, text: str) -> Any:
    field = SelectionOptions.model_fields.get(name)
    if field is None:
        raise OptionError(f"There is no option selection.{name[:80]}.")
    if field.annotation == list[str]:
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _answer(
    site: Site,
    store: Store,
    dataset: DatasetManifest,
    explorer: Explorer,
    options: SelectionOptions,
    moved: str,
) -> dict[str, Any]:
    before, now = explorer.before, explorer.outcome(options)
    came, went = now.keep & ~before.keep, before.keep & ~now.keep
    tiers = explorer.tier_counts(now)
    return {
        "rows": explorer.rows,
        "kept": int(np.count_nonzero(now.keep)),
        "kept_before": int(np.count_nonzero(before.keep)),
        "tier_0": tiers[0],
        "tier_1": tiers[1],
        "came": _photos(site, store, dataset, explorer, options, moved, came),
        "went": _photos(site, store, dataset, explorer, options, moved, went),
        "failed": now.failed,
        "unscored": now.unscored,
        "breeds": _breeds(explorer, now),
        "changes": {name: json.dumps(value) for name, value in changed(explorer.base, options).items()},
    }


def _photos(
    site: Site,
    store: Store,
    dataset: DatasetManifest,
    explorer: Explorer,
    options: SelectionOptions,
    moved: str,
    mask: np.ndarray,
) -> dict[str, Any]:
    """How many rows, and those closest to the threshold that was moved."""
    rows = np.flatnonzero(mask)
    nearest = explorer.nearest(rows, moved, options, PHOTOS_SHOWN)
    shown = shown_rows(site.columns, store, dataset, nearest)
    return {
        "count": len(rows),
        "photos": [
            {
                "row": item["row"],
                "photo": item["photo"],
                "caption": printable((item["caption"] or "")[:CAPTION_CHARACTERS]),
                "breed": breed_name(item["breed"]),
            }
            for item in shown
        ],
    }


def _breeds(explorer: Explorer, now: Outcome) -> list[dict[str, Any]]:
    """Breeds with their kept rows before and now, those that change most first."""
    old, new = explorer.per_breed_before, explorer.per_breed(now.keep)
    order = np.lexsort((-old, -np.abs(new - old)))[:BREEDS_SHOWN]
    return [
        {"name": breed_name(explorer.breed_names[at]), "before": int(old[at]), "now": int(new[at])}
        for at in order
    ]


def breed_name(key: str | None) -> str:
    """A breed's name for people; its key where the table does not know it, "" for none."""
    known = default_breeds().breeds.get(key or "")
    return printable(known.name if known else key or "")[:CAPTION_CHARACTERS]

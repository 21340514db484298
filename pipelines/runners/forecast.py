"""What running a task again may cost, from what it took before."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from components.data.manifest import DatasetManifest, ManifestError
from components.data.storage import NotFound, Store
from components.data.timings import Timing, read_timing
from pipelines.runners.units import Unit
from pipelines.runs.record import DONE, RunRecord

# Options in proportion to which a step's work grows.
_PROPORTIONAL = {"training": "steps", "sampling": "per_breed"}
# Steps with a score cache -> the part of the group's policy that names the cache (None: the whole policy).
_CACHED: dict[str, str | None] = {"similarity": "model", "foreground": None}


@dataclass(frozen=True)
class Cost:
    """A forecast: seconds (None: not known), rows to score (None: not counted), and what it rests on."""

    seconds: float | None
    rows: int | None
    basis: str


def forecast(
    store: Store, earlier: RunRecord, unit: Unit, options: dict[str, Any], rerun_steps: Collection[str]
) -> Cost:
    """The cost of running `unit` with `options`, if all that it did in the run `earlier` were done again.

    Of a step with a score cache, the pictures that the cache lacks: at most so many where a column of the
    scope comes from one of the `rerun_steps`, whose values may become others.
    """
    tasks = [task for task in earlier.tasks if task.name in unit.tasks and task.state in DONE]
    if len(tasks) < len(unit.tasks):
        return Cost(None, None, f"it was not done in {earlier.run_id}")
    metadata = earlier.task(unit.tasks[-1]).outputs["result"].metadata
    timing = _timing(store, earlier, str(metadata.get("data_uri", "")))
    taken_s = sum(task.seconds for task in tasks)
    if unit.step in _CACHED:
        scored = _scores_left(store, earlier, unit, options, metadata, timing, rerun_steps)
        if scored is not None:
            return scored
    seconds = max(taken_s, timing.seconds if timing else 0.0)
    factor, basis = _proportion(unit, options, metadata)
    return Cost(round(seconds * factor, 1), None, basis)


def _proportion(unit: Unit, options: dict[str, Any], metadata: dict[str, Any]) -> tuple[float, str]:
    name = _PROPORTIONAL.get(unit.step, "")
    before, after = metadata.get(f"option_{name}"), options.get(name)
    if not before or not after or float(before) == float(after):
        return 1.0, "as long as it took before"
    factor = float(after) / float(before)
    return factor, f"as long as it took before, times {factor:.2g} for {name} {before} -> {after}"


def _timing(store: Store, earlier: RunRecord, data_uri: str) -> Timing | None:
    path = path_in_root(earlier, data_uri)
    return read_timing(store, path.replace("/manifests/", "/timings/", 1)) if path else None


def path_in_root(record: RunRecord, data_uri: str) -> str:
    """A manifest's path under the run's data root, from its `data_uri`."""
    return data_uri.removeprefix(record.data_root.rstrip("/")).lstrip("/")


def _scores_left(
    store: Store,
    earlier: RunRecord,
    unit: Unit,
    options: dict[str, Any],
    metadata: dict[str, Any],
    timing: Timing | None,
    rerun_steps: Collection[str],
) -> Cost | None:
    """Rows inside the scope that the score cache does not hold; None when the earlier data is not there."""
    from components.data.schema import COLUMNS, arrow_schema
    from components.data.scope import scope_columns, scope_rules, skipped_by
    from components.data.scores import ScoreCache
    from components.data.shards import read_table

    try:
        dataset = DatasetManifest.load(store, path_in_root(earlier, str(metadata.get("data_uri", ""))))
        rules = scope_rules(
            {name[len("scope_") :]: value for name, value in options.items() if name.startswith("scope_")}
        )
        open_rules = [
            rule for rule in rules if any(COLUMNS[column].step in rerun_steps for column in rule.columns)
        ]
        rules = [rule for rule in rules if rule not in open_rules]
        table = read_table(store, dataset, list(dict.fromkeys(["image_id", *scope_columns(rules)])))
    except (NotFound, ManifestError, ValidationError):
        return None
    wanted = {
        image_id
        for image_id, rule in zip(table.column("image_id").to_pylist(), skipped_by(table, rules), strict=True)
        if rule is None
    }
    per_row_s = _seconds_per_row(earlier, unit, timing, len(wanted))
    at_most = "at most " if open_rules else ""
    if _other_scores(unit, options, metadata):
        rows, which = len(wanted), "the pictures inside the scope"
    else:
        policy = dataset.groups[unit.step].policy
        key = _CACHED[unit.step]
        cache = ScoreCache(store, unit.step, {"image": policy[key]} if key else policy, arrow_schema([]))
        rows = sum(image_id not in cache for image_id in wanted)
        which = "those inside the scope that were never scored"
    # What a task takes beside its step: the start of its process.
    starts_s = sum(earlier.task(name).seconds for name in unit.tasks) - float(metadata.get("duration_s", 0))
    seconds = round(max(0.0, starts_s) + rows * per_row_s, 1)
    return Cost(seconds, rows, f"{at_most}{which}, at the rate of before")


def _seconds_per_row(earlier: RunRecord, unit: Unit, timing: Timing | None, rows: int) -> float:
    if timing and timing.rows:
        return timing.seconds / timing.rows
    taken_s = sum(earlier.task(name).seconds for name in unit.tasks)
    return taken_s / rows if rows else 0.0


def _other_scores(unit: Unit, options: dict[str, Any], metadata: dict[str, Any]) -> bool:
    """Whether an option that is part of the scores' policy has changed: any but the scope and the breeds."""
    return any(
        json.loads(value) != options[name]
        for key, value in metadata.items()
        if (name := key.removeprefix("option_")) != key
        and name in options
        and not name.startswith(("scope_", "breeds"))
    )

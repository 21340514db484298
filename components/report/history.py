"""The steps behind a dataset and a model: options, counters, and how long they took."""

import importlib
from collections.abc import Iterable, Sequence

from components.data.manifest import DatasetManifest, Manifest, StepRecord
from components.data.options import StepOptions
from components.data.storage import Store
from components.data.timings import Timing, read_timing, timing_path
from components.report.data import StepRun


def step_records(dataset: DatasetManifest, results: Manifest) -> list[StepRecord]:
    """The dataset's own steps, then those that led from it to `results`.

    Curation steps of another dataset that the model saw too (the general set of stage 0) have a report of
    their own and are left out.
    """
    mine = [*dataset.history, dataset.record()]
    names = {record.step for record in mine}
    later = [record for record in [*results.history, results.record()] if record.step not in names]
    return [*mine, *later]


def step_runs(store: Store, records: Sequence[StepRecord], names: Iterable[str]) -> list[StepRun]:
    """Steps as a report shows them; `names` are those under which their artifacts, and timings, may lie."""
    places = list(dict.fromkeys(place for name in names for place in (name, f"{name}-encoded")))
    return [_step_run(record, _timing(store, record, places)) for record in records]


def _timing(store: Store, record: StepRecord, places: Sequence[str]) -> Timing | None:
    found = (read_timing(store, timing_path(place, record.step, record.id)) for place in places)
    return next((timing for timing in found if timing is not None), None)


def _step_run(record: StepRecord, timing: Timing | None) -> StepRun:
    counters = dict(record.counters)
    if timing is not None and timing.rows_per_s:
        counters["rows_per_s"] = round(timing.rows_per_s, 2)
    if timing is not None and timing.parts > 1:
        counters["partitions"] = timing.parts - 1  # the merge is a part of its own
    # Steps that measure themselves say it in their counters, also where nobody timed the task.
    seconds = timing.seconds if timing is not None else record.counters.get("seconds")
    stage = f" stage {record.options['stage']}" if "stage" in record.options else ""
    return StepRun(
        record.step + stage,
        seconds,
        record.code_version,
        record.options,
        counters,
        _changed(record),
    )


def _changed(record: StepRecord) -> frozenset[str]:
    """Options that differ from the step's defaults; none for a step this dogflow does not have."""
    try:
        # By name, as the task runner does: a report knows no step but meets them all.
        model: type[StepOptions] = importlib.import_module(f"components.{record.step}.options").OPTIONS
    except ImportError:
        return frozenset()
    defaults = {
        name: field.get_default(call_default_factory=True) for name, field in model.model_fields.items()
    }
    return frozenset(
        name for name, value in record.options.items() if name in defaults and value != defaults[name]
    )

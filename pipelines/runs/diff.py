"""What is different between two runs: options, code, counters, and which rows each of them keeps."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from components.data.manifest import DatasetManifest, ManifestError
from components.data.shards import read_table
from components.data.storage import NotFound, Store
from pipelines.lineage.roots import open_root
from pipelines.runs.record import DONE, RunError, RunRecord, Runs, TaskRecord

# Why a row is not kept in a run whose dataset does not have it.
ABSENT = "absent"


@dataclass(frozen=True)
class Change:
    """A value in the one run and in the other; None where a run does not have it."""

    before: Any
    after: Any


@dataclass(frozen=True)
class Row:
    """A row that only one of two runs keeps.

    `reasons` say why the other does not ([ABSENT]: it has no such row). `row` is its index in the dataset of
    the run that keeps it.
    """

    image_id: str
    source_uri: str
    breed: str
    caption: str
    reasons: list[str]
    row: int


@dataclass(frozen=True)
class RowsChanged:
    """Rows that came (kept in the second dataset only) and went (kept in the first only), in row order."""

    kept_before: int
    kept_after: int
    came: list[Row]
    went: list[Row]


@dataclass(frozen=True)
class RunsDiff:
    """Two runs compared. Keys: `step.option`, step, task, `task.counter`, and selection task.

    `tasks` are those that only one of the runs has done, with their states; `counters` (metrics too) those of
    tasks that both have done. Only what differs is here. `notes` are sentences about what could not be
    compared.
    """

    before: str
    after: str
    options: dict[str, Change]
    code_versions: dict[str, Change]
    tasks: dict[str, Change]
    counters: dict[str, Change]
    rows: dict[str, RowsChanged]
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `--json` prints it."""
        return asdict(self)


def diff(home: Path, before: str, after: str) -> RunsDiff:
    """Compare two runs under `home` by ids (their beginnings, or latest). Brings up an embedded store.

    Raises RunError for runs that do not exist. A selection whose data is gone is left out, with a note.
    """
    runs = Runs(home)
    one, other = runs.load(before), runs.load(after)
    rows: dict[str, RowsChanged] = {}
    notes: list[str] = []
    ours, theirs = _selections(one), _selections(other)
    for name in ours.keys() & theirs.keys():
        try:
            rows[name] = rows_changed(
                open_root(home, one),
                selected_dataset(home, one, name),
                open_root(home, other),
                selected_dataset(home, other, name),
            )
        except (NotFound, ManifestError, RunError) as error:
            notes.append(f"The rows of {name} cannot be compared: {error}")
    for name in sorted(ours.keys() ^ theirs.keys()):
        which = one if name in theirs else other
        notes.append(f"Run {which.run_id} has no result of {name}: its rows are not compared.")
    return RunsDiff(
        before=one.run_id,
        after=other.run_id,
        options=changes(_options(one), _options(other)),
        code_versions=changes(one.code_versions, other.code_versions),
        tasks=changes(_states(one), _states(other)),
        counters=changes(_counters(one, other), _counters(other, one)),
        rows={name: rows[name] for name in sorted(rows)},
        notes=notes,
    )


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Change]:
    """The entries of two mappings that differ, in the order of `after` and then of `before`."""
    keys = dict.fromkeys([*after, *before])
    return {key: Change(before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)}


def selected_dataset(home: Path, record: RunRecord, task: str) -> DatasetManifest:
    """The dataset that a selection task made; RunError, NotFound or ManifestError when it is not there."""
    uri = str(record.result(task).metadata.get("data_uri", ""))
    path = uri.removeprefix(record.data_root.rstrip("/")).lstrip("/")
    return DatasetManifest.load(open_root(home, record), path)


def rows_changed(
    before_store: Store, before: DatasetManifest, after_store: Store, after: DatasetManifest
) -> RowsChanged:
    """Which rows came and went between two selected datasets, matched by image_id and source_uri.

    Reads small columns only. Raises ManifestError for a dataset that no selection has seen.
    """
    if before.id == after.id:
        kept = int(before.counters.get("kept", 0))
        return RowsChanged(kept, kept, [], [])
    one, other = _judged(before_store, before), _judged(after_store, after)
    return RowsChanged(
        kept_before=pc.sum(one.column("keep")).as_py() or 0,
        kept_after=pc.sum(other.column("keep")).as_py() or 0,
        came=_only_in(after_store, after, other, one),
        went=_only_in(before_store, before, one, other),
    )


def _judged(store: Store, dataset: DatasetManifest) -> pa.Table:
    """key, keep and reasons of every row; the key is image_id and source_uri in one string."""
    table = read_table(store, dataset, ["image_id", "source_uri", "keep", "reasons"])
    uri = pc.fill_null(table.column("source_uri"), "")
    key = pc.binary_join_element_wise(table.column("image_id"), uri, "\n")
    return pa.table({"key": key, "keep": table.column("keep"), "reasons": table.column("reasons")})


def _only_in(store: Store, dataset: DatasetManifest, mine: pa.Table, other: pa.Table) -> list[Row]:
    """The rows of `dataset` (judged: `mine`) that it keeps and `other` does not."""
    kept_there = other.filter(other.column("keep")).column("key").combine_chunks()
    only = pc.and_(mine.column("keep"), pc.invert(pc.is_in(mine.column("key"), value_set=kept_there)))
    indices = pc.indices_nonzero(only)
    if not len(indices):
        return []
    keys = mine.column("key").take(indices)
    there = pc.index_in(keys, value_set=other.column("key").combine_chunks()).to_pylist()
    # An index of null takes null.
    reasons = other.column("reasons").take(pa.array(there, pa.int64())).to_pylist()
    names = [name for name in ("image_id", "source_uri", "breed", "caption") if name in dataset.columns]
    shown = read_table(store, dataset, names).take(indices).to_pylist()
    return [
        Row(
            image_id=row["image_id"],
            source_uri=row.get("source_uri") or "",
            breed=row.get("breed") or "",
            caption=row.get("caption") or "",
            reasons=[ABSENT] if place is None else list(why or []),
            row=index,
        )
        for row, place, why, index in zip(shown, there, reasons, indices.to_pylist(), strict=True)
    ]


def _selections(record: RunRecord) -> dict[str, TaskRecord]:
    return {task.name: task for task in record.tasks if task.step == "selection" and task.state in DONE}


def _options(record: RunRecord) -> dict[str, Any]:
    return {
        f"{prefix}.{name}": value
        for prefix, options in record.options.items()
        for name, value in options.items()
    }


def _states(record: RunRecord) -> dict[str, str]:
    """The state of every task; a reused one counts as succeeded, and a split step's merge as the step."""
    return {
        name: "succeeded" if task.state in DONE else task.state for name, task in _whole_tasks(record).items()
    }


def _counters(record: RunRecord, other: RunRecord) -> dict[str, float]:
    """Counters and metrics by `task.counter`, of the tasks that both runs have done."""
    states = _states(other)
    return {
        f"{name}.{counter}": value
        for name, task in _whole_tasks(record).items()
        if task.state in DONE and states.get(name) == "succeeded"
        for counter, value in task.counters.items()
    }


def _whole_tasks(record: RunRecord) -> dict[str, TaskRecord]:
    """Tasks by name, without the parts of split steps, whose merge goes by the step's name."""
    parts = {name for task in record.tasks if (name := task.name.rpartition(".")[0])}
    return {
        task.name.removesuffix("-merge") if task.name.removesuffix("-merge") in parts else task.name: task
        for task in record.tasks
        if "." not in task.name
    }

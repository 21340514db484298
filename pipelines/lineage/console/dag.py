"""A run as a graph of its tasks: the parts of a split step and their merge are one box."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from components.report.wording import printable
from pipelines.lineage.console.catalog import Catalog, Missing
from pipelines.lineage.console.layout import Drawing, draw
from pipelines.runners.units import units_of
from pipelines.runs.record import DONE, RunRecord, TaskRecord

PIPELINE_FILE = "pipeline.yaml"
WORK_CHARACTERS = 33  # fit into a box
_KEPT = 32
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# The state of a box whose tasks differ: the first of these that one of them has.
_ORDER = ("failed", "interrupted", "running", "pending", "skipped", "succeeded", "reused")


@dataclass(frozen=True)
class TaskBox:
    """One box: a unit of the pipeline. `task` is the name of the record's task to look at."""

    name: str
    step: str
    task: str
    state: str
    seconds: float
    parts_done: int
    parts: int
    progress: str
    error: str

    @property
    def work(self) -> str:
        """What it is doing, or did, in a few words."""
        text = printable(self.error or self.progress or self.state)
        if len(text) <= WORK_CHARACTERS:
            return text
        whole, comma, _ = text[: WORK_CHARACTERS + 1].rpartition(", ")
        return whole if comma else f"{text[: WORK_CHARACTERS - 1]}…"


@dataclass(frozen=True)
class Units:
    """The pipeline behind a run: the tasks and the needs of every unit, by name, in order."""

    tasks: Mapping[str, tuple[str, ...]]
    needs: Mapping[str, tuple[str, ...]]


class Dags:
    """Keeps the parsed pipelines of the runs that were looked at."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._units: OrderedDict[str, Units] = OrderedDict()

    def drawing(self, record: RunRecord) -> Drawing:
        """Where the boxes of a run go."""
        return draw(self.units(record).needs)

    def units(self, record: RunRecord) -> Units:
        """The units of a run. Of a rerun: of the run it goes back to, as its own file is an excerpt."""
        known = self._units.get(record.run_id)
        if known is not None:
            return known
        units = _from_file(self._catalog, record) or _from_record(record)
        self._units[record.run_id] = units
        while len(self._units) > _KEPT:
            self._units.popitem(last=False)
        return units

    def boxes(self, record: RunRecord) -> list[TaskBox]:
        """The state of every box of a run."""
        tasks = {task.name: task for task in record.tasks}
        return [
            _box(name, [tasks[task] for task in names if task in tasks])
            for name, names in self.units(record).tasks.items()
            if any(task in tasks for task in names)
        ]


def _box(name: str, tasks: list[TaskRecord]) -> TaskBox:
    state = next(state for state in _ORDER if any(task.state == state for task in tasks))
    if state in ("pending", "skipped") and any(task.state in DONE for task in tasks):
        state = "running" if state == "pending" else state
    shown = next((task for task in tasks if task.state == state), tasks[-1])
    running = next((task for task in tasks if task.state == "running"), None)
    return TaskBox(
        name=name,
        step=shown.step,
        task=shown.name if state not in DONE else tasks[-1].name,
        state=state,
        seconds=sum(task.seconds for task in tasks),
        parts_done=sum(task.state in DONE for task in tasks),
        parts=len(tasks),
        progress=running.progress if running else shown.progress,
        error=shown.error,
    )


def _from_file(catalog: Catalog, record: RunRecord) -> Units | None:
    seen = {record.run_id}
    while record.parent_run and record.parent_run not in seen:
        seen.add(record.parent_run)
        try:
            record = catalog.record(record.parent_run)
        except Missing:
            break
    path = catalog.runs.folder_of(record.run_id) / PIPELINE_FILE
    ir = _read(path)
    if ir is None:
        return None
    try:
        units = units_of(ir)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return None  # damaged, or of another KFP
    return Units(
        {name: unit.tasks for name, unit in units.items()},
        {name: tuple(sorted(unit.needs)) for name, unit in units.items()},
    )


def _read(path: Path) -> dict[str, Any] | None:
    try:
        text = path.read_text(encoding="utf-8").partition("\n---")[0]
        loaded = yaml.load(text, Loader=_Loader)  # both loaders are safe ones
    except (OSError, UnicodeError, yaml.YAMLError):
        return None
    return loaded if isinstance(loaded, dict) and "root" in loaded else None


def _from_record(record: RunRecord) -> Units:
    """Without the pipeline's file: what the tasks that ran took as inputs."""
    made = {
        artifact.path: task.name
        for task in record.tasks
        for artifact in task.outputs.values()
        if artifact.path
    }
    needs = {
        task.name: tuple(made[artifact.path] for artifact in task.inputs.values() if artifact.path in made)
        for task in record.tasks
    }
    return Units({task.name: (task.name,) for task in record.tasks}, needs)

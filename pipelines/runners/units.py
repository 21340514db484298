"""The units of a compiled pipeline that can be rerun: a task, or a split step's parts with their merge."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from pipelines.compile import in_order, step_of

_MERGE = "-merge"


@dataclass(frozen=True)
class Unit:
    """One use of a step in a pipeline, named like its task.

    `tasks` are names as in a run's record (`quality.0`, `quality.1`, `quality-merge`), `roots` as in the IR's
    root DAG; the last of both makes the result. `parameters` are the pipeline parameters it takes, `needs`
    the units whose results or order it depends on.
    """

    name: str
    step: str
    tasks: tuple[str, ...]
    roots: tuple[str, ...]
    parameters: frozenset[str]
    needs: frozenset[str]


def units_of(ir: Mapping[str, Any]) -> dict[str, Unit]:
    """Every unit of `ir` (its parsed first document) by name, each after those it needs."""
    tasks: Mapping[str, Any] = ir["root"]["dag"]["tasks"]
    parts = {name: _parts(ir, tasks[name]) for name in tasks}
    split = {name: inner[0].rpartition(".")[0] for name, inner in parts.items() if inner}
    names = {name: split.get(name) or _without_merge(name, split.values()) for name in tasks}
    roots: dict[str, list[str]] = {}
    for name in in_order(tasks):
        roots.setdefault(names[name], []).append(name)
    units = {}
    for unit, mine in roots.items():
        needed = {names[other] for root in mine for other in tasks[root].get("dependentTasks", ())}
        units[unit] = Unit(
            name=unit,
            step=step_of(ir, ir["components"][tasks[mine[-1]]["componentRef"]["name"]]),
            tasks=tuple(task for root in mine for task in parts[root] or [root]),
            roots=tuple(mine),
            parameters=frozenset(parameter for root in mine for parameter in _parameters(tasks[root])),
            needs=frozenset(needed - {unit}),
        )
    return units


def dependants(units: Mapping[str, Unit], start: Iterable[str]) -> set[str]:
    """The units of `start` and all that depend on them, directly or not."""
    found = set(start)
    for name, unit in units.items():  # each comes after those it needs
        if unit.needs & found:
            found.add(name)
    return found


def requirements(units: Mapping[str, Unit], end: Iterable[str]) -> set[str]:
    """The units of `end` and all that they depend on, directly or not."""
    found = set(end)
    for name in reversed(list(units)):
        if name in found:
            found |= units[name].needs
    return found


def _parts(ir: Mapping[str, Any], task: Mapping[str, Any]) -> list[str]:
    """Names of a parallel loop's tasks as in a record; [] for a plain task."""
    component = ir["components"][task["componentRef"]["name"]]
    if "dag" not in component:
        return []
    count = len(yaml.safe_load(task["parameterIterator"]["items"]["raw"]))
    return [f"{name}.{index}" for index in range(count) for name in component["dag"]["tasks"]]


def _without_merge(name: str, split: Iterable[str]) -> str:
    base = name.removesuffix(_MERGE)
    return base if base in split else name


def _parameters(task: Mapping[str, Any]) -> list[str]:
    inputs = task.get("inputs", {}).get("parameters", {}).values()
    return [value["componentInputParameter"] for value in inputs if "componentInputParameter" in value]

"""Runs a task of an earlier run again, with that run's inputs, and what depends on it when asked.

A rerun is a run of its own: the tasks it runs are an excerpt of the pipeline, what they need comes from the
earlier run's results, and the earlier run's other tasks stand in its record as `reused`. Results whose inputs
have become other ones are left out ("skipped"). Ids are derived as ever, so a rerun makes what a fresh run
with the same options would make.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from components.data.manifest import Manifest, ManifestError
from components.data.storage import NotFound, Store
from components.data.task import artifact_content, load_manifest
from pipelines.backfill import widened
from pipelines.compile import load
from pipelines.definition import Pipeline
from pipelines.launch import Plan, launch
from pipelines.launch import plan as plan_run
from pipelines.lineage.roots import open_root
from pipelines.parameters import DATA_ROOT, find_parameter, nearest
from pipelines.runners.excerpt import excerpt, taken_from_outside
from pipelines.runners.forecast import Cost, forecast, path_in_root
from pipelines.runners.units import Unit, dependants, requirements, units_of
from pipelines.runners.view import View
from pipelines.runs.record import DONE, ArtifactRecord, RunError, RunRecord, Runs, TaskRecord, now
from pipelines.values import Values, resolve

INPUTS_FOLDER = "inputs"


class RerunError(RunError):
    """A rerun that cannot be done as asked; the message names the task or option and the fix."""


@dataclass(frozen=True)
class Rerun:
    """A rerun that could be started.

    `changes` maps options (`selection.clip_similarity`) to (before, after). `runs` are the units that run, in
    order, with their forecast costs; a unit is a task, or all parts of a split step with their merge.
    `reused` are units whose results stay as they are; `left_out` those of whom the earlier run has none, or
    one of other inputs. `notes` are sentences for the user. `planned` and `inputs` (content by path) are for
    `start`.
    """

    parent_run: str
    task: str
    changes: dict[str, tuple[Any, Any]]
    runs: dict[str, Cost]
    reused: list[str]
    left_out: list[str]
    notes: list[str]
    planned: Plan = field(repr=False)
    inputs: dict[Path, bytes] = field(repr=False)

    @property
    def seconds(self) -> float:
        """Forecast of the whole rerun: at most so many seconds for the units whose cost is known."""
        return round(sum(cost.seconds or 0.0 for cost in self.runs.values()), 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `--json` prints it."""
        return {
            "parent_run": self.parent_run,
            "task": self.task,
            "changes": {key: {"before": a, "after": b} for key, (a, b) in self.changes.items()},
            "runs": {name: asdict(cost) for name, cost in self.runs.items()},
            "reused": self.reused,
            "left_out": self.left_out,
            "seconds": self.seconds,
            "notes": self.notes,
        }


def plan(
    home: Path,
    run: str,
    task: str,
    assignments: Sequence[str] = (),
    *,
    downstream: bool = False,
    until: str = "",
    backfill: bool = False,
) -> Rerun:
    """Lay out a rerun of `task` of `run` (an id, its beginning, or latest); starts and writes nothing.

    `assignments` are `step.option=value`. Without more, only the task runs (all parts and the merge of a
    split one); with `downstream` all that depends on it too; with `until` (a task) those on the paths to
    that one.
    `backfill` widens score scopes to what the selections need, which runs the scoring steps before the task.
    An embedded store is brought up, since the inputs are read and checked. Raises RunError or RerunError
    (unknown run or task, no result to start from, inputs that are gone), OptionError (wrong options).
    """
    if downstream and until:
        raise RerunError("--downstream runs all that depends on the task, --until a part of it: give one.")
    runs = Runs(home)
    earlier = runs.load(run)
    if earlier.state == "running":
        raise RerunError(f"Run {earlier.run_id} is still running: wait for its end, or stop it.")
    pipeline = load(earlier.definition or earlier.pipeline)
    values, notes = _values(pipeline, earlier, assignments)
    if backfill:
        values = widened(pipeline, values)
    planned = plan_run(
        pipeline, values, profile=earlier.profile, partitions=earlier.partitions, runner=earlier.runner
    )
    ir = yaml.safe_load(planned.ir.partition("\n---")[0])
    units = units_of(ir)
    name = _unit(units, task, earlier)
    changed = _changed(earlier, values)
    chosen = _chosen(
        units,
        earlier,
        name,
        changed,
        downstream=downstream,
        until=_unit(units, until, earlier) if until else "",
        given={find_parameter(_key(text), pipeline.parameters).name for text in assignments},
    )
    store = open_root(home, earlier)
    roots = {root for unit in chosen for root in units[unit].roots}
    artifacts, inputs = _inputs(
        store,
        earlier,
        units,
        taken_from_outside(ir, roots),
        runs.folder_of(planned.record.run_id) / INPUTS_FOLDER,
        name,
    )
    stale = dependants(units, chosen) - set(chosen)
    record = _record(planned.record, earlier, units, chosen, stale, name)
    notes += _code_notes(earlier, planned.record, [units[unit] for unit in chosen])
    reused = [unit for unit in units if _is_done(earlier, units[unit]) and unit not in stale | set(chosen)]
    return Rerun(
        parent_run=earlier.run_id,
        task=name,
        changes={
            pipeline.parameters[parameter].key: (earlier.parameters[parameter], values.parameters[parameter])
            for parameter in values.parameters
            if parameter in changed
        },
        runs={
            unit: forecast(
                store,
                earlier,
                units[unit],
                _options_of(pipeline, units[unit], values.options),
                {units[other].step for other in chosen if other != unit},
            )
            for unit in chosen
        },
        reused=reused,
        left_out=[unit for unit in units if unit not in reused and unit not in chosen],
        notes=notes,
        planned=Plan(yaml.safe_dump(excerpt(ir, roots, artifacts), sort_keys=False), record),
        inputs=inputs,
    )


def start(rerun: Rerun, home: Path, view: View) -> RunRecord:
    """Run a planned rerun to its end; returns its record. Planned and started again, it goes on."""
    for path, content in rerun.inputs.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    rerun.planned.record.started_at = now()
    return launch(rerun.planned, home, view)


def _values(pipeline: Pipeline, earlier: RunRecord, assignments: Sequence[str]) -> tuple[Values, list[str]]:
    """The earlier run's values with the assignments on top."""
    known = {key: value for key, value in earlier.parameters.items() if key in pipeline.parameters}
    gone = sorted(earlier.parameters.keys() - known.keys())
    notes = [f"Options that {pipeline.name} no longer has are left out: {', '.join(gone)}."] if gone else []
    for text in assignments:
        if _key(text) == DATA_ROOT.name:
            raise RerunError(
                "data_root cannot be changed in a rerun, whose inputs lie there: use "
                "`dogflow run --data-root`."
            )
    if earlier.embedded_store:
        known[DATA_ROOT.name] = ""
    return resolve(pipeline, assignments=assignments, given=known), notes


def _key(assignment: str) -> str:
    return assignment.partition("=")[0].strip()


def _changed(earlier: RunRecord, values: Values) -> set[str]:
    """Names of the parameters whose values differ from those of the earlier run."""
    return {
        name
        for name, value in values.parameters.items()
        if name != DATA_ROOT.name and name in earlier.parameters and earlier.parameters[name] != value
    }


def _unit(units: Mapping[str, Unit], task: str, earlier: RunRecord) -> str:
    """The unit of a task's name, in KFP's or in Python's spelling; a part stands for the whole."""
    wanted = task.replace("_", "-")
    for unit in units.values():
        if wanted == unit.name or wanted in unit.tasks:
            return unit.name
    raise RerunError(f"Run {earlier.run_id} has no task {task}; {nearest(wanted, units)}")


def _chosen(
    units: Mapping[str, Unit],
    earlier: RunRecord,
    task: str,
    changed: set[str],
    *,
    downstream: bool,
    until: str,
    given: set[str],
) -> list[str]:
    """Names of the units to run, in order."""
    after = dependants(units, [task])
    if until and until not in after:
        known = ", ".join(name for name in units if name in after)
        raise RerunError(f"{until} does not depend on {task}: --until takes one of {known}.")
    # Options of a backfill lie in steps before the task, which then run too. So do other users of an option.
    starts = {task} | {name for name, unit in units.items() if unit.parameters & (changed - given)}
    while True:
        ends = {until} if until else starts
        chosen = dependants(units, starts)
        if not downstream:
            chosen &= requirements(units, ends | {task})
        chosen |= starts
        if downstream or until:
            chosen |= _never_done(units, earlier, chosen)
        mine = {parameter for name in chosen for parameter in units[name].parameters} & changed
        sharing = {name for name in units if name not in chosen and units[name].parameters & mine}
        if not sharing:
            break
        starts |= sharing
    _refuse_options_of_others(units, chosen, changed, task, earlier)
    return [name for name in units if name in chosen]


def _never_done(units: Mapping[str, Unit], earlier: RunRecord, chosen: set[str]) -> set[str]:
    """What the chosen units need and the earlier run did not get to."""
    return {name for name in requirements(units, chosen) if not _is_done(earlier, units[name])}


def _refuse_options_of_others(
    units: Mapping[str, Unit], chosen: set[str], changed: set[str], task: str, earlier: RunRecord
) -> None:
    mine = {parameter for name in chosen for parameter in units[name].parameters}
    for name, unit in units.items():
        other = sorted((unit.parameters & changed) - mine)
        if not other:
            continue
        if name in dependants(units, [task]):
            fix = f"add --downstream, or --until {name}"
        elif name in requirements(units, [task]):
            fix = f"start with it: `dogflow rerun {earlier.run_id} {name} --until {task}`"
        else:
            fix = f"rerun it by itself: `dogflow rerun {earlier.run_id} {name}`"
        raise RerunError(f"The option {other[0]} is one of {name}, which this rerun does not run: {fix}.")


def _is_done(earlier: RunRecord, unit: Unit) -> bool:
    states = {task.name: task.state for task in earlier.tasks}
    return all(states.get(name) in DONE for name in unit.tasks)


def _options_of(pipeline: Pipeline, unit: Unit, options: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The options of a unit's step, from the prefix of its parameters."""
    prefixes = {pipeline.parameters[name].prefix for name in unit.parameters} - {""}
    return options[prefixes.pop()] if len(prefixes) == 1 else {}


def _inputs(
    store: Store,
    earlier: RunRecord,
    units: Mapping[str, Unit],
    wanted: Sequence[tuple[str, str]],
    folder: Path,
    task: str,
) -> tuple[dict[tuple[str, str], ArtifactRecord], dict[Path, bytes]]:
    """The artifacts to take over, by (task, output), and the content of their files by path."""
    artifacts, contents = {}, {}
    for root, output in wanted:
        unit = next(unit for unit in units.values() if root in unit.roots)
        if not _is_done(earlier, unit):
            first = next(
                name
                for name in units
                if name in requirements(units, [unit.name]) and not _is_done(earlier, units[name])
            )
            raise RerunError(
                f"{task} needs the result of {unit.name}, which run {earlier.run_id} did not finish: run "
                f"`dogflow rerun {earlier.run_id} {first} --until {task}`."
            )
        artifact = earlier.task(root).outputs[output]
        path = folder / f"{root}-{output}"
        contents[path] = _content(store, earlier, units, unit, artifact, task)
        artifacts[root, output] = artifact.model_copy(update={"path": str(path)})
    return artifacts, contents


def _content(
    store: Store,
    earlier: RunRecord,
    units: Mapping[str, Unit],
    unit: Unit,
    artifact: ArtifactRecord,
    task: str,
) -> bytes:
    """What the artifact's file holds; RerunError when it, or a file it names, is no longer there."""
    uri = str(artifact.metadata.get("data_uri", ""))
    missing = ""
    if uri:
        manifest = _manifest(store, path_in_root(earlier, uri))
        absent = manifest.missing_files(store) if manifest else []
        if manifest and not absent:
            return artifact_content(store, manifest)
        missing = f"{len(absent)} of its files, such as {absent[0]}," if absent else f"its manifest {uri}"
    elif Path(artifact.path).is_file():
        return Path(artifact.path).read_bytes()
    first = _first_gone(store, earlier, units, unit)
    raise RerunError(
        f"{task} needs the result of {unit.name}, but {missing or artifact.path} "
        f"{'are' if missing.endswith(',') else 'is'} no longer in {earlier.data_root} (`dogflow store gc` "
        f"removes what it is told to forget): run `dogflow rerun {earlier.run_id} {first} --until {task}`, "
        "which makes it again."
    )


def _first_gone(store: Store, earlier: RunRecord, units: Mapping[str, Unit], unit: Unit) -> str:
    """The first unit up to `unit` whose result is not whole any more."""
    needed = requirements(units, [unit.name])
    for name in (name for name in units if name in needed):
        uri = str(earlier.task(units[name].tasks[-1]).outputs["result"].metadata.get("data_uri", ""))
        manifest = _manifest(store, path_in_root(earlier, uri)) if uri else None
        if manifest is None or manifest.missing_files(store):
            return name
    return unit.name


def _manifest(store: Store, path: str) -> Manifest | None:
    try:
        return load_manifest(store.read(path), path)
    except (NotFound, ManifestError):
        return None


def _record(
    record: RunRecord,
    earlier: RunRecord,
    units: Mapping[str, Unit],
    chosen: Sequence[str],
    stale: set[str],
    task: str,
) -> RunRecord:
    """The rerun's record before its start."""
    unit_of = {name: unit for unit in units.values() for name in unit.tasks}
    tasks = []
    for fresh in record.tasks:
        unit = unit_of[fresh.name]
        if unit.name in chosen:
            tasks.append(fresh)
        elif unit.name in stale or not _is_done(earlier, unit):
            tasks.append(fresh.model_copy(update={"state": "skipped"}))
        else:
            tasks.append(_reused(earlier, earlier.task(fresh.name)))
    running = {units[name].step for name in chosen}
    versions = {
        step: version if step in running else earlier.code_versions.get(step, version)
        for step, version in record.code_versions.items()
    }
    return record.model_copy(
        update={
            "parent_run": earlier.run_id,
            "rerun_of": task,
            "tasks": tasks,
            "code_versions": versions,
        }
    )


def _reused(earlier: RunRecord, task: TaskRecord) -> TaskRecord:
    return task.model_copy(
        update={"state": "reused", "reused_from": task.reused_from or earlier.run_id, "progress": ""},
        deep=True,
    )


def _code_notes(earlier: RunRecord, record: RunRecord, chosen: Sequence[Unit]) -> list[str]:
    changed = sorted(
        {
            unit.step
            for unit in chosen
            if earlier.code_versions.get(unit.step) not in (None, record.code_versions[unit.step])
        }
    )
    return [f"The code of {', '.join(changed)} has changed since {earlier.run_id}."] if changed else []

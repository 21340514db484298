"""Starts a pipeline on a runner: compilation, record, storage, run. `dogflow run` and `demo` use it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from pipelines.compile import settings, task_names, to_ir
from pipelines.definition import Pipeline
from pipelines.home import HOME
from pipelines.parameters import DATA_ROOT
from pipelines.runners import subprocess
from pipelines.runners.view import View
from pipelines.runs.record import RunRecord, Runs, TaskRecord, new_run_id, now
from pipelines.store import server
from pipelines.store.server import EMBEDDED_DATA_ROOT
from pipelines.values import Values


@dataclass(frozen=True)
class Plan:
    """A run that could be started: what it would run, with what."""

    ir: str
    record: RunRecord  # with the parameters the pipeline will be given


def plan(pipeline: Pipeline, values: Values, *, profile: str = "", partitions: int = 1, runner: str) -> Plan:
    """Compile and lay out a run; starts and writes nothing."""
    chosen = settings(partitions=partitions)
    ir = to_ir(pipeline, chosen)
    embedded = not values.parameters[DATA_ROOT.name]
    parameters = {**values.parameters, **({DATA_ROOT.name: EMBEDDED_DATA_ROOT} if embedded else {})}
    tasks = task_names(yaml.safe_load(ir.partition("\n---")[0]))
    record = RunRecord(
        run_id=new_run_id(pipeline.name),
        pipeline=pipeline.name,
        definition=pipeline.reference,
        runner=runner,
        started_at=now(),
        data_root=parameters[DATA_ROOT.name],
        embedded_store=embedded,
        profile=profile,
        partitions=partitions,
        parameters=parameters,
        options=values.options,
        code_versions={step: chosen.code_version(step) for step in pipeline.steps},
        tasks=[TaskRecord(name=name, step=step) for name, step in tasks],
    )
    return Plan(ir, record)


def launch(planned: Plan, home: Path, view: View) -> RunRecord:
    """Run a plan to its end. The run's folder keeps the IR, the record and the logs."""
    runs = Runs(home)
    environment = {HOME: str(home)}  # where training keeps the log that TensorBoard watches
    if planned.record.embedded_store:
        environment |= embedded_environment(home)
    runs.save(planned.record)
    (runs.folder_of(planned.record.run_id) / "pipeline.yaml").write_text(planned.ir)
    return subprocess.run(planned.ir, planned.record, runs, environment, view)


def embedded_environment(home: Path) -> Mapping[str, str]:
    """Bring up the embedded store; returns the variables with which tasks reach it."""
    return server.environment(server.up(home))

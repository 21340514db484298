"""Pipelines by name, and their compilation to KFP's intermediate representation (IR).

Compiling is byte-deterministic and imports no torch: a step's model is read, its code is only hashed.
"""

import importlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from kfp import compiler

from components.data.identity import code_version
from pipelines.catalog import PipelineError, module_of
from pipelines.definition import Pipeline, Settings


def load(reference: str) -> Pipeline:
    """The pipeline called `reference`: one of ours, or `module:attribute` for one of your own.

    Raises PipelineError when there is none.
    """
    module_name, attribute = module_of(reference)
    try:
        found = getattr(importlib.import_module(module_name), attribute, None)
    except ModuleNotFoundError as error:
        raise PipelineError(
            f"Pipeline {reference} cannot be imported: {error}. Check the name and PYTHONPATH."
        ) from error
    if not isinstance(found, Pipeline):
        raise PipelineError(f"{module_name} has no pipeline {attribute}: decorate a function with @pipeline.")
    return found


def settings(
    *,
    partitions: int = 1,
    images: Mapping[str, str] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Settings:
    """Settings of a compilation with the code versions of this checkout; ValueError for impossible ones."""
    if not 1 <= partitions <= 64:
        raise ValueError(
            f"--partitions {partitions} is out of range: use 1 to 64. Each is a task of its own; KFP's loops "
            "are made for tens of iterations."
        )
    return Settings(
        code_version=code_version, partitions=partitions, images=images or {}, defaults=defaults or {}
    )


def to_ir(pipeline: Pipeline, chosen: Settings) -> str:
    """The pipeline as IR YAML."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pipeline.yaml"
        compiler.Compiler().compile(pipeline.graph(chosen), str(path))
        return path.read_text()


def write_ir(pipeline: Pipeline, chosen: Settings, out: Path) -> None:
    """Compile into the file `out`, whole or not at all."""
    text = to_ir(pipeline, chosen)
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(f".{out.name}.{os.getpid()}")
    partial.write_text(text)
    partial.replace(out)


def task_names(ir: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(task, step) of every task in `ir` (the parsed first document), in the order they can run.

    The tasks of a parallel loop are `quality.0`, `quality.1` ...
    """
    found: list[tuple[str, str]] = []
    tasks: Mapping[str, Any] = ir["root"]["dag"]["tasks"]
    for name in in_order(tasks):
        component = ir["components"][tasks[name]["componentRef"]["name"]]
        if "dag" not in component:
            found.append((name, step_of(ir, component)))
            continue
        inner = component["dag"]["tasks"]
        for index in range(len(yaml.safe_load(tasks[name]["parameterIterator"]["items"]["raw"]))):
            for task in in_order(inner):
                child = ir["components"][inner[task]["componentRef"]["name"]]
                found.append((f"{task}.{index}", step_of(ir, child)))
    return found


def step_of(ir: Mapping[str, Any], component: Mapping[str, Any]) -> str:
    """The step a component runs: the function its executor is told to execute."""
    args = ir["deploymentSpec"]["executors"][component["executorLabel"]]["container"]["args"]
    return args[args.index("--function_to_execute") + 1]


def in_order(tasks: Mapping[str, Any]) -> list[str]:
    """Task names such that each comes after those it depends on."""
    ordered: list[str] = []
    waiting = dict(tasks)
    while waiting:
        ready = [
            name for name, task in waiting.items() if not set(task.get("dependentTasks", ())) & set(waiting)
        ]
        ordered += ready
        for name in ready:
            del waiting[name]
    return ordered

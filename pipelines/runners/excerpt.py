"""A part of a compiled pipeline that takes what it needs from files instead of from the tasks left out."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pipelines.runs.record import ArtifactRecord

# The one output of KFP's importer.
_IMPORTED = "artifact"


def taken_from_outside(ir: Mapping[str, Any], roots: Collection[str]) -> list[tuple[str, str]]:
    """(task, output) of every artifact that the tasks `roots` of the root DAG read and none of them makes."""
    tasks = ir["root"]["dag"]["tasks"]
    found = {
        (source["producerTask"], source["outputArtifactKey"])
        for name in roots
        for source in _sources(tasks[name])
        if source["producerTask"] not in roots
    }
    return sorted(found)


def excerpt(
    ir: dict[str, Any], roots: Collection[str], artifacts: Mapping[tuple[str, str], ArtifactRecord]
) -> dict[str, Any]:
    """Leave only the tasks `roots`, and import `artifacts` by (task, output); changes `ir` and returns it."""
    dag = ir["root"]["dag"]
    names = {key: f"import-{key[0]}-{key[1]}" for key in artifacts}
    tasks = {name: task for name, task in dag["tasks"].items() if name in roots}
    for task in tasks.values():
        imported = set()
        for source in _sources(task):
            key = (source["producerTask"], source["outputArtifactKey"])
            if key in artifacts:
                source["producerTask"], source["outputArtifactKey"] = names[key], _IMPORTED
                imported.add(names[key])
        before = [name for name in task.pop("dependentTasks", ()) if name in roots]
        if before or imported:
            task["dependentTasks"] = sorted([*before, *imported])
    for key, artifact in artifacts.items():
        tasks[names[key]] = _import(ir, names[key], artifact)
    dag["tasks"] = tasks
    _drop_unused(ir)
    return ir


def _sources(task: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for source in task.get("inputs", {}).get("artifacts", {}).values():
        if "taskOutputArtifact" in source:
            yield source["taskOutputArtifact"]


def _import(ir: dict[str, Any], name: str, artifact: ArtifactRecord) -> dict[str, Any]:
    """Add the importer of one artifact; returns its task."""
    kind = {"schemaTitle": artifact.type, "schemaVersion": "0.0.1"}
    ir["components"][f"comp-{name}"] = {
        "executorLabel": f"exec-{name}",
        "inputDefinitions": {"parameters": {"uri": {"parameterType": "STRING"}}},
        "outputDefinitions": {"artifacts": {_IMPORTED: {"artifactType": kind}}},
    }
    ir["deploymentSpec"]["executors"][f"exec-{name}"] = {
        "importer": {
            "artifactUri": {"constant": artifact.path},
            "typeSchema": kind,
            "metadata": artifact.metadata,
        }
    }
    return {
        "cachingOptions": {},
        "componentRef": {"name": f"comp-{name}"},
        "inputs": {"parameters": {"uri": {"runtimeValue": {"constant": artifact.path}}}},
        "taskInfo": {"name": name},
    }


def _drop_unused(ir: dict[str, Any]) -> None:
    used: dict[str, dict[str, Any]] = {}
    waiting = [ir["root"]]
    while waiting:
        for task in waiting.pop().get("dag", {}).get("tasks", {}).values():
            name = task["componentRef"]["name"]
            if name not in used:
                used[name] = ir["components"][name]
                waiting.append(used[name])
    executors = ir["deploymentSpec"]["executors"]
    labels = {component["executorLabel"] for component in used.values() if "executorLabel" in component}
    ir["components"] = used
    ir["deploymentSpec"]["executors"] = {label: executors[label] for label in executors if label in labels}

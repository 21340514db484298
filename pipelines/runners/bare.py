"""Runs one step in this process, without KFP and without a record."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.data.manifest import Manifest, ManifestError
from components.data.options import parse_options
from components.data.storage import open_store
from components.data.task import Task, load_manifest
from pipelines.parameters import options_model


def run_step(
    step: str,
    manifests: Sequence[str],
    data_root: str,
    values: Mapping[str, Any],
    *,
    partition: int = -1,
    partitions: int = 1,
) -> Manifest:
    """Run `step` on the named manifests with the options `values`; returns what it made.

    Raises OptionError for wrong options, ManifestError for too few, too many or unreadable manifests.
    """
    options = parse_options(options_model(f"components.{step}"), values, step=step)
    module = importlib.import_module(f"components.{step}.step")
    if len(manifests) != len(module.INPUTS):
        wanted = ", ".join(module.INPUTS) or "none"
        raise ManifestError(
            f"{step} reads manifests of: {wanted}; {len(manifests)} are given: use --manifest once for each, "
            "in this order."
        )
    task = Task(
        data_root=data_root,
        workers=int(getattr(options, "workers", 0)),
        partition=partition,
        partitions=partitions,
    )
    return module.run(task, *(read_manifest(name, data_root) for name in manifests), options=options)


def read_manifest(name: str, data_root: str) -> Manifest:
    """A manifest by its URI, by a file's path, or by its path under the data root."""
    if "://" in name:
        folder, _, file = name.rpartition("/")
        return load_manifest(open_store(folder).read(file), name)
    if Path(name).is_file():
        return load_manifest(Path(name).read_bytes(), name)
    return load_manifest(open_store(data_root).read(name), f"{data_root}/{name}")

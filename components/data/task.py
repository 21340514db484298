"""What a step runs in: its data root, its share of the work, and the way its results become a manifest."""

import importlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from components.data.artifacts import MANIFESTS, REPORT_PAGE, ReportManifest
from components.data.identity import code_version, derive_id
from components.data.manifest import DataFile, DatasetManifest, Group, Manifest, ManifestError, Receipt
from components.data.options import StepOptions, identity_options, parse_options
from components.data.progress import Progress
from components.data.schema import BLOB_COLUMNS, arrow_schema
from components.data.shards import (
    ShardError,
    iter_shard,
    merge_tables,
    read_file,
    read_receipt,
    write_file,
    write_merged,
)
from components.data.storage import Store, open_store
from components.data.timings import Timing, part_path, read_timing, timing_path, write_timing

ArtifactT = TypeVar("ArtifactT", bound=Manifest)
Batches = Iterator[pa.RecordBatch]
Score = Callable[[Batches], Iterator[dict[str, list[Any]]]]


@dataclass
class Task:
    """One execution of a step.

    `partition` of `partitions` is the range of whole shards this task works on; -1 means all of them, and is
    also how the merge after a parallel loop runs: every shard is then found done.
    """

    data_root: str
    workers: int = 0  # threads; 0 means one per core
    partition: int = -1
    partitions: int = 1
    computed_rows: int = 0  # rows a step scored, as against found done
    found_done: bool = False  # whether the step's whole result was there before

    def __post_init__(self) -> None:
        if self.partitions < 1 or not -1 <= self.partition < self.partitions:
            raise ValueError(
                f"partition={self.partition} of partitions={self.partitions}: "
                "partition must be -1 (all) or from 0 to partitions-1."
            )
        self.store: Store = open_store(self.data_root)
        self.workers = self.workers or os.cpu_count() or 1

    @property
    def is_part(self) -> bool:
        """Whether this task does only a share of the shards."""
        return self.partition >= 0

    def my_shards(self, count: int) -> range:
        """Indices of the shards this task works on."""
        if not self.is_part:
            return range(count)
        return range(
            count * self.partition // self.partitions, count * (self.partition + 1) // self.partitions
        )


def step_id(step: str, parents: Sequence[Manifest], options: StepOptions, policy: Mapping[str, Any]) -> str:
    """Id of what a step makes of its parents."""
    return derive_id(
        step=step,
        parents=[parent.id for parent in parents],
        options=identity_options(options),
        policy=dict(policy),
        code_version=code_version(step),
    )


def stored(task: Task, manifest: ArtifactT) -> ArtifactT | None:
    """The artifact of this manifest's id, if it was made before and all its files are there."""
    if task.store.size(manifest.path) is None:
        return None
    try:
        done = type(manifest).load(task.store, manifest.path)
    except ManifestError:
        return None
    task.found_done = not done.missing_files(task.store)
    return done if task.found_done else None


def add_group(
    task: Task,
    dataset: DatasetManifest,
    *,
    step: str,
    options: StepOptions,
    columns: Sequence[str],
    reads: Sequence[str],
    score: Score,
    policy: Mapping[str, Any] | None = None,
    count: Callable[[pa.Table], dict[str, int]] | None = None,
) -> DatasetManifest:
    """Score every shard into a column group named like the step, and return the dataset with it.

    `score` takes the batches of one shard (image_id and `reads`) and yields a dict of value lists per batch.
    A shard whose inputs, options, policy and code are unchanged is found done and is not read again, whatever
    else was added to the dataset. Errors: ShardError when `score` returns another number of rows.
    """
    policy = dict(policy or {})
    inputs = sorted({dataset.group_of(name).name for name in reads})
    folder_id = derive_id(
        step=step, options=identity_options(options), policy=policy, code_version=code_version(step)
    )
    folder = f"{dataset.name}/{step}/{folder_id}"
    names = ["image_id", *columns]
    images = dataset.groups["images"].shards
    keys = [derive_id(inputs=shard_inputs(dataset, inputs, index)) for index in range(len(images))]
    mine = task.my_shards(len(images))
    progress = Progress(step, sum(images[index].rows for index in mine))
    receipts: dict[int, Receipt] = {}
    for index in mine:
        receipt = read_receipt(task.store, folder, keys[index])
        if receipt is None:
            batches = _counted(iter_shard(task.store, dataset, index, reads), progress)
            table = _assemble(score(batches), names, images[index].rows, f"shard {index} of step {step}")
            counters = _counters(step, table, count)
            receipt = write_file(task.store, folder, keys[index], table, counters=counters)
            task.computed_rows += table.num_rows
        else:
            progress.skip(receipt.file.rows)
        receipts[index] = receipt
    task.found_done = not task.computed_rows
    if task.is_part:
        return dataset
    group = _group(task, folder, step, folder_id, names, policy, [receipts[index].file for index in mine])
    return extend(task, dataset, step, options, group, [receipts[index].counters for index in mine])


def add_whole_group(
    task: Task,
    dataset: DatasetManifest,
    *,
    step: str,
    options: StepOptions,
    columns: Sequence[str],
    compute: Callable[[], Mapping[str, Any]],
    policy: Mapping[str, Any] | None = None,
    count: Callable[[pa.Table], dict[str, int]] | None = None,
) -> DatasetManifest:
    """Like `add_group`, for a step that looks at all rows at once; its group is a single merged file.

    `compute` returns image_id and the columns as lists or Arrow arrays, in row order.
    """
    policy = dict(policy or {})
    folder_id = step_id(step, [dataset], options, policy)
    folder = f"{dataset.name}/{step}/{folder_id}"
    key = derive_id(shards=[file.key for file in dataset.groups["images"].shards])
    names = ["image_id", *columns]
    receipt = read_receipt(task.store, folder, key)
    if receipt is None:
        table = _table(compute(), names, dataset.rows, f"step {step}")
        counters = _counters(step, table, count)
        receipt = write_file(task.store, folder, key, table, counters=counters, row_group_rows=131_072)
        task.computed_rows = table.num_rows
    task.found_done = not task.computed_rows
    group = Group(name=step, group_id=folder_id, columns=names, policy=policy, merged=receipt.file)
    return extend(task, dataset, step, options, group, [receipt.counters])


def extend(
    task: Task,
    dataset: DatasetManifest,
    step: str,
    options: StepOptions,
    group: Group,
    counters: Sequence[Mapping[str, int]],
) -> DatasetManifest:
    """The dataset with one more group, saved: the manifest is written last."""
    total: dict[str, int | float] = {"rows": dataset.rows}
    for part in counters:
        for name, value in part.items():
            total[name] = total.get(name, 0) + value
    manifest = DatasetManifest(
        name=dataset.name,
        id=step_id(step, [dataset], options, group.policy),
        step=step,
        parents=[dataset.id],
        code_version=code_version(step),
        options=identity_options(options),
        counters=total,
        history=[*dataset.history, dataset.record()],
        rows=dataset.rows,
        groups={**dataset.groups, group.name: group},
    )
    return manifest.save(task.store)


def shard_inputs(dataset: DatasetManifest, groups: Sequence[str], index: int) -> list[list[str]]:
    """What one shard of a derived group is made from: the keys of its input files."""
    names = sorted({"images", *groups})
    out = []
    for name in names:
        group = dataset.groups[name]
        file = group.shards[index] if group.shards else group.merged
        out.append([name, group.group_id, file.key])
    return out


def _group(
    task: Task,
    folder: str,
    name: str,
    group_id: str,
    columns: list[str],
    policy: dict[str, Any],
    shards: list[DataFile],
) -> Group:
    key = derive_id(merged=[file.key for file in shards])
    done = read_receipt(task.store, folder, key)
    if done is None:
        small = [column for column in columns if column not in BLOB_COLUMNS]
        tables = [read_file(task.store, file, small) for file in shards]
        merged = write_merged(task.store, folder, key, merge_tables(tables, small))
    else:
        merged = done.file
    return Group(name=name, group_id=group_id, columns=columns, policy=policy, shards=shards, merged=merged)


def _counted(batches: Batches, progress: Progress) -> Batches:
    for batch in batches:
        yield batch
        progress.add(batch.num_rows)


def _assemble(parts: Iterator[dict[str, list[Any]]], names: list[str], rows: int, where: str) -> pa.Table:
    values: dict[str, list[Any]] = {name: [] for name in names}
    for part in parts:
        for name in names:
            values[name].extend(part[name])
    return _table(values, names, rows, where)


def _table(values: Mapping[str, Any], names: list[str], rows: int, where: str) -> pa.Table:
    schema = arrow_schema(names)
    table = pa.table({name: values[name] for name in names}, schema=schema)
    if table.num_rows != rows:
        raise ShardError(f"{where} returned {table.num_rows} rows for {rows}; no row may be lost or added.")
    return table


def _counters(
    step: str, table: pa.Table, count: Callable[[pa.Table], dict[str, int]] | None
) -> dict[str, int]:
    counters: dict[str, int] = {}
    for name in (f"{step}_error", f"{step}_skipped_by"):
        if name in table.column_names:
            column = table.column(name)
            counters[name.removeprefix(f"{step}_")] = table.num_rows - column.null_count
    return {**counters, **(count(table) if count else {})}


def load_manifest(data: bytes, where: str) -> Manifest:
    """Parse any kind of manifest."""
    try:
        kind = json.loads(data)["kind"]
    except (ValueError, KeyError, TypeError):
        raise ManifestError(f"{where} is not a dogflow manifest.") from None
    if kind not in MANIFESTS:
        raise ManifestError(f"{where} is of kind {kind!r}, which this dogflow does not know.")
    return MANIFESTS[kind].from_bytes(data, where)


def run_component(step: str, arguments: Mapping[str, Any]) -> None:
    """The body of every KFP component: read input manifests, run the step, write its manifest and metrics.

    `arguments` are the component function's locals: input artifacts under the names in the step's INPUTS,
    output artifacts `result` and `metrics`, `data_root`, `code_version`, `partition`, `partitions`, and the
    step's options. Raises ValueError when the code that runs is not the code the pipeline was compiled for.
    """
    module = importlib.import_module(f"components.{step}.step")
    model: type[StepOptions] = importlib.import_module(f"components.{step}.options").OPTIONS
    wanted = arguments["code_version"]
    if wanted and wanted != code_version(step):
        raise ValueError(
            f"This pipeline was compiled for {step} code_version {wanted}, but {code_version(step)} is "
            "installed here. Compile the pipeline again, or use the image it was compiled for."
        )
    options = parse_options(
        model, {name: arguments[name] for name in model.model_fields if name in arguments}, step=step
    )
    task = Task(
        data_root=arguments["data_root"],
        workers=int(getattr(options, "workers", 0)),
        partition=int(arguments.get("partition", -1)),
        partitions=int(arguments.get("partitions", 1)),
    )
    inputs = []
    for name in module.INPUTS:
        path = Path(arguments[name].path)
        inputs.append(load_manifest(path.read_bytes(), f"{name} ({path})"))
    start = time.monotonic()
    result: Manifest = module.run(task, *inputs, options=options)
    seconds = time.monotonic() - start
    record_timing(task, step, inputs, options, result, seconds)
    result_artifact, metrics = arguments["result"], arguments.get("metrics")
    Path(result_artifact.path).parent.mkdir(parents=True, exist_ok=True)
    Path(result_artifact.path).write_bytes(artifact_content(task.store, result))
    result_artifact.metadata.update(artifact_metadata(result, task.data_root, seconds))
    if metrics is not None:
        for name, value in result.counters.items():
            metrics.log_metric(name, float(value))


def artifact_content(store: Store, manifest: Manifest) -> bytes:
    """What a KFP artifact's file holds: the manifest, or the page itself where KFP's UI shows the file."""
    if isinstance(manifest, ReportManifest):
        return store.read(manifest.files[REPORT_PAGE].path)
    return manifest.to_bytes()


def record_timing(
    task: Task,
    step: str,
    inputs: list[Manifest],
    options: StepOptions,
    result: Manifest,
    seconds: float,
) -> None:
    """Keep how long a result took, if this task made it; the merge of partitions adds theirs to its own."""
    timing = Timing(seconds=round(seconds, 3), rows=task.computed_rows)
    if task.is_part:
        if not task.found_done:
            path = part_path(step, inputs, options, task.partition, task.partitions)
            write_timing(task.store, path, timing)
        return
    # A step may hand on what another one made, whose timing is none of its own.
    made = not task.found_done and result.step == step
    for partition in range(task.partitions if task.partitions > 1 else 0):
        path = part_path(step, inputs, options, partition, task.partitions)
        part = read_timing(task.store, path)
        if part is not None:
            timing, made = timing + part, True
    if made:
        write_timing(task.store, timing_path(result.name, result.step, result.id), timing)


def artifact_metadata(manifest: Manifest, data_root: str, seconds: float) -> dict[str, str | float]:
    """Flat str/float metadata for KFP's lineage: no None, no NaN, nothing nested."""
    metadata: dict[str, str | float] = {
        "display_name": f"{manifest.name} after {manifest.step}",
        "data_uri": f"{data_root.rstrip('/')}/{manifest.path}",
        f"{manifest.kind}_id": manifest.id,
        "step": manifest.step,
        "code_version": manifest.code_version,
        "parents": ",".join(manifest.parents),
        "duration_s": round(seconds, 3),
    }
    metadata.update({f"option_{name}": json.dumps(value) for name, value in manifest.options.items()})
    metadata.update({f"count_{name}": float(value) for name, value in manifest.counters.items()})
    return metadata

"""The trace of one photo: its rows in every dataset, its scores and verdicts, and the models that drew it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from components.data.encoded import SAMPLES, TEXTS, EncodedDataset
from components.data.judged import judged_min_side_px
from components.data.manifest import DatasetManifest, Group, StepRecord
from components.data.schema import COLUMNS, arrow_schema
from components.data.shards import ShardError
from components.data.storage import StorageError, Store
from components.report.data import Rule
from components.report.verdicts import judged_rows, judged_rules
from pipelines.lineage.exposure import draws, trained_stage, why_not
from pipelines.lineage.graph import SOURCE, Graph, LineageError, Node
from pipelines.lineage.rows import column, read_row, rows_where, shard_of, texts_of

IMAGES = "images"
HEX = frozenset("0123456789abcdef")
SHORTEST_PREFIX = 4  # below that, half of all photos would answer


@dataclass(frozen=True)
class GroupRow:
    """What one step says about the photo.

    policy: model, version and method of the scores. options: the step's. file: URI of the shard with the
    row, `file_row` its number there. datasets: ids of all datasets that hold this very row.
    """

    name: str
    group_id: str
    step: str
    code_version: str
    options: Mapping[str, Any]
    policy: Mapping[str, Any]
    file: str
    file_row: int
    values: Mapping[str, Any]
    datasets: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """One rule of selection held against the photo.

    A rule on a score has its column, the value, the side (`at_least`, `at_most`) and the threshold; `active`
    is False for a threshold that lets everything pass.
    """

    rule: str
    step: str
    help: str
    failed: bool
    column: str = ""
    value: float | None = None
    side: str = ""
    threshold: float | None = None
    active: bool = True


@dataclass(frozen=True)
class DatasetRow:
    """The photo in one dataset; datasets that are part of a later one are named in `groups` only.

    source_uri: the raw file, under one of `roots`, the places that runs read it from. caption, prompt: its
    texts. duplicate_of: image_id of the photo that was kept instead.
    """

    dataset_id: str
    name: str
    step: str
    uri: str
    row: int
    source_uri: str | None
    roots: tuple[str, ...]
    split: str | None
    keep: bool | None
    reasons: tuple[str, ...]
    tier: int | None
    duplicate_of: str | None
    groups: tuple[GroupRow, ...]
    verdicts: tuple[Verdict, ...]
    caption: str | None
    prompt: str | None


@dataclass(frozen=True)
class Training:
    """A model trained on a dataset that holds the photo. `times` it was drawn; 0 has its reason in `why`."""

    model_id: str
    name: str
    stage: int
    stage_name: str
    dataset_id: str
    uri: str
    text: str  # caption or prompt: what conditioned the picture
    times: int
    why: str
    made_by: tuple[str, ...]


@dataclass(frozen=True)
class PhotoTrace:
    """Everything known of one photo. later: ids of all that was made from models that drew it."""

    image_id: str
    rows: tuple[DatasetRow, ...]
    trainings: tuple[Training, ...]
    later: tuple[str, ...]
    problems: tuple[str, ...] = field(default=())


def trace_photo(graph: Graph, query: str) -> PhotoTrace:
    """The trace of an image_id, the beginning of one that no other photo shares, or a source_uri.

    Reads the image_id column of each set of photos once, then single rows; never image bytes. Files that are
    gone become `problems`. Raises LineageError when no photo or more than one answers to `query`.
    """
    return _Tracing(graph).trace(query)


def find_photos(graph: Graph, query: str) -> list[str]:
    """image_ids that answer to `query`, sorted: equal to it or beginning with it, or read from that path."""
    return _Tracing(graph).find(query)


class _Tracing:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.problems: dict[str, None] = {}
        self.read: dict[tuple[str, int], dict[str, Any]] = {}
        self.datasets: dict[str, tuple[DatasetManifest, Store]] = {
            node.id: (found.manifest, found.store)
            for node in graph.of_kind("dataset")
            if (found := graph.manifests.get(node.id)) and isinstance(found.manifest, DatasetManifest)
        }

    def find(self, query: str) -> list[str]:
        found: set[str] = set()
        try:
            query.encode()
        except UnicodeEncodeError:  # a file name that is no text; ingest stores none
            return []
        is_hex = len(query) >= SHORTEST_PREFIX and HEX.issuperset(query.lower())
        for store, group in self._photo_sets():
            with _Tolerant(self.problems):
                rows = rows_where(store, group, "source_uri", query)
                if is_hex:
                    rows += rows_where(store, group, "image_id", query.lower(), prefix=True)
                if rows:
                    found.update(column(store, group, "image_id").take(pa.array(rows)).to_pylist())
        return sorted(found)

    def trace(self, query: str) -> PhotoTrace:
        found = self.find(query)
        if len(found) != 1:
            some = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
            raise LineageError(
                f"{len(found)} photos answer to {query!r} ({some}): give an image_id."
                if found
                else f"No dataset here has a photo with the image_id or source_uri {query!r}."
                + "".join(f" {problem}" for problem in self.problems)
            )
        image_id = found[0]
        rows = [row for id in self._latest() for row in self._dataset_rows(id, image_id)]
        trainings = [
            training
            for id, (manifest, store) in self.datasets.items()
            if SAMPLES in manifest.groups
            for training in self._trainings(id, manifest, store, image_id)
        ]
        drawn = [training.model_id for training in trainings if training.times]
        later = dict.fromkeys(node.id for id in drawn for node in self.graph.descendants(id))
        return PhotoTrace(image_id, tuple(rows), tuple(trainings), tuple(later), tuple(self.problems))

    def _photo_sets(self) -> Iterable[tuple[Store, Group]]:
        """The images groups of all datasets, each once."""
        seen = {}
        for manifest, store in self.datasets.values():
            group = manifest.groups.get(IMAGES)
            if group is not None:
                seen[store.locate(group.merged.path)] = (store, group)
        return seen.values()

    def _latest(self) -> list[str]:
        """Datasets with something that no child of theirs has too: those show every row there is."""

        def files(id: str) -> set[str]:
            if id not in self.datasets:
                return set()
            return {group.merged.path for group in self.datasets[id][0].groups.values()}

        return [
            id
            for id in self.datasets
            if not any(files(id) <= files(child.id) for child in self.graph.children(id))
        ]

    def _dataset_rows(self, id: str, image_id: str) -> list[DatasetRow]:
        manifest, store = self.datasets[id]
        main = manifest.groups.get(IMAGES) or manifest.groups.get(SAMPLES)
        if main is None:
            return []
        with _Tolerant(self.problems):
            return [
                self._dataset_row(self.graph.nodes[id], manifest, store, row, image_id)
                for row in rows_where(store, main, "image_id", image_id)
            ]
        return []

    def _dataset_row(
        self, node: Node, manifest: DatasetManifest, store: Store, row: int, image_id: str
    ) -> DatasetRow:
        groups = []
        for group in manifest.groups.values():
            if group.name == TEXTS:
                continue
            with _Tolerant(self.problems):
                groups.append(self._group_row(manifest, store, group, row, image_id))
        values = {name: value for group in groups for name, value in group.values.items()}
        if TEXTS in manifest.groups:
            ids = {name: values.get(f"{name}_id") or "" for name in ("caption", "prompt")}
            texts = texts_of(store, manifest.groups[TEXTS], list(ids.values()))
            values.update({name: texts.get(text_id) for name, text_id in ids.items()})
        return DatasetRow(
            dataset_id=manifest.id,
            name=manifest.name,
            step=manifest.step,
            uri=node.uris[0],
            row=row,
            source_uri=values.get("source_uri"),
            roots=tuple(
                uri for other in self.graph.ancestors(node.id) if other.kind == SOURCE for uri in other.uris
            ),
            split=values.get("split"),
            keep=values.get("keep"),
            reasons=tuple(values.get("reasons") or ()),
            tier=values.get("tier"),
            duplicate_of=values.get("duplicate_of"),
            groups=tuple(groups),
            verdicts=tuple(_verdicts(manifest, store, values)) if "reasons" in values else (),
            caption=values.get("caption"),
            prompt=values.get("prompt"),
        )

    def _group_row(
        self, manifest: DatasetManifest, store: Store, group: Group, row: int, image_id: str
    ) -> GroupRow:
        key = (store.locate(group.merged.path), row)
        if key not in self.read:
            self.read[key] = read_row(store, group, row, image_id)
        # Groups are called like their step, but for those that make a dataset.
        step = {IMAGES: "ingest", SAMPLES: "encoding"}.get(group.name, group.name)
        record = _record(manifest, step)
        shard, shard_row = shard_of(group, row)
        return GroupRow(
            name=group.name,
            group_id=group.group_id,
            step=step,
            code_version=record.code_version if record else "",
            options=record.options if record else {},
            policy=group.policy,
            file=store.locate(shard.path),
            file_row=shard_row,
            values={name: value for name, value in self.read[key].items() if name != "image_id"},
            datasets=tuple(
                id
                for id, (other, _) in self.datasets.items()
                if group.name in other.groups and other.groups[group.name].merged.path == group.merged.path
            ),
        )

    def _trainings(
        self, id: str, manifest: DatasetManifest, store: Store, image_id: str
    ) -> Iterable[Training]:
        models = [node for node in self.graph.children(id) if node.step == "training"]
        if not models:
            return
        with _Tolerant(self.problems):
            group = manifest.groups[SAMPLES]
            if not rows_where(store, group, "image_id", image_id):
                return
            encoded = EncodedDataset(store, manifest)
            rows = [
                number
                for number, other in enumerate(encoded.index.column("image_id").to_pylist())
                if other == image_id
            ]
            first = encoded.index.take(pa.array(rows)).to_pylist()[0]
            texts = texts_of(store, manifest.groups[TEXTS], [first["caption_id"], first["prompt_id"]])
            for node in models:
                chosen = trained_stage(node.options)
                times = int(draws(encoded, node.options)[rows].sum())
                yield Training(
                    model_id=node.id,
                    name=node.name,
                    stage=chosen.number,
                    stage_name=chosen.name,
                    dataset_id=id,
                    uri=next(iter(node.uris), ""),
                    text=texts.get(first[f"{chosen.text}_id"], ""),
                    times=times,
                    why="" if times else why_not(chosen, first["split"], first["tier"]),
                    made_by=node.made_by,
                )


class _Tolerant:
    """Turns a file that cannot be read into a problem: the rest of a trace is worth having."""

    def __init__(self, problems: dict[str, None]) -> None:
        self.problems = problems

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        if isinstance(error, (ShardError, StorageError, OSError, pa.ArrowException)):
            self.problems[" ".join(str(error).split())] = None
            return True
        return False


def _record(manifest: DatasetManifest, step: str) -> StepRecord | None:
    records = [record for record in [*manifest.history, manifest.record()] if record.step == step]
    return records[-1] if records else None


def _verdicts(manifest: DatasetManifest, store: Store, values: Mapping[str, Any]) -> Sequence[Verdict]:
    """The rules of the dataset's selection, as the report shows them, held against one row."""
    record = _record(manifest, "selection")
    if record is None:
        return []
    options = record.options
    crop = bool(options.get("crop_to_subject"))
    if float(options.get("clip_similarity_fraction", 1.0)) < 1:
        table = judged_rows(store, manifest, options)  # the threshold depends on all rows
        own = {**values, "min_side_px": None}
    else:
        own = dict(values)
        table = pa.Table.from_pylist([own], arrow_schema([name for name in own if name in COLUMNS]))
    side = float(judged_min_side_px(_sides(values), crop)[0])
    own["min_side_px"] = side if side == side else None
    if "min_side_px" not in table.column_names:
        table = table.append_column("min_side_px", pa.array([own["min_side_px"]], pa.float64()))
    failed = set(values.get("reasons") or ())
    return [_verdict(rule, rule.name in failed, own) for rule in judged_rules(table, options)]


def _verdict(rule: Rule, failed: bool, values: Mapping[str, Any]) -> Verdict:
    limit = rule.threshold
    if limit is None:
        return Verdict(rule.name, rule.step, rule.help, failed)
    return Verdict(
        rule.name,
        rule.step,
        rule.help,
        failed,
        column=limit.column,
        value=values.get(limit.column),
        side=limit.side,
        threshold=limit.value,
        active=limit.active,
    )


def _sides(values: Mapping[str, Any]) -> pa.Table:
    names = {"width_px": pa.int32(), "height_px": pa.int32(), "crop_box": pa.list_(pa.int32(), 4)}
    return pa.table({name: pa.array([values.get(name)], kind) for name, kind in names.items()})

"""The lineage graph: raw sources, datasets, models, samples, evaluations, reports and runs, across runs.

Nodes are known by identity. A dataset that five runs used, in two data roots, is one node with its
dataset_id; so two runs that share artifacts share nodes. The graph is built from manifests and run records
alone. What a manifest or a record names but no data root holds (any more) is a node with `found=False`.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal

from components.data.artifacts import MANIFESTS, FilesManifest
from components.data.manifest import DatasetManifest, Manifest, StepRecord
from components.data.storage import Store
from pipelines.lineage.manifests import Found, ManifestReader
from pipelines.runs.record import ArtifactRecord, RunRecord

SOURCE, RUN, UNKNOWN = "source", "run", "unknown"
KINDS = (SOURCE, *MANIFESTS, RUN, UNKNOWN)

Relation = Literal["derived_from", "made_by", "used"]
DERIVED_FROM: Relation = "derived_from"  # from an artifact to what it was made from
MADE_BY: Relation = "made_by"  # from an artifact to a run that made it, or found it made
USED: Relation = "used"  # from a run to an artifact its tasks took as input


class LineageError(ValueError):
    """Something to trace that the graph does not hold, or that more than one thing answers to."""


@dataclass(frozen=True)
class GroupNode:
    """A column group of a dataset. `policy` names the model behind its scores, where there is one."""

    name: str
    group_id: str
    columns: tuple[str, ...]
    policy: Mapping[str, Any]
    files: int  # shards and the merged file
    bytes: int


@dataclass(frozen=True)
class Node:
    """One thing with an identity.

    id: dataset_id or model_id of an artifact (16 hex digits), `run:<run_id>`, or `source:<dataset_id>` for
    the raw files that an ingested dataset was made of. kind: one of KINDS. details: of an artifact what its
    manifest says, of a run its state, times and tasks with ids of inputs and outputs by name. uris: where its
    manifest lies (several when data roots were copied); of a source, the folders or URIs that runs read it
    from; of a run, its data root. files: URIs of the files of what is not a dataset, by name. made_by: ids of
    the runs it came out of, the oldest first: that one made it, later ones found it made. used_by: ids of the
    runs with tasks that took it as input. found: whether its manifest was there to be read.
    """

    id: str
    kind: str
    name: str
    step: str = ""
    code_version: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    uris: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[GroupNode, ...] = ()
    made_by: tuple[str, ...] = ()
    used_by: tuple[str, ...] = ()
    found: bool = True

    @property
    def label(self) -> str:
        """A short text for people: `selection of demo`, `training stage 1 of demo`."""
        if self.kind in (RUN, SOURCE):
            return self.name
        stage = f" stage {self.options['stage']}" if "stage" in self.options else ""
        return f"{self.step or self.kind}{stage} of {self.name}" if self.name else self.step or self.kind


@dataclass(frozen=True, order=True)
class Edge:
    """`source` stands in `relation` to `target`: see the relations' own lines."""

    source: str
    relation: Relation
    target: str


@dataclass(frozen=True)
class Graph:
    """Nodes by id, what is made before what is made from it; runs come last.

    problems: sentences about what was left out. manifests: by id, for nodes whose manifest was read.
    """

    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]
    problems: tuple[str, ...] = ()
    manifests: Mapping[str, Found] = field(default_factory=dict)

    @cached_property
    def _parents(self) -> Mapping[str, list[str]]:
        return _adjacent((edge.source, edge.target) for edge in self.edges if edge.relation == DERIVED_FROM)

    @cached_property
    def _children(self) -> Mapping[str, list[str]]:
        return _adjacent((edge.target, edge.source) for edge in self.edges if edge.relation == DERIVED_FROM)

    def node(self, id: str) -> Node:
        """The node of an id, or of the beginning of one that no other shares. Raises LineageError."""
        if id in self.nodes:
            return self.nodes[id]
        matches = self.matches(id)
        if len(matches) == 1:
            return self.nodes[matches[0]]
        if not matches:
            raise LineageError(f"No artifact or run has the id {id!r}: `dogflow lineage list` shows them.")
        some = ", ".join(matches[:5]) + (", ..." if len(matches) > 5 else "")
        raise LineageError(f"{len(matches)} ids begin with {id!r} ({some}): give more of it.")

    def matches(self, prefix: str) -> list[str]:
        """Ids that begin with `prefix`; of runs, with or without `run:`. Sources need their `source:`."""
        if not prefix:
            return []
        return [id for id in self.nodes if id.startswith((prefix, f"{RUN}:{prefix}"))]

    def parents(self, id: str) -> list[Node]:
        """What the node was made from directly. Runs have none: `made_by` and `used_by` hold those."""
        return [self.nodes[other] for other in self._parents.get(id, ())]

    def children(self, id: str) -> list[Node]:
        """What was made from the node directly."""
        return [self.nodes[other] for other in self._children.get(id, ())]

    def ancestors(self, id: str, hops: int | None = None) -> list[Node]:
        """What the node was made from within `hops` steps (None: all), nearest first, without itself."""
        return [self.nodes[other] for other in _reach(id, self._parents, hops)]

    def descendants(self, id: str, hops: int | None = None) -> list[Node]:
        """What was made from the node within `hops` steps (None: all), nearest first, without itself."""
        return [self.nodes[other] for other in _reach(id, self._children, hops)]

    def of_kind(self, kind: str) -> list[Node]:
        """All nodes of a kind, in the graph's order."""
        return [node for node in self.nodes.values() if node.kind == kind]


def build(
    stores: Sequence[Store], records: Iterable[RunRecord] = (), reader: ManifestReader | None = None
) -> Graph:
    """The graph of some data roots and run records. Reads manifests only, in threads.

    Foreign and unreadable manifests, roots that do not answer, and parents that would close a circle are left
    out and become `problems`. Give the same `reader` again to read only what is new since the last build.
    """
    reader = reader or ManifestReader()
    making = _Making()
    for store in stores:
        found, problems = reader.read(store)
        making.problems.extend(problems)
        for item in found:
            making.add_manifest(item)
    for record in sorted(records, key=lambda record: (record.started_at, record.run_id)):
        making.add_run(record)
    for item in making.manifests.values():
        making.add_history(item.manifest)
    return making.graph()


class _Making:
    """A graph while it is put together. Manifests say most, then run records, then others' histories."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.parents: dict[str, list[str]] = {}
        self.manifests: dict[str, Found] = {}
        self.groups: dict[tuple[str, str, int], GroupNode] = {}
        self.runs: list[Node] = []
        self.made: dict[str, list[str]] = defaultdict(list)
        self.used: dict[str, list[str]] = defaultdict(list)
        self.places: dict[str, list[str]] = defaultdict(list)
        self.problems: list[str] = []

    def add_manifest(self, found: Found) -> None:
        manifest = found.manifest
        known = self.nodes.get(manifest.id)
        if known is not None:
            if (known.kind, known.step) != (manifest.kind, manifest.step):
                self.problems.append(
                    f"{found.uri} has the id of {known.uris[0]}, which is of another kind: it is left out."
                )
                return
            self.nodes[manifest.id] = replace(known, uris=(*known.uris, found.uri))
            return
        files = manifest.files if isinstance(manifest, FilesManifest) else {}
        self.manifests[manifest.id] = found
        self.parents[manifest.id] = list(dict.fromkeys(manifest.parents))
        self.nodes[manifest.id] = Node(
            id=manifest.id,
            kind=manifest.kind,
            name=manifest.name,
            step=manifest.step,
            code_version=manifest.code_version,
            options=manifest.options,
            counters=manifest.counters,
            details=manifest.details if isinstance(manifest, FilesManifest) else {},
            uris=(found.uri,),
            files={name: found.store.locate(file.path) for name, file in files.items()},
            groups=self._groups(manifest) if isinstance(manifest, DatasetManifest) else (),
        )

    def _groups(self, manifest: DatasetManifest) -> tuple[GroupNode, ...]:
        """Its groups. Datasets of a chain share theirs: nine in ten are known from another manifest."""
        out = []
        for group in manifest.groups.values():
            key = (group.group_id, group.merged.path, len(group.shards))
            if key not in self.groups:
                self.groups[key] = GroupNode(
                    name=group.name,
                    group_id=group.group_id,
                    columns=tuple(group.columns),
                    policy=group.policy,
                    files=len(group.files()),
                    bytes=sum(file.bytes for file in group.files()),
                )
            out.append(self.groups[key])
        return tuple(out)

    def add_run(self, record: RunRecord) -> None:
        node_id = f"{RUN}:{record.run_id}"
        made: dict[str, None] = {}
        used: dict[str, None] = {}
        tasks = []
        for task in record.tasks:
            outputs = {name: self._add_artifact(artifact) for name, artifact in task.outputs.items()}
            inputs = {name: self._add_artifact(artifact) for name, artifact in task.inputs.items()}
            for name, artifact in task.outputs.items():
                artifact_id = outputs[name]
                if artifact_id:
                    # The step `opening`, and the parts of a split task, hand on what another task made; a
                    # rerun's record names what it took over.
                    own = artifact.metadata.get("step") == task.step and task.state != "reused"
                    (made if own else used).setdefault(artifact_id)
                    if own and task.step == "ingest":
                        self._add_place(artifact_id, task.parameters.get("source"))
            used.update(dict.fromkeys(filter(None, inputs.values())))
            tasks.append(
                {
                    **task.model_dump(include=_SHOWN_OF_TASKS),
                    "inputs": {name: id for name, id in inputs.items() if id},
                    "outputs": {name: id for name, id in outputs.items() if id},
                }
            )
        for artifact_id in made:
            self.made[artifact_id].append(record.run_id)
        for artifact_id in used:
            self.used[artifact_id].append(record.run_id)
        self.runs.append(
            Node(
                id=node_id,
                kind=RUN,
                name=record.run_id,
                step=record.pipeline,
                options=record.options,
                details={
                    "state": record.state,
                    "runner": record.runner,
                    "profile": record.profile,
                    "started_at": record.started_at,
                    "ended_at": record.ended_at,
                    "code_versions": record.code_versions,
                    "error": record.error,
                    "parent_run": record.parent_run,
                    "tasks": tasks,
                },
                uris=(record.data_root,),
            )
        )

    def _add_artifact(self, artifact: ArtifactRecord) -> str:
        """The id that KFP metadata gives, "" for artifacts such as metrics that have none."""
        metadata = artifact.metadata
        kind = next((kind for kind in MANIFESTS if metadata.get(f"{kind}_id")), "")
        if not kind:
            return ""
        artifact_id = str(metadata[f"{kind}_id"])
        if artifact_id not in self.nodes:
            uri = str(metadata.get("data_uri", ""))
            # `<data root>/<name>/manifests/<step>-<id>.json`
            name = uri.rpartition("/manifests/")[0].rpartition("/")[2]
            self.nodes[artifact_id] = Node(
                id=artifact_id,
                kind=kind,
                name=name,
                step=str(metadata.get("step", "")),
                code_version=str(metadata.get("code_version", "")),
                options=_flat(metadata, "option_", json.loads),
                counters=_flat(metadata, "count_", float),
                uris=(uri,) if uri else (),
                found=False,
            )
            parents = str(metadata.get("parents", "")).split(",")
            self.parents[artifact_id] = [parent for parent in dict.fromkeys(parents) if parent]
        return artifact_id

    def _add_place(self, dataset_id: str, place: Any) -> None:
        if place and place not in self.places[dataset_id]:
            self.places[dataset_id].append(str(place))

    def add_history(self, manifest: Manifest) -> None:
        """What a manifest tells of ancestors that are gone, where nothing better is known of them."""
        line = manifest.history if isinstance(manifest, DatasetManifest) else ()
        for before, record in zip([None, *line], line, strict=False):
            if self._add_gone(record, "dataset", manifest.name.removesuffix("-encoded")):
                # The history of a dataset is one line: each step worked on the result of the one before.
                self.parents[record.id] = [before.id] if before is not None else []
        for record in manifest.history:
            self._add_gone(record, _KIND_OF_STEP.get(record.step, "dataset"), "")

    def _add_gone(self, record: StepRecord, kind: str, name: str) -> bool:
        if record.id in self.nodes:
            return False
        self.nodes[record.id] = Node(
            id=record.id,
            kind=kind,
            name=name,
            step=record.step,
            code_version=record.code_version,
            options=record.options,
            counters=record.counters,
            found=False,
        )
        self.parents[record.id] = []
        return True

    def graph(self) -> Graph:
        for parent in [parent for parents in self.parents.values() for parent in parents]:
            if parent not in self.nodes:
                self.nodes[parent] = Node(id=parent, kind=UNKNOWN, name="", found=False)
        for id, node in list(self.nodes.items()):
            if node.kind == "dataset" and not self.parents.get(id) and (node.found or node.step == "ingest"):
                self._add_source(node)
        nodes: dict[str, Node] = {}
        for id in self._sorted():
            nodes[id] = replace(
                self.nodes[id], made_by=tuple(self.made.get(id, ())), used_by=tuple(self.used.get(id, ()))
            )
        nodes.update((node.id, node) for node in self.runs)
        edges = [
            *(Edge(id, DERIVED_FROM, other) for id, parents in self.parents.items() for other in parents),
            *(Edge(id, MADE_BY, f"{RUN}:{run}") for id, node in nodes.items() for run in node.made_by),
            *(Edge(f"{RUN}:{run}", USED, id) for id, node in nodes.items() for run in node.used_by),
        ]
        return Graph(nodes, tuple(edges), tuple(self.problems), self.manifests)

    def _add_source(self, dataset: Node) -> None:
        id = f"{SOURCE}:{dataset.id}"
        rows = dataset.counters.get("rows")
        self.nodes[id] = Node(
            id=id,
            kind=SOURCE,
            name=f"raw files of {dataset.name}",
            counters={"rows": rows} if rows is not None else {},
            uris=tuple(self.places.get(dataset.id, ())),
            found=dataset.found,
        )
        self.parents[dataset.id] = [id]
        self.parents[id] = []

    def _sorted(self) -> list[str]:
        """Ids, parents first. Ids are hashes over the parents', so a circle means a forged manifest."""
        while True:
            try:
                return list(TopologicalSorter(self.parents).static_order())
            except CycleError as error:
                # A list in which each node is a predecessor (a parent) of the next, the first repeated.
                parent, child = error.args[1][0], error.args[1][1]
                self.parents[child].remove(parent)
                where = next(iter(self.nodes[child].uris), child)
                self.problems.append(
                    f"{where} names {parent} as what it was made from, which was made from it in turn: "
                    "that is left out."
                )


_SHOWN_OF_TASKS = {"name", "step", "state", "started_at", "ended_at", "attempts", "error"}

# For ancestors that only a history tells of, which gives their step but not their kind.
_KIND_OF_STEP = {
    "initialization": "model",
    "training": "model",
    "sampling": "samples",
    "evaluation": "evaluation",
    "report": "report",
}


def _flat(metadata: Mapping[str, Any], prefix: str, parse: Any) -> dict[str, Any]:
    """Entries of flat KFP metadata under a prefix; what does not parse stays as it is."""
    out = {}
    for name, value in metadata.items():
        if name.startswith(prefix):
            try:
                out[name.removeprefix(prefix)] = parse(value)
            except (ValueError, TypeError):
                out[name.removeprefix(prefix)] = value
    return out


def _adjacent(pairs: Iterable[tuple[str, str]]) -> Mapping[str, list[str]]:
    out: dict[str, list[str]] = {}
    for first, second in pairs:
        out.setdefault(first, []).append(second)
    return out


def _reach(start: str, adjacent: Mapping[str, list[str]], hops: int | None) -> Iterator[str]:
    """Breadth first from `start`, each node once."""
    seen, layer, hop = {start}, [start], 0
    while layer and (hops is None or hop < hops):
        following = []
        for id in layer:
            for other in adjacent.get(id, ()):
                if other not in seen:
                    seen.add(other)
                    following.append(other)
                    yield other
        layer, hop = following, hop + 1

"""`trace X`: finds what X is (an artifact, a run, a file, a photo) and tells where it comes from."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from components.data.artifacts import FilesManifest
from components.data.encoded import SAMPLES, EncodedDataset
from components.data.manifest import DatasetManifest, Manifest
from components.data.pictures import read_lineage
from components.data.shards import ShardError, read_table
from pipelines.lineage.exposure import draws, trained_stage
from pipelines.lineage.graph import RUN, SOURCE, Graph, LineageError, Node
from pipelines.lineage.manifests import Found
from pipelines.lineage.photo import PhotoTrace, find_photos, trace_photo
from pipelines.lineage.plain import node_json

COMPARED = "compared with"
READ_BYTES = 1 << 20
Roles = dict[str, dict[str, list[str]]]  # by id of the encoded dataset and image_id


@dataclass(frozen=True)
class RawFile:
    """A raw file as ingest noted it: `source_uri` is relative to the folder or URI that was read.

    roles: what it was for: `stage 0` ... where a training drew it, COMPARED where an evaluation held drawn
    pictures against it, and nothing for a row of a dataset. source_uri and source are None when the dataset
    that knew them is gone.
    """

    image_id: str
    source_uri: str | None
    source: str | None
    roles: tuple[str, ...] = ()


@dataclass(frozen=True)
class ArtifactTrace:
    """An artifact, a run or a source with everything behind it and everything made from it, nearest first."""

    node: Node
    ancestors: tuple[Node, ...]
    descendants: tuple[Node, ...]
    problems: tuple[str, ...] = ()


def trace(graph: Graph, query: str, *, local_files: bool = True) -> ArtifactTrace | PhotoTrace:
    """The trace of whatever `query` names; tried in this order:

    a local file (a picture, a checkpoint, a report: known by its content, or by the ids in a PNG), the URI of
    a manifest or of a file of an artifact, an id of the graph or the beginning of one, a photo by image_id or
    source_uri. Raises LineageError when nothing or more than one thing answers. Pass `local_files=False` for
    queries of others, such as a web page's: then no file outside the data roots is looked at.
    """
    node = _of_uri(graph, query)
    if node is None and local_files and _is_file(Path(query)):
        node = _of_file(graph, Path(query))
    if node is not None:
        return trace_artifact(graph, node.id)
    if query in graph.nodes:
        return trace_artifact(graph, query)
    artifacts, photos = graph.matches(query), find_photos(graph, query)
    if artifacts and photos:
        both = ", ".join([*artifacts[:3], *photos[:3]])
        raise LineageError(f"Artifacts and photos begin with {query!r} ({both}): give more of the id.")
    if artifacts:
        return trace_artifact(graph, graph.node(query).id)
    return trace_photo(graph, query)


def trace_artifact(graph: Graph, id: str) -> ArtifactTrace:
    """The trace of a node, by its id or a prefix. For a run: of all it made, without what it only used."""
    node = graph.node(id)
    if node.kind == RUN:
        made = [other for other in graph.nodes.values() if node.name in other.made_by]
        above = [up for other in made for up in graph.ancestors(other.id)]
        below = [down for other in made for down in graph.descendants(other.id) if down not in made]
        up, down = _once([*made[::-1], *above]), _once(below)
    else:
        up, down = graph.ancestors(node.id), graph.descendants(node.id)
    gone = [f"The manifest of {other.label} {other.id} is gone." for other in [node, *up] if not other.found]
    return ArtifactTrace(node, tuple(up), tuple(down), (*gone, *graph.problems))


def _once(nodes: list[Node]) -> list[Node]:
    return list({node.id: node for node in nodes}.values())


def trace_json(traced: ArtifactTrace | PhotoTrace) -> dict[str, Any]:
    """A trace as plain data; `traced` says which kind it is: `artifact` or `photo`."""
    if isinstance(traced, PhotoTrace):
        return {"traced": "photo", **asdict(traced)}
    return {
        "traced": "artifact",
        "node": node_json(traced.node),
        "ancestors": [node_json(node) for node in traced.ancestors],
        "descendants": [node_json(node) for node in traced.descendants],
        "problems": list(traced.problems),
    }


def raw_files(graph: Graph, id: str) -> Iterator[RawFile]:
    """The raw files behind an artifact, by image_id.

    For a dataset all its rows. For a model the files that it or a model before it was trained on, exactly: a
    training's order of rows is known. For samples those of their model, for an evaluation also those it
    compared with, for a report what its evaluation has, or its dataset's rows where nothing was trained.
    Raises LineageError for a run, and ShardError when files of the datasets are gone.
    """
    node = graph.node(id)
    if node.kind == RUN:
        raise LineageError(f"{node.name} is a run: ask for the raw files of what it made.")
    if node.kind == SOURCE:
        node = graph.children(node.id)[0]
    if node.kind == "dataset":
        yield from _files_of(graph, node, {})
        return
    roles: Roles = {}
    for other in [node, *graph.ancestors(node.id)]:
        if other.step == "training":
            _note_training(graph, other, roles)
        elif other.kind == "evaluation":
            _note_comparison(graph, other, roles)
    if not roles and node.kind == "report":
        for dataset in (other for other in graph.parents(node.id) if other.kind == "dataset"):
            yield from _files_of(graph, dataset, {})
        return
    merged: dict[str, RawFile] = {}
    for dataset_id, by_image in roles.items():
        for file in _files_of(graph, graph.nodes[dataset_id], by_image):
            key = f"{file.image_id} {file.source_uri}"
            known = merged.get(key)
            joined = dict.fromkeys((*(known.roles if known else ()), *file.roles))
            merged[key] = RawFile(file.image_id, file.source_uri, file.source, tuple(sorted(joined)))
    yield from (merged[key] for key in sorted(merged))


def _note_training(graph: Graph, model: Node, roles: Roles) -> None:
    dataset = next((other for other in graph.parents(model.id) if other.kind == "dataset"), None)
    if dataset is None or dataset.id not in graph.manifests:
        return
    encoded = _encoded(graph, dataset)
    seen = draws(encoded, model.options) > 0
    _note(roles, dataset, encoded, seen, f"stage {trained_stage(model.options).number}")


def _note_comparison(graph: Graph, evaluation: Node, roles: Roles) -> None:
    for dataset in graph.parents(evaluation.id):
        if dataset.kind == "dataset" and dataset.id in graph.manifests:
            encoded = _encoded(graph, dataset)
            rows = np.zeros(len(encoded), bool)
            rows[encoded.rows_of_split("test")] = True
            _note(roles, dataset, encoded, rows, COMPARED)


def _note(
    roles: Roles,
    dataset: Node,
    encoded: EncodedDataset,
    rows: np.ndarray,
    role: str,
) -> None:
    image_ids = encoded.index.column("image_id").take(np.flatnonzero(rows)).to_pylist()
    for image_id in dict.fromkeys(image_ids):
        roles.setdefault(dataset.id, {}).setdefault(image_id, []).append(role)


def _encoded(graph: Graph, dataset: Node) -> EncodedDataset:
    found = graph.manifests[dataset.id]
    assert isinstance(found.manifest, DatasetManifest)
    return EncodedDataset(found.store, found.manifest)


def _files_of(graph: Graph, node: Node, roles: Mapping[str, list[str]]) -> Iterator[RawFile]:
    """Rows of a dataset as raw files; of an encoded one, through the selection it was made from.

    `roles` by image_id, where only those images are wanted.
    """
    found = graph.manifests.get(node.id)
    if found is None or not isinstance(found.manifest, DatasetManifest):
        raise ShardError(f"The manifest of {node.label} {node.id} is gone: its rows are not known any more.")
    manifest, store = found.manifest, found.store
    if SAMPLES not in manifest.groups:
        table = read_table(store, manifest, ["image_id", "source_uri", "source"])
        yield from (RawFile(row["image_id"], row["source_uri"], row["source"]) for row in table.to_pylist())
        return
    inside = read_table(store, manifest, ["image_id"]).column("image_id")
    wanted = list(roles) if roles else inside.unique().to_pylist()
    parent = next((graph.manifests[id] for id in manifest.parents if id in graph.manifests), None)
    if parent is None or not isinstance(parent.manifest, DatasetManifest):
        yield from (RawFile(image_id, None, None, tuple(roles.get(image_id, ()))) for image_id in wanted)
        return
    table = read_table(parent.store, parent.manifest, ["image_id", "source_uri", "source", "keep"])
    table = table.filter(table.column("keep"))
    table = table.filter(pc.is_in(table.column("image_id"), value_set=inside.unique()))
    for row in table.to_pylist():
        if not roles or row["image_id"] in roles:
            yield RawFile(
                row["image_id"], row["source_uri"], row["source"], tuple(roles.get(row["image_id"], ()))
            )


def _sha256s(manifest: Manifest) -> set[str]:
    if isinstance(manifest, DatasetManifest):
        return {file.sha256 for group in manifest.groups.values() for file in group.files()}
    return {file.sha256 for file in manifest.files.values()} if isinstance(manifest, FilesManifest) else set()


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a path, or with a zero byte
        return False


def _of_uri(graph: Graph, uri: str) -> Node | None:
    """The artifact whose manifest, file or shard lies at a URI."""
    if "://" not in uri and not uri.startswith("/"):
        return None
    for node, found in _owners(graph):
        if uri in node.uris or uri in node.files.values():
            return node
        root = found.store.uri
        relative = uri.removeprefix(root).lstrip("/")
        if uri.startswith(root) and any(path == relative for path, _ in found.manifest.data_files()):
            return node
    return None


def _owners(graph: Graph) -> Iterator[tuple[Node, Found]]:
    """Nodes with their manifests, parents first: an evaluation shows the grid of its samples, the owner."""
    for node in graph.nodes.values():
        if node.id in graph.manifests:
            yield node, graph.manifests[node.id]


def _of_file(graph: Graph, path: Path) -> Node:
    """The artifact that a copy of a file belongs to: by its bytes, else by the ids that a PNG carries."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(READ_BYTES):
            digest.update(block)
    sha256 = digest.hexdigest()
    for node, found in _owners(graph):
        if sha256 in _sha256s(found.manifest) or path.name == found.manifest.path.rpartition("/")[2]:
            return node
    carried = read_lineage(path.read_bytes()) if path.suffix.lower() == ".png" else {}
    if not carried:
        raise LineageError(
            f"{path} is no file of an artifact here and carries no lineage: no manifest has its sha256 "
            f"{sha256}."
        )
    if carried["id"] not in graph.nodes:
        raise LineageError(
            f"{path} says it belongs to the {carried['kind']} {carried['id']}, which is in no data root "
            "here. Give its data root by --data-root."
        )
    return graph.nodes[carried["id"]]

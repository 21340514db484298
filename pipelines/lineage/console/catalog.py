"""What the console shows: runs and artifacts, read once and kept until they change."""

import time
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from threading import Lock

from components.data.artifacts import FilesManifest
from components.data.manifest import DatasetManifest, Manifest
from components.data.storage import InvalidPath, Store, check_key, split_file_uri
from pipelines.lineage.graph import Graph, LineageError, build
from pipelines.lineage.manifests import Found, ManifestReader
from pipelines.lineage.roots import open_roots
from pipelines.runs.record import FILE_NAME, GOING, RunError, RunRecord, Runs

FRESH_S = 3.0  # a graph this young is not built again
KEPT_RECORDS = 2_000


class Missing(LookupError):
    """Something asked for that is not there; the message says what."""


class Catalog:
    """The runs of one dogflow home and the artifacts in their data roots. Safe to use from threads."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.runs = Runs(home)
        self._records: OrderedDict[str, tuple[tuple[int, int], RunRecord]] = OrderedDict()
        self._reader = ManifestReader()
        self._graph: Graph | None = None
        self._graph_age = 0.0
        # Ids of manifests whose files were looked at, with why some are not opened.
        self._checked: set[tuple[str, str]] = set()
        self._refused: dict[str, str] = {}
        self._lock, self._building = Lock(), Lock()

    def record(self, run_id: str) -> RunRecord:
        """The record of the run with exactly this id. Raises Missing."""
        try:
            path = self.runs.folder_of(run_id) / FILE_NAME
            stat = path.stat()
        except (RunError, OSError, ValueError):
            raise Missing(f"There is no run {run_id!r}.") from None
        key = (stat.st_mtime_ns, stat.st_size)
        with self._lock:
            known = self._records.get(run_id)
        # The record of a run that goes on is checked against its process each time.
        if known is not None and known[0] == key and known[1].state not in GOING:
            return known[1]
        try:
            record = self.runs.read(run_id)
        except RunError as error:
            raise Missing(str(error)) from None
        with self._lock:
            self._records[run_id] = (key, record)
            while len(self._records) > KEPT_RECORDS:
                self._records.popitem(last=False)
        return record

    def records(self) -> list[RunRecord]:
        """All readable records, the newest first."""
        found = []
        for run_id in self.runs.ids():
            try:
                found.append(self.record(run_id))
            except Missing:
                continue
        return found

    def graph(self, *, fresh: bool = False) -> Graph:
        """The lineage graph; built again when it is older than FRESH_S, or `fresh` is asked for."""
        with self._building:
            if not fresh and self._graph is not None and time.monotonic() - self._graph_age < FRESH_S:
                return self._graph
            records = self.records()
            stores, problems = open_roots(self.home, records)
            graph = build(stores, records, self._reader)
            inside, outside = self._sorted_out(graph)
            problems = [*problems, *graph.problems, *outside]
            self._graph = replace(graph, manifests=inside, problems=tuple(problems))
            self._graph_age = time.monotonic()
            return self._graph

    def found(self, artifact_id: str) -> Found:
        """The manifest of an artifact with exactly this id, and its store.

        Raises Missing, and LineageError for one that names files outside its data root.
        """
        for fresh in (False, True):
            graph = self.graph(fresh=fresh)
            if artifact_id in graph.manifests:
                return graph.manifests[artifact_id]
            if artifact_id in self._refused:
                raise LineageError(self._refused[artifact_id])
        raise Missing(f"There is no artifact {artifact_id!r} in the data roots of these runs.")

    def _sorted_out(self, graph: Graph) -> tuple[dict[str, Found], list[str]]:
        """The manifests of a graph whose files all lie inside their data roots, and why the others do not."""
        for id, found in graph.manifests.items():
            if (id, found.uri) in self._checked:
                continue
            self._checked.add((id, found.uri))
            self._refused.pop(id, None)
            try:
                check_files(found.store, found.manifest)
            except LineageError as error:
                self._refused[id] = str(error)
        inside = {id: found for id, found in graph.manifests.items() if id not in self._refused}
        return inside, list(self._refused.values())

    def dataset(self, dataset_id: str) -> tuple[Store, DatasetManifest]:
        """A dataset by its id. Raises Missing."""
        found = self.found(dataset_id)
        if not isinstance(found.manifest, DatasetManifest):
            raise Missing(f"{dataset_id} is a {found.manifest.kind}, not a dataset.")
        return found.store, found.manifest

    def file(self, artifact_id: str, name: str) -> tuple[Manifest, bytes]:
        """A named file of an artifact, and its manifest. Raises Missing."""
        found = self.found(artifact_id)
        files = found.manifest.files if isinstance(found.manifest, FilesManifest) else {}
        if name not in files:
            raise Missing(f"{artifact_id} has no file {name!r}.")
        return found.manifest, found.store.read(files[name].path)


def check_files(store: Store, manifest: Manifest) -> None:
    """Raises LineageError when one of an artifact's files lies outside its data root."""
    for path, _ in manifest.data_files():
        check_inside(store, path)


def check_inside(store: Store, path: str) -> None:
    """Raises LineageError for a path that leads out of a data root, also by a symbolic link."""
    try:
        check_key(path)
        if not store.uri.startswith("file://"):
            return
        root = split_file_uri(store.uri).resolve()
        inside = (root / path).resolve().is_relative_to(root)
    except (InvalidPath, OSError, RuntimeError) as error:
        raise LineageError(f"The path {path[:200]!r} cannot be used: {error}") from None
    if not inside:
        raise LineageError(f"{path!r} leads out of its data root {store.uri}: it is not read.")

"""Finding and reading the manifests of a data root. Only manifests are read, never data."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC

import pyarrow.fs

from components.data.manifest import DatasetManifest, Group, Manifest, ManifestError
from components.data.storage import Entry, StorageError, Store
from components.data.task import load_manifest

READ_THREADS = 16


@dataclass(frozen=True)
class Found:
    """A manifest, the store of its data root, its URI, and when it was written (ISO 8601, UTC)."""

    manifest: Manifest
    store: Store
    uri: str
    written_at: str


@dataclass
class ManifestReader:
    """Reads manifests and remembers them, by URI, size and time of writing.

    Kept from one build of a graph to the next, it reads only what is new.
    """

    _known: dict[tuple[str, int, str], Manifest] = field(default_factory=dict)
    _groups: dict[tuple[str, str], Group] = field(default_factory=dict)

    def read(self, store: Store) -> tuple[list[Found], list[str]]:
        """All manifests under the root of `store` in path order, and a sentence for each that is unreadable.

        A root that cannot be listed gives no manifests and one sentence.
        """
        try:
            entries = list(list_manifests(store))
        except (StorageError, OSError) as error:
            return [], [f"{store.uri} cannot be searched for manifests: {error}"]
        with ThreadPoolExecutor(READ_THREADS) as pool:
            results = list(pool.map(lambda entry: self._read(store, entry), entries))
        found = [item for item in results if isinstance(item, Found)]
        return found, [item for item in results if isinstance(item, str)]

    def _read(self, store: Store, entry: Entry) -> Found | str:
        uri = store.locate(entry.path)
        key = (uri, entry.size, entry.modified.isoformat())
        try:
            manifest = self._known.get(key) or load_manifest(store.read(entry.path), uri)
        except (ManifestError, StorageError) as error:
            return " ".join(str(error).split())
        if manifest.path != entry.path:
            return f"{uri} says that its place is {manifest.path}: this copy is left out."
        if key not in self._known:
            self._share_groups(manifest)
            self._known[key] = manifest
        return Found(manifest, store, uri, entry.modified.astimezone(UTC).isoformat())

    def _share_groups(self, manifest: Manifest) -> None:
        """Keep one object of a group that many datasets have: it names every shard."""
        if isinstance(manifest, DatasetManifest):
            for name, group in manifest.groups.items():
                known = self._groups.setdefault((name, group.merged.path), group)
                if known is not group and known == group:
                    manifest.groups[name] = known


def list_manifests(store: Store) -> Iterator[Entry]:
    """The objects `<name>/manifests/*.json` under a root, in key order.

    Only the top folders and their `manifests` are listed: beside a few thousand manifests there may be
    millions of shards. A root that does not exist has none.
    """
    filesystem, root = store.filesystem()
    selector = pyarrow.fs.FileSelector(root, allow_not_found=True)
    for item in sorted(filesystem.get_file_info(selector), key=lambda item: item.base_name):
        if item.type != pyarrow.fs.FileType.Directory:
            continue
        for entry in store.list(f"{item.base_name}/manifests/"):
            if entry.path.endswith(".json"):
                yield entry

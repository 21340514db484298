"""What nothing in use refers to: data of manifests that no run names any more, and half-done work."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from components.data.manifest import ManifestError
from components.data.storage import NotFound, Store
from components.data.task import load_manifest

# The score cache belongs to no manifest: it is what makes scoring again unnecessary.
KEPT_FOLDERS = ("scores/",)


@dataclass(frozen=True)
class Garbage:
    """Objects that can go: (path, size in bytes)."""

    files: list[tuple[str, int]]
    kept: int

    @property
    def bytes(self) -> int:
        """Bytes that deleting them frees."""
        return sum(size for _, size in self.files)


def find_garbage(
    store: Store, in_use: Iterable[str], *, min_age: timedelta, now: datetime | None = None
) -> Garbage:
    """Everything under the root that no manifest in use names and that is older than `min_age`.

    `in_use` are paths of manifests. Receipts of files in use stay, as do young objects, which may belong to
    a run that is going on. Raises ManifestError when a manifest in use cannot be read: then nothing is safe
    to delete.
    """
    needed: set[str] = set()
    for path in in_use:
        try:
            manifest = load_manifest(store.read(path), store.locate(path))
        except NotFound:
            raise ManifestError(
                f"{store.locate(path)} is named by a run but is not there; delete that run's folder first."
            ) from None
        needed.update((path, path.replace("/manifests/", "/timings/")))
        for file, _ in manifest.data_files():
            needed.update((file, _receipt_of(file)))
    before = (now or datetime.now(UTC)) - min_age
    garbage, kept = [], 0
    for entry in store.list(""):
        if entry.path in needed or entry.path.startswith(KEPT_FOLDERS) or entry.modified > before:
            kept += 1
        else:
            garbage.append((entry.path, entry.size))
    return Garbage(garbage, kept)


def _receipt_of(file: str) -> str:
    """`.../part-<key>-<sha8>.parquet` -> `.../part-<key>.json`."""
    return file.rpartition("-")[0] + ".json"


def delete(store: Store, garbage: Garbage) -> None:
    """Delete, manifests and receipts first: what is left half-deleted then counts as not done."""
    for path, _ in sorted(garbage.files, key=lambda item: not item[0].endswith(".json")):
        store.delete(path)

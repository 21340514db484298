"""Manifests: kilobyte JSON files that say what a dataset or another artifact is made of.

A manifest is what travels between KFP tasks; the data it names stays in object storage. It is written last,
so its existence means "done", and it is checked against storage before it is trusted.
"""

import hashlib
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict

from components.data.digest import add_digests
from components.data.killpoints import killpoint
from components.data.storage import Store

FORMAT = 1


class ManifestError(ValueError):
    """A manifest that cannot be read, or that names data which is not there."""


class DataFile(BaseModel):
    """One Parquet file of a group. `key` is derived from its inputs; `path` is relative to the data root."""

    model_config = ConfigDict(extra="forbid")

    key: str
    path: str
    rows: int
    bytes: int
    sha256: str
    digest: str  # content digest of its exact values, as 32 hex digits


class Receipt(BaseModel):
    """Says that a file is complete. Written by put-if-absent after the file: the first writer wins."""

    model_config = ConfigDict(extra="forbid")

    file: DataFile
    counters: dict[str, int] = {}
    row_fingerprints: list[str] = []  # ingest only: what each row was made from


class Group(BaseModel):
    """A column group: the columns one step added, in files that line up row by row with the images' shards.

    `merged` holds the group's small columns for all rows in one file, for steps that look at the whole set.
    Groups of such steps (duplicates, selection) have only that one: `shards` is empty.
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    group_id: str
    columns: list[str]
    policy: dict[str, Any] = {}
    shards: list[DataFile] = []
    merged: DataFile

    def files(self) -> list[DataFile]:
        """Every file of the group."""
        return [*self.shards, self.merged]

    def digest(self) -> int:
        """Content digest of the rows; from the shards where there are any, since they hold all columns."""
        return add_digests(*(int(file.digest, 16) for file in self.shards or [self.merged]))


class StepRecord(BaseModel):
    """How one step of an artifact's history was run, and what it counted."""

    model_config = ConfigDict(extra="forbid")

    step: str
    id: str
    code_version: str
    options: dict[str, Any]
    counters: dict[str, int | float] = {}


class Manifest(BaseModel):
    """What every artifact says of itself; `id` is the dataset_id or model_id.

    Subclasses set `kind`. `options` are the identity options of the step that made it.
    """

    model_config = ConfigDict(extra="forbid")

    KIND: ClassVar[str] = ""
    format: int = FORMAT
    kind: str = ""
    name: str
    id: str
    step: str
    parents: list[str]
    code_version: str
    options: dict[str, Any]
    counters: dict[str, int | float] = {}
    history: list[StepRecord] = []

    def model_post_init(self, context: Any) -> None:
        self.kind = self.kind or self.KIND

    @property
    def path(self) -> str:
        """Where it lies under the data root."""
        return f"{self.name}/manifests/{self.step}-{self.id}.json"

    def record(self) -> StepRecord:
        """This artifact's own entry in the history of what is made from it."""
        return StepRecord(
            step=self.step,
            id=self.id,
            code_version=self.code_version,
            options=self.options,
            counters=self.counters,
        )

    def data_files(self) -> list[tuple[str, int]]:
        """(path, size in bytes) of every stored file the artifact consists of."""
        return []

    def to_bytes(self) -> bytes:
        """Its JSON, byte-equal for equal content."""
        return self.model_dump_json(indent=1).encode()

    @classmethod
    def from_bytes(cls, data: bytes, where: str) -> Self:
        """Parse; raises ManifestError that names `where`."""
        try:
            manifest = cls.model_validate_json(data)
        except ValueError as error:
            raise ManifestError(f"{where} is not a {cls.KIND or 'dogflow'} manifest: {error}") from None
        if manifest.format != FORMAT:
            raise ManifestError(
                f"{where} has manifest format {manifest.format}; this dogflow reads format {FORMAT}."
            )
        if cls.KIND and manifest.kind != cls.KIND:
            raise ManifestError(f"{where} is a {manifest.kind} manifest, where a {cls.KIND} one is needed.")
        return manifest

    @classmethod
    def load(cls, store: Store, path: str) -> Self:
        """Read from a data root."""
        return cls.from_bytes(store.read(path), f"{store.uri}/{path}")

    def missing_files(self, store: Store) -> list[str]:
        """Paths of files that are absent or have another size than the manifest says."""
        found: dict[str, int] = {}
        files = self.data_files()
        for folder in sorted({path.rpartition("/")[0] for path, _ in files}):
            found.update((entry.path, entry.size) for entry in store.list(folder + "/"))
        return [path for path, size in files if found.get(path) != size]

    def save(self, store: Store) -> Self:
        """Write by put-if-absent, and return what is stored: another writer's manifest is adopted.

        A stored manifest whose files are gone or damaged is replaced by this one.
        """
        killpoint("manifest.before")
        made = store.create(self.path, self.to_bytes())
        killpoint("manifest.after")
        if made:
            return self
        try:
            stored = type(self).load(store, self.path)
        except ManifestError:
            stored = None
        if stored is not None and not stored.missing_files(store):
            return stored
        store.write(self.path, self.to_bytes())
        return self


class DatasetManifest(Manifest):
    """A dataset: rows of a fixed order in column groups. `rows` counts every ingested row, kept or not."""

    KIND: ClassVar[str] = "dataset"
    rows: int
    groups: dict[str, Group] = {}

    @property
    def dataset_id(self) -> str:
        """The id, under the name the field uses."""
        return self.id

    @property
    def content_digest(self) -> str:
        """Digest of all exact values, independent of how rows lie in shards (32 hex digits)."""
        return f"{add_digests(*(group.digest() for group in self.groups.values())):032x}"

    @property
    def columns(self) -> list[str]:
        """All columns, each once."""
        return list(dict.fromkeys(name for group in self.groups.values() for name in group.columns))

    def data_files(self) -> list[tuple[str, int]]:
        return [(file.path, file.bytes) for group in self.groups.values() for file in group.files()]

    def group_of(self, column: str) -> Group:
        """The group that holds a column; raises ManifestError naming the step to run when none does."""
        for group in self.groups.values():
            if column in group.columns:
                return group
        from components.data.schema import COLUMNS

        step = COLUMNS[column].step if column in COLUMNS else "an unknown step"
        raise ManifestError(
            f"Dataset {self.name} {self.id} has no column {column}: run the step {step} on it first."
        )


def sha256_hex(data: bytes) -> str:
    """sha256 of bytes as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()

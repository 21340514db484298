"""Manifests of what is not a dataset: models, samples and evaluations, as files with their sha256."""

import hashlib
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from components.data.manifest import DatasetManifest, Manifest
from components.data.storage import NotFound, Store


class StoredFileError(ValueError):
    """A file of an artifact that is gone, or is not what was written."""


class StoredFile(BaseModel):
    """One file of an artifact; `path` is relative to the data root."""

    model_config = ConfigDict(extra="forbid")

    path: str
    bytes: int
    sha256: str


def store_file(store: Store, folder: str, name: str, data: bytes) -> StoredFile:
    """Store `data` under a name that carries its hash, so racing writers cannot mix two versions."""
    digest = hashlib.sha256(data).hexdigest()
    stem, _, suffix = name.partition(".")
    path = f"{folder}/{stem}-{digest[:8]}.{suffix}"
    # Also when it is there: a damaged file has the right name and even the right size.
    store.write(path, data)
    return StoredFile(path=path, bytes=len(data), sha256=digest)


def fetch_file(store: Store, file: StoredFile) -> bytes:
    """The bytes; StoredFileError when they are absent or not what was written."""
    try:
        data = store.read(file.path)
    except NotFound:
        raise StoredFileError(f"{store.uri}/{file.path} is gone") from None
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise StoredFileError(f"{store.uri}/{file.path} is damaged: its sha256 is not the recorded one")
    return data


class FilesManifest(Manifest):
    """An artifact that is a set of named files; `details` is flat, JSON-able information about it."""

    files: dict[str, StoredFile] = {}
    details: dict[str, Any] = {}

    def data_files(self) -> list[tuple[str, int]]:
        return [(file.path, file.bytes) for file in self.files.values()]


class ModelManifest(FilesManifest):
    """A trained model; `id` is its model_id."""

    KIND: ClassVar[str] = "model"


class SamplesManifest(FilesManifest):
    """Pictures drawn by a model, with the prompts, breeds and seeds they were drawn from."""

    KIND: ClassVar[str] = "samples"


class EvaluationManifest(FilesManifest):
    """Scores of a model, and the pictures and tables that go with them."""

    KIND: ClassVar[str] = "evaluation"


REPORT_PAGE = "page"


class ReportManifest(FilesManifest):
    """A report; its file REPORT_PAGE is the HTML."""

    KIND: ClassVar[str] = "report"


MANIFESTS: dict[str, type[Manifest]] = {
    kind.KIND: kind
    for kind in (DatasetManifest, ModelManifest, SamplesManifest, EvaluationManifest, ReportManifest)
}

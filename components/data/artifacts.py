"""Manifests of what is not a dataset: models, samples and evaluations, as files with their sha256."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from components.data.manifest import DatasetManifest, Manifest


class StoredFile(BaseModel):
    """One file of an artifact; `path` is relative to the data root."""

    model_config = ConfigDict(extra="forbid")

    path: str
    bytes: int
    sha256: str


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

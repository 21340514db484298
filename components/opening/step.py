"""Go on from a dataset that an earlier run made."""

from components.data.manifest import DatasetManifest, ManifestError
from components.data.storage import NotFound
from components.data.task import Task
from components.opening.options import OpeningOptions

INPUTS: tuple[str, ...] = ()


def run(task: Task, *, options: OpeningOptions) -> DatasetManifest:
    """The dataset of a manifest, after a check that its data is still there.

    A step, because KFP pipelines run locally take no artifacts as inputs. Raises ManifestError.
    """
    path = options.manifest.removeprefix(task.store.uri).lstrip("/")
    if not path:
        raise ManifestError("opening.manifest is empty: give the path of a manifest under the data root.")
    try:
        dataset = DatasetManifest.load(task.store, path)
    except NotFound:
        raise ManifestError(f"There is no manifest {path} in {task.store.uri}.") from None
    missing = dataset.missing_files(task.store)
    if missing:
        raise ManifestError(
            f"{len(missing)} files of {path} are gone or damaged, {missing[0]} among them; run the pipeline "
            "that made it again."
        )
    return dataset

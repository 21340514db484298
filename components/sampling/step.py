"""Draw pictures of every breed with fixed prompts and seeds."""

from components.data.artifacts import ModelManifest, SamplesManifest, store_file
from components.data.encoded import EncodedDataset
from components.data.identity import code_version
from components.data.manifest import DatasetManifest
from components.data.options import identity_options
from components.data.pictures import contact_sheet, lineage_of, pictures_to_parquet
from components.data.task import Task, step_id, stored
from components.sampling.options import SamplingOptions
from components.sampling.requests import evaluation_requests

INPUTS = ("dataset", "model")
INPUT_KINDS = {"model": "Model"}
RESULT_KIND = "Artifact"
IMAGE = "dogflow-train"
# A breed a row, where that many pictures can still be seen.
GRID_COLUMNS = 32


def run(
    task: Task, dataset: DatasetManifest, model: ModelManifest, *, options: SamplingOptions
) -> SamplesManifest:
    """Draw with the averaged weights of `model`, for prompts of the encoded dataset.

    Raises ValueError when no breed has a prompt, or guidance would end before it starts.
    """
    if options.guidance_end < options.guidance_start:
        raise ValueError(
            f"sampling.guidance_end={options.guidance_end} is before "
            f"sampling.guidance_start={options.guidance_start}; times run from 0 (noise) to 1 (picture)."
        )
    manifest = SamplesManifest(
        name=model.name,
        id=step_id("sampling", [dataset, model], options, {}),
        step="sampling",
        parents=[dataset.id, model.id],
        code_version=code_version("sampling"),
        options=identity_options(options),
        history=[*model.history, model.record()],
    )
    done = stored(task, manifest)
    if done is not None:
        return done
    encoded = EncodedDataset(task.store, dataset)
    breeds = list(model.details["breeds"])
    requests = evaluation_requests(encoded, breeds, options.per_breed, options.seed)
    if not requests:
        raise ValueError(
            f"No breed of the model has a prompt in {dataset.name} {dataset.id}: nothing to draw."
        )
    # Slow to import, which a stored result saves.
    from components.sampling.drawing import draw

    images, nfe = draw(task.store, encoded, model, options, requests)
    texts = encoded.texts([request.text_id for request in requests])
    columns = {
        "breed": [breeds[request.breed] for request in requests],
        "prompt": texts,
        "seed": [request.seed for request in requests],
    }
    folder = f"{model.name}/samples/{manifest.id}"
    lineage = lineage_of(manifest)
    pictures = pictures_to_parquet(images, columns, lineage)
    grid = contact_sheet(images, min(options.per_breed, GRID_COLUMNS), lineage=lineage)
    files = {
        "samples": store_file(task.store, folder, "samples.parquet", pictures),
        "grid": store_file(task.store, folder, "grid.png", grid),
    }
    counters: dict[str, int | float] = {"samples": len(images), "nfe": nfe}
    return manifest.model_copy(update={"files": files, "counters": counters}).save(task.store)

"""Draw pictures of every breed with fixed prompts and seeds."""

import numpy as np
import torch

from components.data.artifacts import ModelManifest, SamplesManifest
from components.data.encoded import EMPTY_TEXT_ID, EncodedDataset
from components.data.identity import code_version
from components.data.manifest import DatasetManifest
from components.data.options import identity_options
from components.data.pictures import contact_sheet, lineage_of, pictures_to_parquet
from components.data.progress import Progress
from components.data.task import Task, step_id, stored
from components.model.checkpoint import load_model, write_file
from components.model.device import pick_device
from components.model.generate import SamplingOptions as Solver
from components.model.generate import generate
from components.model.text import stack_states
from components.sampling.options import SamplingOptions
from components.sampling.requests import Request, evaluation_requests

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

    Raises ValueError when no breed has a prompt.
    """
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
    images, nfe = _draw(task, encoded, model, options, requests)
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
        "samples": write_file(task.store, folder, "samples.parquet", pictures),
        "grid": write_file(task.store, folder, "grid.png", grid),
    }
    counters: dict[str, int | float] = {"samples": len(images), "nfe": nfe}
    return manifest.model_copy(update={"files": files, "counters": counters}).save(task.store)


def _draw(
    task: Task,
    encoded: EncodedDataset,
    model: ModelManifest,
    options: SamplingOptions,
    requests: list[Request],
) -> tuple[np.ndarray, int]:
    """(N,H,W,3) uint8 pictures in the order of the requests, and the network evaluations of each."""
    network = load_model(task.store, model).to(pick_device(options.device))
    solver = Solver(
        steps=options.steps,
        solver=options.solver,
        guidance=options.guidance,
        shift=options.shift,
        batch=options.batch,
        precision=options.precision,
    )
    null = torch.from_numpy(encoded.text_states([EMPTY_TEXT_ID])[0].astype(np.float32))
    progress = Progress("sampling", len(requests), "images")
    parts, nfe = [], 0
    for start in range(0, len(requests), options.batch):
        part = requests[start : start + options.batch]
        states = encoded.text_states([request.text_id for request in part])
        made = generate(
            network,
            stack_states([torch.from_numpy(state.astype(np.float32)) for state in states]),
            torch.tensor([request.breed for request in part]),
            [request.seed for request in part],
            null,
            solver,
        )
        parts.append(made.images)
        nfe = made.nfe
        progress.add(len(part))
    return np.concatenate(parts), nfe

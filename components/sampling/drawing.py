"""From requests to pictures."""

from collections.abc import Sequence

import numpy as np
import torch

from components.data.artifacts import ModelManifest
from components.data.encoded import EMPTY_TEXT_ID, EncodedDataset
from components.data.progress import Progress
from components.data.storage import Store
from components.model.checkpoint import load_model
from components.model.device import pick_device
from components.model.generate import SamplingOptions as Solver
from components.model.generate import generate
from components.model.text import stack_states
from components.sampling.options import SamplingOptions
from components.sampling.requests import Request


def draw(
    store: Store,
    encoded: EncodedDataset,
    model: ModelManifest,
    options: SamplingOptions,
    requests: Sequence[Request],
) -> tuple[np.ndarray, int]:
    """(N,H,W,3) uint8 pictures in the order of the requests, and the network evaluations of each."""
    network = load_model(store, model).to(pick_device(options.device))
    solver = Solver(
        steps=options.steps,
        solver=options.solver,
        guidance=options.guidance,
        shift=options.shift,
        shift_rule=options.shift_rule,
        tolerance=options.tolerance,
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

"""From requests to pictures."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from components.data.artifacts import ModelManifest
from components.data.encoded import EMPTY_TEXT_ID, EncodedDataset
from components.data.progress import Progress
from components.data.storage import Store
from components.model.autoencoder import load_autoencoder, samples_to_pixels
from components.model.checkpoint import load_model
from components.model.device import pick_device
from components.model.generate import SamplingOptions as Solver
from components.model.generate import generate
from components.model.published import AUTOENCODER
from components.model.text import stack_states
from components.model.weights import WeightsError, resolve
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
        guidance_start=options.guidance_start,
        guidance_end=options.guidance_end,
        shift=options.shift,
        shift_rule=options.shift_rule,
        tolerance=options.tolerance,
        batch=options.batch,
        precision=options.precision,
    )
    decode = _decoder(encoded, options)
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
            decode,
        )
        parts.append(made.images)
        nfe = made.nfe
        progress.add(len(part))
    return np.concatenate(parts), nfe


def _decoder(encoded: EncodedDataset, options: SamplingOptions) -> Callable[[Tensor], Tensor]:
    """From samples to pictures: the way back that belongs to the dataset's encoding.

    Raises WeightsError when its autoencoder is not on this machine, or another one was given.
    """
    if encoded.latents_policy is None:
        return samples_to_pixels
    weights = resolve(options.autoencoder or encoded.autoencoder, AUTOENCODER)
    expected = encoded.latents_policy["weights_sha256"]
    if weights.sha256 != expected:
        raise WeightsError(
            f"sampling.autoencoder={weights.reference} has the sha256 {weights.sha256[:12]}, but the latents "
            f"were made by {encoded.autoencoder} with {expected[:12]}: give that one's folder."
        )
    return load_autoencoder(weights, pick_device(options.device)).decode

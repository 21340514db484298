"""Images from a model: text states, breeds and seeds in, uint8 pictures out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from components.model.autoencoder import samples_to_pixels
from components.model.cores import Cores
from components.model.flow_model import FlowModel
from components.model.guidance import Condition, guided_field
from components.model.solvers import solve
from components.model.text import TextStates
from components.model.timesteps import sampling_times, shift_for


@dataclass(frozen=True)
class SamplingOptions:
    """steps and solver set the cost (NFE), guidance is w of `guidance.py`, which acts from time
    guidance_start to guidance_end (0 noise, 1 picture). shift and shift_rule are those of
    `timesteps.shift_for`. tolerance: of the adaptive solver, which takes no number of steps."""

    steps: int = 16
    solver: str = "euler"
    tolerance: float = 1e-5
    guidance: float = 2.0
    guidance_start: float = 0.0
    guidance_end: float = 1.0
    shift: float = 1.0
    shift_rule: str = "static"
    batch: int = 64
    precision: str = "fp32"  # or "bf16": autocast


@dataclass(frozen=True)
class Generated:
    """images: (N, H, W, 3) uint8 in the order asked for; nfe: field evaluations per image."""

    images: np.ndarray
    nfe: int


def initial_noise(seeds: Sequence[int], shape: tuple[int, ...]) -> Tensor:
    """Noise (N, *shape) float32: each row depends on its own seed only, so a batch cannot change an image."""
    rows = [torch.randn(shape, generator=torch.Generator().manual_seed(int(seed))) for seed in seeds]
    return torch.stack(rows) if rows else torch.empty(0, *shape)


@torch.no_grad()
def generate(
    model: FlowModel,
    states: TextStates,
    breeds: Tensor,
    seeds: Sequence[int],
    null: Tensor,
    options: SamplingOptions,
    decode: Callable[[Tensor], Tensor] = samples_to_pixels,
) -> Generated:
    """One image a row. states: lower states of N prompts; breeds: (N,) int64, `model.null_breed` for none.

    null: lower states of the empty text, (l, D). decode: samples (n, C, H, W) to (n, H, W, 3) uint8. Runs on
    the model's device; the model must be in eval mode.
    """
    if not len(breeds) == len(seeds) == len(states.hidden):
        raise ValueError(
            f"{len(states.hidden)} prompts, {len(breeds)} breeds and {len(seeds)} seeds do not match"
        )
    device = next(model.parameters()).device
    noise = initial_noise(seeds, model.sample_shape)
    shift, terminal = shift_for(options.shift_rule, options.shift, *model.sample_shape[1:])
    times = sampling_times(options.steps, shift, terminal)
    wanted = Condition(states.hidden, states.mask, breeds)
    nothing = Condition(
        null[None], torch.ones(1, len(null), dtype=torch.bool), torch.tensor([model.null_breed])
    ).to(device)

    @torch.no_grad()  # which holds for one thread only
    def draw(rows: slice) -> tuple[np.ndarray, int]:
        interval = (options.guidance_start, options.guidance_end)
        field = guided_field(model, wanted[rows].to(device), nothing, options.guidance, interval)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=options.precision == "bf16"):
            solution = solve(field, noise[rows].to(device), times, options.solver, options.tolerance)
        return decode(solution.x).cpu().numpy(), solution.nfe

    cores = Cores(device)
    drawn = list(cores.map(draw, cores.parts(len(seeds), options.batch)))
    if not drawn:
        side = model.network.config.size_px
        return Generated(np.empty((0, side, side, 3), np.uint8), 0)
    return Generated(np.concatenate([images for images, _ in drawn]), drawn[0][1])

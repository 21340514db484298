"""How well the device is used: arithmetic per picture, share of the device's own peak, memory."""

from __future__ import annotations

import resource
import sys
import time

import torch
from torch.utils.flop_counter import FlopCounterMode

from components.model.device import precision
from components.model.flow_model import FlowModel

BACKWARD_COST = 3  # forward, and twice as much for the gradients by inputs and by weights
_SIDE = {"cpu": 1024, "cuda": 8192, "mps": 4096}  # of the matrices whose product measures the peak
_REPEATS = 3


class Usage:
    """What the log says of the device: `mfu` and memory.

    mfu is model FLOPs utilisation (Chowdhery et al. 2022, appendix B) against the peak measured here.
    """

    def __init__(self, model: FlowModel, dtype: torch.dtype, text_tokens: int) -> None:
        self._device = next(model.parameters()).device
        self.flops_per_image = training_flops(model, text_tokens)
        self.peak_flops = peak_flops(self._device, dtype)

    def logged(self, images_per_s: float) -> dict[str, float]:
        """mfu, share; peak_memory_gb, 10^9 bytes."""
        return {
            "mfu": round(images_per_s * self.flops_per_image / self.peak_flops, 4),
            "peak_memory_gb": round(peak_memory_bytes(self._device) / 1e9, 3),
        }


def training_flops(model: FlowModel, text_tokens: int) -> int:
    """Floating-point operations to train on one picture, with a text of so many tokens.

    A multiplication and an addition count as two; products and convolutions are counted (by torch's own
    counter), activations and norms are not.
    """
    device = next(model.parameters()).device
    hidden = torch.zeros(1, text_tokens, model.text.width, device=device)
    inputs = (
        torch.zeros(1, *model.sample_shape, device=device),
        torch.full((1,), 0.5, device=device),
        hidden,
        torch.ones(hidden.shape[:2], dtype=torch.bool, device=device),
        torch.full((1,), model.null_breed, device=device),
    )
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(*inputs)
    return BACKWARD_COST * int(counter.get_total_flops())


def peak_flops(device: torch.device, dtype: torch.dtype) -> float:
    """Operations a second of this device in a large matrix product, all its cores, the best of three.

    Measured, because data sheets count modes that training does not use, and know no CPU.
    """
    side = _SIDE.get(device.type, 1024)
    matrix = torch.ones(side, side, device=device)
    fastest = float("inf")
    with torch.no_grad(), precision(device, dtype):
        for _ in range(_REPEATS + 1):  # the first one warms up
            _wait(device)
            began = time.perf_counter()
            matrix @ matrix
            _wait(device)
            fastest = min(fastest, time.perf_counter() - began)
    return 2 * side**3 / fastest


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def peak_memory_bytes(device: torch.device) -> int:
    """The most that was in use so far: of the GPU's memory by tensors, on a CPU of the process's memory."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    if device.type == "mps":
        return int(torch.mps.driver_allocated_memory())
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024

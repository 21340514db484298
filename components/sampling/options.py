"""Options of the sampling step."""

from typing import Literal

from components.data.options import StepOptions, option


class SamplingOptions(StepOptions):
    """How many pictures are drawn, and how."""

    per_breed: int = option(16, "pictures a breed", ge=1, le=10_000)
    steps: int = option(16, "solver steps", ge=1, le=1000)
    solver: Literal["euler", "heun"] = option("euler", "ODE solver; heun evaluates the network twice a step")
    guidance: float = option(2.0, "weight of classifier-free guidance (1: none)", ge=0)
    shift: float = option(1.0, "shift of the time grid (1: none)", gt=0)
    seed: int = option(0, "first seed; every picture has its own", ge=0)
    precision: Literal["fp32", "bf16"] = option("fp32", "arithmetic")
    batch: int = option(64, "pictures at a time", identity=False, ge=1)
    device: str = option("auto", "auto, cpu, cuda or mps", identity=False)


OPTIONS = SamplingOptions

"""Options of the sampling step."""

from typing import Literal

from components.data.options import StepOptions, option


class SamplingOptions(StepOptions):
    """How many pictures are drawn, and how."""

    per_breed: int = option(16, "pictures a breed", ge=1, le=10_000)
    steps: int = option(16, "solver steps", ge=1, le=1000)
    solver: Literal["euler", "heun", "midpoint", "rk4", "dopri5"] = option(
        "euler",
        "ODE solver; a step takes 1, 2, 2 and 4 evaluations, dopri5 as many as its tolerance asks for",
    )
    tolerance: float = option(1e-5, "relative and absolute error of dopri5", gt=0)
    guidance: float = option(2.0, "weight of classifier-free guidance (1: none)", ge=0)
    guidance_start: float = option(0.0, "time from which guidance acts (0 noise, 1 picture)", ge=0, le=1)
    guidance_end: float = option(1.0, "time until which guidance acts (0 noise, 1 picture)", ge=0, le=1)
    shift: float = option(1.0, "shift of the time grid towards noise (1: none)", gt=0)
    shift_rule: Literal["static", "flux", "qwen_image"] = option(
        "static", "whether the shift is multiplied by one that grows with the picture"
    )
    seed: int = option(0, "first seed; every picture has its own", ge=0)
    precision: Literal["fp32", "bf16"] = option("fp32", "arithmetic")
    autoencoder: str = option(
        "", "folder of the autoencoder the model was trained with (empty: the one encoding was given)"
    )
    batch: int = option(64, "pictures at a time", identity=False, ge=1)
    device: str = option("auto", "auto, cpu, cuda or mps", identity=False)


OPTIONS = SamplingOptions

"""Options of the similarity step."""

from typing import Literal

from components.data.options import StepOptions, option


class SimilarityOptions(StepOptions):
    """Which CLIP model scores which rows."""

    model: str = option("ViT-L-14/openai", "open_clip model/tag, a local folder, or `demo`")
    dtype: Literal["auto", "fp32", "bf16"] = option(
        "auto", "arithmetic; auto is bf16 where the hardware has it"
    )
    breeds: list[str] = option([], "breeds that breed_confidence compares; [] takes the 120 of Stanford Dogs")
    breeds_csv: str = option("", "CSV of breeds to add to the table")
    scope_min_side_px: int = option(0, "score pictures with this shorter side, at least (0: all)", ge=0)
    scope_laplacian_variance: float = option(0.0, "score pictures this sharp, at least (0: all)", ge=0)
    scope_color_shift: float = option(1.0, "score pictures this near to grey, at most (1: all)", ge=0, le=1)
    device: str = option("auto", "auto, cpu, cuda or mps", identity=False)
    batch_size: int = option(32, "pictures at a time", identity=False, ge=1)
    workers: int = option(0, "threads that decode (0: one per core)", identity=False, ge=0)


OPTIONS = SimilarityOptions

"""Options of the foreground step."""

from typing import Literal

from components.data.options import StepOptions, option


class ForegroundOptions(StepOptions):
    """Which SAM model segments which rows, and how it is asked."""

    model: str = option("vit_b", "vit_b, vit_l or vit_h of segment-anything, a local folder, or `demo`")
    dtype: Literal["auto", "fp32", "bf16"] = option(
        "auto", "arithmetic; auto is bf16 where the hardware has it"
    )
    strategy: Literal["box", "centre_point", "automatic"] = option(
        "box", "what SAM is asked: a centred box, the centre point, or a grid of points"
    )
    box_margin: float = option(0.05, "share of each side that the centred box leaves free", ge=0, lt=0.5)
    points_per_side: int = option(16, "grid of the automatic strategy", ge=1, le=64)
    crop_ratio: float = option(
        0.0, "crop to the subject so that it covers this share (0: no crop)", ge=0, lt=1
    )
    crop_aspect: float = option(1.0, "width / height of the crop (0: the subject's own)", ge=0)
    crop_min_side_px: int = option(0, "shorter side of a crop, at least, where the picture allows", ge=0)
    scope_min_side_px: int = option(0, "score pictures with this shorter side, at least (0: all)", ge=0)
    scope_laplacian_variance: float = option(0.0, "score pictures this sharp, at least (0: all)", ge=0)
    scope_color_shift: float = option(1.0, "score pictures this near to grey, at most (1: all)", ge=0, le=1)
    scope_clip_similarity: float = option(
        -1.0, "score pictures whose caption fits, at least (-1: all)", ge=-1, le=1
    )
    device: str = option("auto", "auto, cpu, cuda or mps", identity=False)
    batch_size: int = option(4, "pictures that go through the encoder together", identity=False, ge=1)
    workers: int = option(0, "threads that decode (0: one per core)", identity=False, ge=0)


OPTIONS = ForegroundOptions

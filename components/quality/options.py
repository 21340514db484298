"""Options of the quality step."""

from components.data.options import StepOptions, option


class QualityOptions(StepOptions):
    """How pictures are measured."""

    fixed_side_px: int = option(
        512, "long side at which laplacian_variance_fixed is measured", ge=32, le=4096
    )
    reference: str = option(
        "", "picture whose a*b* histogram color_shift is measured to; '' is the grey screen"
    )
    workers: int = option(0, "threads (0: one per core)", identity=False, ge=0)


OPTIONS = QualityOptions

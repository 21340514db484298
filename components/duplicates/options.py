"""Options of the duplicates step."""

from components.data.options import StepOptions, option


class DuplicatesOptions(StepOptions):
    """What counts as a duplicate, and how groups are split."""

    near_distance: int = option(
        6, "bits of the 64-bit phash that near duplicates may differ in (-1: off)", ge=-1, le=16
    )
    val_fraction: float = option(0.05, "share of groups in the validation split", ge=0, lt=1)
    test_fraction: float = option(0.1, "share of groups in the test split", ge=0, lt=1)


OPTIONS = DuplicatesOptions

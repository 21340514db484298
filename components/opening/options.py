"""Options of the opening step."""

from components.data.options import StepOptions, option


class OpeningOptions(StepOptions):
    """Which finished dataset to go on from."""

    manifest: str = option("", "path of its manifest under the data root, as the run that made it printed")


OPTIONS = OpeningOptions

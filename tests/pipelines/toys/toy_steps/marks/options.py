from typing import Literal

from components.data.options import StepOptions, option


class MarksOptions(StepOptions):
    threshold: float = option(0.5, "Marks above it are kept.", ge=0, le=1)
    strategy: Literal["box", "centre"] = option("box", "Where to look.")
    behave: str = option("", "fail, wait, wait once or die.", identity=False)


OPTIONS = MarksOptions

"""How long scoring will take, said before it starts."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# The first picture also pays for allocations and caches.
WARM_UP = 1


@dataclass(frozen=True)
class Forecast:
    """rows still to score, seconds one picture takes one worker, and seconds for all of them."""

    rows: int
    seconds_per_image: float
    workers: int
    seconds: float

    def __str__(self) -> str:
        if not self.rows:
            return "nothing to score"
        each = f"{self.seconds_per_image:.2f} s an image, {self.workers} worker{'s' * (self.workers > 1)}"
        return f"{self.rows} images, about {duration(self.seconds)} ({each})"


def forecast(rows: int, seconds_per_image: float, workers: int = 1) -> Forecast:
    """rows x seconds / workers. Raises ValueError for a negative count or time, or no worker."""
    if rows < 0 or seconds_per_image < 0 or workers < 1:
        raise ValueError(
            f"A forecast of {rows} rows, {seconds_per_image} s and {workers} workers makes no sense."
        )
    return Forecast(rows, seconds_per_image, workers, rows * seconds_per_image / workers)


def seconds_per_image(measured: Sequence[float]) -> float:
    """Seconds a picture from the first few: the median without the first one, where there are others."""
    if not measured:
        raise ValueError("No picture has been timed yet, so there is no forecast.")
    return statistics.median(measured[WARM_UP:] or measured)


def duration(seconds: float) -> str:
    """Seconds as a person says them: "45 s", "12 min", "3.5 h", "2.1 days"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"

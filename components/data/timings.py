"""How long the work behind a result took: a small file per result, written by the task that did the work."""

from pydantic import BaseModel, ConfigDict

from components.data.identity import derive_id
from components.data.manifest import Manifest
from components.data.options import StepOptions, identity_options
from components.data.storage import NotFound, Store


class Timing(BaseModel):
    """`seconds` of the attempt that finished the result; of partitions they add up, as if done in turn.

    `rows` counts those computed in that time, without those found done; 0 where a step does not count them.
    """

    model_config = ConfigDict(extra="forbid")

    seconds: float
    rows: int = 0
    parts: int = 1

    @property
    def rows_per_s(self) -> float:
        """Rate of the computed rows; 0 where it makes no sense."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    def __add__(self, other: "Timing") -> "Timing":
        return Timing(
            seconds=round(self.seconds + other.seconds, 3),
            rows=self.rows + other.rows,
            parts=self.parts + other.parts,
        )


def timing_path(name: str, step: str, result_id: str) -> str:
    """Where the timing of a result lies, below the data root."""
    return f"{name}/timings/{step}-{result_id}.json"


def part_path(
    step: str, inputs: list[Manifest], options: StepOptions, partition: int, partitions: int
) -> str:
    """Where one partition's timing lies. A part does not know the id of the whole; both know their inputs."""
    work = derive_id(
        step=step, inputs=[manifest.id for manifest in inputs], options=identity_options(options)
    )
    return f"{inputs[0].name}/timings/parts/{step}-{work}-{partition}-of-{partitions}.json"


def write_timing(store: Store, path: str, timing: Timing) -> None:
    """Keep a timing; the first one stays, so that a run that finds everything done does not replace it."""
    store.create(path, timing.model_dump_json().encode())


def read_timing(store: Store, path: str) -> Timing | None:
    """A timing, or None when there is none that can be read."""
    try:
        return Timing.model_validate_json(store.read(path))
    except (NotFound, ValueError):
        return None

"""What a report is made from: plain tables and values, whichever run or dataset they come from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

AT_LEAST: Literal["at_least"] = "at_least"
AT_MOST: Literal["at_most"] = "at_most"

# Columns that `ReportData.rows` must have; the others are shown when they are there.
REQUIRED_COLUMNS = ("image_id", "keep", "reasons")


class ReportError(ValueError):
    """Input of which no report can be made; the message names the column and the fix."""


@dataclass(frozen=True)
class Threshold:
    """A bound on one score column: a row passes with value >= or <= `value`, never with null or NaN."""

    column: str
    side: Literal["at_least", "at_most"]
    value: float
    active: bool = True


@dataclass(frozen=True)
class Rule:
    """One reason for which a row can be rejected, by the name selection gives it.

    step: the pipeline step that measures it. help: what the rule says, one short sentence.
    """

    name: str
    step: str
    help: str = ""
    threshold: Threshold | None = None


@dataclass(frozen=True)
class StepRun:
    """One step as it ran. `seconds` None when unknown; `reused` when nothing had to be computed.

    changed: names of the options that differ from their defaults.
    """

    name: str
    seconds: float | None
    code_version: str
    options: Mapping[str, Any] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    reused: bool = False


@dataclass(frozen=True)
class TrainingStage:
    """Loss curve of one stage: `steps` and `losses` of equal length; `facts` are shown as they are.

    held_out: (step, loss of the averaged weights on held-out photos). loss_by_t and floor_by_t: at the end of
    the stage, in equal bins of t from noise to picture, and what no model of Gaussian pixels can go below.
    """

    name: str
    steps: Sequence[float]
    losses: Sequence[float]
    facts: Mapping[str, str] = field(default_factory=dict)
    held_out: Sequence[tuple[float, float]] = ()
    loss_by_t: Sequence[float] = ()
    floor_by_t: Sequence[float] = ()


@dataclass(frozen=True)
class Metric:
    """One number of the evaluation. `note` says what to hold it against, such as its floor.

    is_share: whether it is a part of one, shown in percent.
    """

    name: str
    value: float
    note: str = ""
    is_share: bool = False


@dataclass(frozen=True)
class Evaluation:
    """How good the trained model is.

    samples_png: a grid of generated pictures. nearest_png: some of them beside their nearest training photos.
    notes: warnings of the measurement, such as too few pictures.
    """

    metrics: Sequence[Metric] = ()
    breed_accuracy: Sequence[tuple[str, int, int]] = ()  # breed key, right, drawn
    samples_png: bytes = b""
    samples_note: str = ""
    nearest_png: bytes = b""
    nearest_note: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class ReportData:
    """Everything a report shows.

    rows: one row per ingested file. Always `image_id`, `keep`, `reasons`; the columns that the rules'
      thresholds name; as available `caption`, `breed`, `caption_script`, `source`, `source_uri`,
      `duplicate_of`, and any column whose name ends in `_error`.
    rules: in the order in which the funnel applies them; a reason that no rule has is added at the end.
    error_rule: the reason that marks a row which could not be read; it counts as an error, not as rejected.
    facts: shown in the header (dataset, profile, run, data root ...).
    thumbnail: JPEG of an image id, or None where there is none; asked for a few hundred photos at most.
    breed_names: display names of breed keys.
    """

    title: str
    rows: pa.Table
    rules: Sequence[Rule]
    steps: Sequence[StepRun]
    thumbnail: Callable[[str], bytes | None]
    facts: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    breed_names: Mapping[str, str] = field(default_factory=dict)
    error_rule: str = "undecodable"
    training: Sequence[TrainingStage] = ()
    evaluation: Evaluation | None = None

    def __post_init__(self) -> None:
        missing = [name for name in REQUIRED_COLUMNS if name not in self.rows.column_names]
        if missing:
            raise ReportError(
                f"A report needs the column {missing[0]!r}, which its rows lack: run selection first."
            )

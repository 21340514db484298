"""Where the labels of a histogram's threshold lines go, so that none lies on another or under a line."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

# Of bold text at the size it has on a phone, where it is largest, in chart units.
_CHARACTER = 8.2
_GAP = 6.0


@dataclass(frozen=True)
class Mark:
    """A vertical line with a label in one of two rows above the plot. kind: "threshold" or "proposed".

    anchor: "start" for a label right of its line, "end" for one left of it.
    """

    x: float
    label: str
    kind: str
    row: int
    anchor: str = "start"

    @property
    def span(self) -> tuple[float, float]:
        """What the label covers, from left to right."""
        width = _GAP + _CHARACTER * len(self.label)
        return (self.x, self.x + width) if self.anchor == "start" else (self.x - width, self.x)


def placed(marks: Sequence[Mark], low: Sequence[float], high: float) -> tuple[Mark, ...]:
    """The marks with their labels placed within [low[row], high], and cut to sign and number if need be.

    A line is drawn from its row down, so it crosses the labels of its own and of lower rows.
    """
    done: list[Mark] = []
    for mark in sorted(marks, key=lambda item: (item.row, item.x)):
        short = " ".join(mark.label.split()[-2:])
        choices = [
            replace(mark, label=label, anchor=anchor)
            for label in (mark.label, short)
            for anchor in ("start", "end")
        ]
        lines = [other.x for other in marks if other is not mark and other.row <= mark.row]
        labels = [other.span for other in done if other.row == mark.row]
        free = [choice for choice in choices if _is_free(choice, lines, labels, low[mark.row], high)]
        done.append(free[0] if free else choices[3 if mark.x > (low[mark.row] + high) / 2 else 2])
    return tuple(done)


def _is_free(
    mark: Mark, lines: Sequence[float], labels: Sequence[tuple[float, float]], low: float, high: float
) -> bool:
    left, right = mark.span
    return (
        low <= left
        and right <= high
        and not any(left < x < right for x in lines)
        and not any(left < end and start < right for start, end in labels)
    )

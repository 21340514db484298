"""Geometry of the report's SVG charts: pure numbers, drawn by the template."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from components.report.data import Threshold
from components.report.histogram import Histogram
from components.report.marks import Mark, placed
from components.report.scores import Score
from components.report.wording import number

WIDTH, HEIGHT = 460, 240
LEFT, RIGHT, TOP, BOTTOM = 48, 16, 48, 30
_PLOT_WIDTH, _PLOT_HEIGHT = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
_MAX_POINTS = 300


@dataclass(frozen=True)
class Bar:
    """A rectangle in chart units. kind: "kept", "other" or "failing"."""

    x: float
    y: float
    width: float
    height: float
    kind: str


@dataclass(frozen=True)
class Tick:
    """A label at a place along its axis."""

    at: float
    label: str


@dataclass(frozen=True)
class HistogramChart:
    """A drawn histogram; `summary` is its text alternative."""

    bars: tuple[Bar, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    summary: str


@dataclass(frozen=True)
class LineChart:
    """A drawn curve: a thin line (raw values, or a floor), a bold one, as SVG point lists, and dots."""

    raw: str
    smooth: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    summary: str
    dots: tuple[tuple[float, float], ...] = ()


def histogram_chart(score: Score) -> HistogramChart | None:
    """The chart of a score, or None when nothing was scored."""
    shape = score.histogram
    if shape is None:
        return None
    top = max(int(shape.counts.max()), 1)
    return HistogramChart(
        _bars(shape, top),
        _x_ticks(shape),
        tuple(Tick(_y(value, top), number(value)) for value in nice_ticks(0, top, 4)),
        _marks(score, shape),
        _summary(score, shape),
    )


def _y(value: float, top: float) -> float:
    return round(TOP + _PLOT_HEIGHT * (1 - value / top), 2)


def _x(shape: Histogram, value: float) -> float:
    return round(LEFT + _PLOT_WIDTH * shape.place(value), 2)


def _bars(shape: Histogram, top: int) -> tuple[Bar, ...]:
    bars = []
    for i in range(len(shape.counts)):
        left, right = _x(shape, shape.edges[i]), _x(shape, shape.edges[i + 1])
        gap = min(1.5, 0.15 * (right - left))
        base = 0
        for kind in ("kept", "other", "failing"):
            count = int(getattr(shape, kind)[i])
            if count:
                upper, lower = _y(base + count, top), _y(base, top)
                width = round(max(right - left - gap, 0.5), 2)
                bars.append(Bar(left, upper, width, round(max(lower - upper, 0.8), 2), kind))
            base += count
    return tuple(bars)


def _x_ticks(shape: Histogram) -> tuple[Tick, ...]:
    low, high = float(shape.edges[0]), float(shape.edges[-1])
    values = log_ticks(low, high) if shape.log else nice_ticks(low, high, 6)
    return tuple(Tick(_x(shape, value), number(value)) for value in values)


def _marks(score: Score, shape: Histogram) -> tuple[Mark, ...]:
    marks = []
    for bound in score.bounds:
        used, sign = bound.threshold, "≥" if bound.threshold.side == "at_least" else "≤"
        if used.active:
            marks.append(_mark(shape, used, f"in use {sign} {number(used.value)}", "threshold"))
        if bound.proposal and bound.proposal.value != used.value:
            proposed = replace(used, value=bound.proposal.value)
            marks.append(_mark(shape, proposed, f"proposed {sign} {number(proposed.value)}", "proposed"))
    # In the second row stands "rows", the name of the vertical axis.
    return placed(marks, low=(0, LEFT), high=WIDTH)


def _mark(shape: Histogram, threshold: Threshold, label: str, kind: str) -> Mark:
    x = round(LEFT + _PLOT_WIDTH * shape.place_of(threshold), 2)
    return Mark(x, label, kind, 0 if kind == "threshold" else 1)


def _summary(score: Score, shape: Histogram) -> str:
    kept, other, failing = (int(part.sum()) for part in (shape.kept, shape.other, shape.failing))
    return (
        f"Histogram of {score.column} over {number(shape.scored)} rows: {number(kept)} kept, "
        f"{number(other)} pass here but fail another rule, {number(failing)} fail here."
    )


def line_chart(
    steps: Sequence[float],
    values: Sequence[float],
    label: str,
    held_out: Sequence[tuple[float, float]] = (),
) -> LineChart | None:
    """A curve over steps without non-finite values, at most 300 points; None with fewer than two.

    held_out: (step, value) shown as dots.
    """
    x, y = _finite(steps, values)
    if len(x) < 2 or x[0] == x[-1]:
        return None
    smooth = _smoothed(y)
    dots = _finite([step for step, _ in held_out], [value for _, value in held_out])
    low, high = _range(y)
    if len(dots[1]):
        low, high = min(low, float(dots[1].min())), max(high, float(dots[1].max()))
    plane = _Plane(float(x[0]), float(x[-1]), low, high)
    picked = np.unique(np.linspace(0, len(x) - 1, min(len(x), _MAX_POINTS)).astype(int))
    summary = (
        f"{label}: {number(float(smooth[0]))} at step {number(x[0])}, {number(float(smooth[-1]))} at the end"
    )
    if len(dots[1]):
        summary += f"; {number(float(dots[1][-1]))} on held-out photos"
    return LineChart(
        plane.points(x[picked], y[picked]),
        plane.points(x[picked], smooth[picked]),
        plane.x_ticks(5),
        plane.y_ticks(4),
        f"{summary}.",
        tuple((plane.x(step), plane.y(value)) for step, value in zip(*dots, strict=True)),
    )


def noise_level_chart(losses: Sequence[float], floor: Sequence[float]) -> LineChart | None:
    """Loss by t, from noise (0) to picture (1), over the floor of Gaussian pixels; None without a loss."""
    centres = (np.arange(len(losses)) + 0.5) / max(len(losses), 1)
    t, y = _finite(centres, losses)
    if len(y) < 2 or len(floor) != len(losses):
        return None
    both = np.r_[y, floor]
    plane = _Plane(0.0, 1.0, 0.0, float(both.max()) or 1.0)
    lowest = int(np.argmin(y))
    return LineChart(
        plane.points(centres, np.asarray(floor)),
        plane.points(t, y),
        plane.x_ticks(5),
        plane.y_ticks(4),
        f"Loss by noise level: {number(float(y[0]))} near noise, {number(float(y[-1]))} near the picture, "
        f"lowest {number(float(y[lowest]))} at t = {number(float(t[lowest]))}.",
    )


def _finite(x: Sequence[float] | np.ndarray, y: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Both as float64, without the places where either is not finite."""
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    finite = np.isfinite(first) & np.isfinite(second)
    return first[finite], second[finite]


@dataclass(frozen=True)
class _Plane:
    """Values to chart units: left..right across, low..high upwards; what lies outside comes to the edge."""

    left: float
    right: float
    low: float
    high: float

    def x(self, value: float) -> float:
        return round(LEFT + _PLOT_WIDTH * (value - self.left) / (self.right - self.left), 2)

    def y(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(TOP + _PLOT_HEIGHT * (1 - share), 2)

    def points(self, xs: np.ndarray, ys: np.ndarray) -> str:
        return " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, ys, strict=True))

    def x_ticks(self, count: int) -> tuple[Tick, ...]:
        return tuple(Tick(self.x(v), number(v)) for v in nice_ticks(self.left, self.right, count))

    def y_ticks(self, count: int) -> tuple[Tick, ...]:
        return tuple(Tick(self.y(v), number(v)) for v in nice_ticks(self.low, self.high, count))


def _range(values: np.ndarray) -> tuple[float, float]:
    """The values' range without the highest 1%: the first steps' spikes would flatten the rest."""
    low, high = float(values.min()), float(np.quantile(values, 0.99))
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _smoothed(values: np.ndarray) -> np.ndarray:
    """Moving average over 2% of the points, centred, shorter at the ends."""
    reach = max(len(values) // 50, 1)
    total = np.cumsum(np.r_[0.0, values])
    at = np.arange(len(values))
    left, right = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(values))
    return (total[right] - total[left]) / (right - left)


def nice_ticks(low: float, high: float, count: int) -> list[float]:
    """About `count` round numbers (1, 2 or 5 times a power of ten apart) within [low, high]."""
    if not high > low:
        return [low]
    power = 10.0 ** np.floor(np.log10((high - low) / count))
    step = min((power * factor for factor in (1, 2, 5, 10)), key=lambda s: abs((high - low) / s - count))
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [float(f"{i * step:.12g}") for i in np.arange(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten within [low, high], with 2 and 5 times them where there are few."""
    exponents = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    decades = [10.0**e for e in exponents if low <= 10.0**e <= high]
    if len(decades) > 3:
        return decades
    return [f * 10.0**e for e in exponents for f in (1, 2, 5) if low <= f * 10.0**e <= high]

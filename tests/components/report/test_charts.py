import numpy as np
import pytest

from components.report.charts import (
    HEIGHT,
    LEFT,
    RIGHT,
    WIDTH,
    histogram_chart,
    line_chart,
    log_ticks,
    nice_ticks,
    noise_level_chart,
)
from components.report.data import AT_LEAST, Rule, Threshold
from components.report.histogram import histogram
from components.report.scores import Bound, Score


@pytest.mark.parametrize("low,high", [(0, 1), (-3.2, 17), (0.21, 0.39), (0, 123456), (1e-5, 4e-5)])
def test_ticks_are_round_within_the_range_and_neither_few_nor_many(low, high):
    ticks = nice_ticks(low, high, 5)
    assert 3 <= len(ticks) <= 10
    assert low - 1e-9 <= min(ticks) and max(ticks) <= high + 1e-9
    steps = np.diff(ticks)
    assert np.allclose(steps, steps[0])
    assert float(f"{steps[0]:.1e}"[:3]) in (1.0, 2.0, 5.0)


def test_log_ticks_are_decades_or_one_two_five():
    assert log_ticks(10, 300) == [10, 20, 50, 100, 200]
    assert log_ticks(1, 1e6) == pytest.approx([1, 10, 100, 1e3, 1e4, 1e5, 1e6])


def test_bars_have_heights_in_proportion_to_counts_and_colours_change_at_the_threshold():
    values = np.array([1.0] * 10 + [2.0] * 20 + [3.0] * 5)
    threshold = Threshold("s", AT_LEAST, 2)
    shape = histogram(values, values > 2, [threshold])
    chart = histogram_chart(
        Score("s", "quality", shape, (Bound(Rule("s", "", "", threshold), threshold, None, (), ()),))
    )
    by_kind = {bar.kind: bar for bar in chart.bars}
    assert by_kind["other"].height / by_kind["failing"].height == pytest.approx(2.0, abs=0.01)
    assert by_kind["failing"].height / by_kind["kept"].height == pytest.approx(2.0, abs=0.01)
    (mark,) = chart.marks
    assert by_kind["failing"].x < mark.x <= by_kind["other"].x + 0.01
    assert "5 kept" in chart.summary and "10 fail here" in chart.summary


def test_a_curve_stays_in_its_frame_and_leaves_out_what_is_not_finite():
    losses = [float("nan"), 500.0, *(1 / (1 + i) for i in range(1000)), float("inf")]
    chart = line_chart(range(len(losses)), losses, "Loss")
    points = [tuple(map(float, point.split(","))) for point in chart.raw.split()]
    assert len(points) <= 300
    assert all(LEFT <= x <= WIDTH - RIGHT and 0 <= y <= HEIGHT for x, y in points)


def test_held_out_losses_are_dots_on_the_curves_scale():
    """A straight line from 2 to 0: a dot of value 1 at its middle lies on it, one above widens the scale."""
    steps, losses = list(range(101)), [2 - i / 50 for i in range(101)]
    chart = line_chart(steps, losses, "Loss", [(50, 1.0), (float("nan"), 1.0)])
    (dot,) = chart.dots
    raw = dict(tuple(map(float, point.split(","))) for point in chart.raw.split())
    assert raw[round(dot[0], 1)] == pytest.approx(dot[1], abs=0.1)
    assert chart.summary.endswith("; 1 on held-out photos.")
    higher = line_chart(steps, losses, "Loss", [(50, 4.0)])
    assert min(y for _, y in higher.dots) < min(float(p.split(",")[1]) for p in higher.raw.split())


def test_the_loss_by_noise_level_is_drawn_over_its_floor_without_empty_bins():
    chart = noise_level_chart([1.0, float("nan"), 0.5, 0.25], [0.5, 0.5, 0.5, 0.5])
    loss, floor = (
        [tuple(map(float, point.split(","))) for point in line.split()] for line in (chart.smooth, chart.raw)
    )
    assert len(loss) == 3 and len(floor) == 4
    assert loss[1] == floor[2]  # 0.5 at t = 0.625, both
    assert loss[0][1] < floor[0][1] and loss[2][1] > floor[3][1]  # y grows downwards
    assert "lowest 0.25 at t = 0.875" in chart.summary


@pytest.mark.parametrize(
    ("losses", "floor"), [([], []), ([1.0], [1.0]), ([1.0, 2.0], []), ([float("nan")] * 2, [1.0] * 2)]
)
def test_without_losses_by_noise_level_there_is_no_chart(losses, floor):
    assert noise_level_chart(losses, floor) is None


def test_one_loss_is_no_curve():
    assert line_chart([1], [0.5], "Loss") is None

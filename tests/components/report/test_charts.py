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


def test_one_loss_is_no_curve():
    assert line_chart([1], [0.5], "Loss") is None

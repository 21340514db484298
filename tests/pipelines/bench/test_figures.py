"""Figures, verdicts, ratios; what a report prints."""

import json

import pytest

from pipelines.bench.figures import Figure, Report, Timing, race, ratio, show


@pytest.mark.parametrize(
    ("value", "at_least", "met"), [(3, True, True), (2, True, True), (1, True, False), (3, False, False)]
)
def test_a_target_is_a_bound_from_below_or_above(value, at_least, met):
    assert Figure("f", value, "x", 2, at_least).met is met


def test_a_figure_without_target_has_no_verdict():
    assert Figure("f", 1, "x").met is None


def test_a_ratio_is_the_median_of_the_rounds_own_ratios():
    # The second round was disturbed for both contenders alike.
    slow, fast = Timing([4.0, 40.0, 4.0], [1, 1, 1]), Timing([1.0, 10.0, 2.0], [1, 1, 1])
    assert ratio(slow, fast) == 4
    assert ratio(slow, fast, cpu=True) == 1


def test_contenders_take_turns_in_alternating_order_after_one_warm_up_each():
    calls = []
    timings = race({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=2)
    assert calls == ["a", "b", "a", "b", "b", "a"]
    assert [len(timing.wall_s) for timing in timings.values()] == [2, 2]


@pytest.fixture
def report():
    report = Report("toy", conditions={"cores": 2})
    report.add("rate", 3.25, "1/s", target=5)
    report.add("time", 0.5, "s", target=1, at_least=False)
    report.add("size", 12345, "MB")
    return report


def test_the_json_holds_every_figure_with_target_and_verdict(report):
    told = json.loads(report.to_json())
    assert told["bench"] == "toy"
    assert told["conditions"] == {"cores": 2}
    assert [(f["name"], f["value"], f["target"], f["met"]) for f in told["figures"]] == [
        ("rate", 3.25, 5, False),
        ("time", 0.5, 1, True),
        ("size", 12345, None, None),
    ]
    assert report.value("time") == 0.5


def test_the_table_says_target_and_verdict(report, capsys):
    show(report)
    lines = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert lines["rate"] == ["rate", "3.25", "1/s", ">=", "5", "miss"]
    assert lines["time"] == ["time", "0.5", "s", "<=", "1", "pass"]
    assert lines["size"] == ["size", "12,345", "MB"]

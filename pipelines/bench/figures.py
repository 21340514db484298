"""What a benchmark found: figures with their targets, timed side by side, as a table or as JSON."""

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One measured value. `target` is a bound from below (`at_least`) or above; None: reported only.

    spread: standard deviation of what `value` is the mean of, where that was measured.
    """

    name: str
    value: float
    unit: str
    target: float | None = None
    at_least: bool = True
    spread: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without one."""
        if self.target is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target


@dataclass
class Report:
    """All figures of one benchmark, with the conditions they were measured under."""

    name: str
    figures: list[Figure] = field(default_factory=list)
    conditions: dict[str, Any] = field(default_factory=dict)

    def add(
        self,
        name: str,
        value: float,
        unit: str,
        target: float | None = None,
        at_least: bool = True,
        spread: float | None = None,
    ) -> None:
        """Append a figure."""
        self.figures.append(Figure(name, value, unit, target, at_least, spread))

    def value(self, name: str) -> float:
        """The value of a figure; KeyError when there is none of that name."""
        return {figure.name: figure.value for figure in self.figures}[name]

    def to_json(self) -> str:
        """One JSON object; `met` is null for figures without a target."""
        figures = [{**asdict(figure), "met": figure.met} for figure in self.figures]
        return json.dumps({"bench": self.name, "conditions": self.conditions, "figures": figures}, indent=1)


@dataclass(frozen=True)
class Timing:
    """Wall and CPU seconds of the runs of one contender. CPU time counts all threads of this process."""

    wall_s: list[float]
    cpu_s: list[float]

    @property
    def wall(self) -> float:
        """Median wall seconds."""
        return median(self.wall_s)

    @property
    def cpu(self) -> float:
        """Median CPU seconds."""
        return median(self.cpu_s)


def race(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Timing]:
    """Time the contenders in turn, `rounds` times after one untimed warm-up.

    Taking turns, in alternating order, lets a busy machine hurt all alike, so that ratios hold where rates
    do not.
    """
    for run in contenders.values():
        run()
    wall: dict[str, list[float]] = {name: [] for name in contenders}
    cpu: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds):
        for name in list(contenders)[:: 1 if turn % 2 == 0 else -1]:
            start, used = time.perf_counter(), time.process_time()
            contenders[name]()
            wall[name].append(time.perf_counter() - start)
            cpu[name].append(time.process_time() - used)
    return {name: Timing(wall[name], cpu[name]) for name in contenders}


def ratio(slow: Timing, fast: Timing, *, cpu: bool = False) -> float:
    """How many times faster `fast` is: the median over rounds of the ratio within the round."""
    pairs = zip(slow.cpu_s, fast.cpu_s, strict=True) if cpu else zip(slow.wall_s, fast.wall_s, strict=True)
    return median(a / b for a, b in pairs)


def conditions(**extra: Any) -> dict[str, Any]:
    """What to know beside the figures: cores, and how busy others keep them."""
    return {"cores": os.cpu_count(), "load_before": round(os.getloadavg()[0], 2), **extra}


def show(report: Report) -> None:
    """Print a report as a table."""
    from rich.console import Console
    from rich.table import Table

    told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in report.conditions.items())
    table = Table(title=f"bench {report.name}", caption=told, box=None, pad_edge=False, title_justify="left")
    table.add_column("figure")
    table.add_column("measured", justify="right")
    table.add_column("unit")
    table.add_column("target", justify="right")
    table.add_column("")
    for figure in report.figures:
        measured = f"{figure.value:,.0f}" if figure.value >= 100 else f"{figure.value:.3g}"
        if figure.spread is not None:
            measured += f" ± {figure.spread:.2g}"
        target = "" if figure.target is None else f"{'>=' if figure.at_least else '<='} {figure.target:g}"
        verdict = {None: "", True: "[green]pass[/]", False: "[bold red]miss[/]"}[figure.met]
        table.add_row(figure.name, measured, figure.unit, target, verdict)
    Console().print(table)

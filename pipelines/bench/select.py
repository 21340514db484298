"""How long another selection takes: the strict profile's rules over a million stored rows."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from components.data.storage import open_store
from pipelines.bench.figures import Report, conditions
from pipelines.bench.places import PLACES
from pipelines.bench.rows import scored_dataset, scored_rows

IN_MEMORY_MS, FROM_MANIFEST_S, MEMORY_MB = 100, 1, 1000
EXTRAPOLATED = 10_000_000


def bench_select(
    sizes: Sequence[int] = (10_000, 100_000, 1_000_000),
    rounds: int = 5,
    seed: int = 0,
    places: Mapping[str, Any] = PLACES,
) -> Report:
    """Every size in a fresh process, whose peak memory counts; growth from the two largest sizes."""
    sizes = sorted(sizes)
    report = Report("select", conditions=conditions(rows=sizes[-1], rounds=rounds))
    for place, opened in places.items():
        measured = []
        with opened() as uri:
            for size in sizes:
                root = f"{uri}/{size}"
                dataset = scored_dataset(open_store(root), scored_rows(size, seed))
                measured.append(_measure(root, dataset.to_bytes(), rounds))
        _report(report, place, sizes, measured)
    return report


def _measure(root: str, manifest: bytes, rounds: int) -> dict[str, float]:
    command = [sys.executable, "-m", "pipelines.bench.select_process", root, str(rounds)]
    done = subprocess.run(command, input=manifest, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _report(report: Report, place: str, sizes: Sequence[int], measured: list[dict[str, float]]) -> None:
    at = f"{place}, {sizes[-1]:,} rows"
    largest = measured[-1]
    report.add(f"{at}: in memory", 1e3 * largest["select_s"], "ms", IN_MEMORY_MS, False)
    report.add(f"{at}: in memory, CPU time", 1e3 * largest["select_cpu_s"], "ms")
    report.add(f"{at}: read and select", largest["read_select_s"], "s", FROM_MANIFEST_S, False)
    report.add(f"{at}: whole step, result stored", largest["step_s"], "s", FROM_MANIFEST_S, False)
    report.add(f"{at}: whole step, CPU time", largest["step_cpu_s"], "s")
    report.add(f"{at}: peak memory", largest["peak_mb"], "MB", MEMORY_MB, False)
    for size, figures in zip(sizes, measured, strict=True):
        report.add(f"{place}, {size:,} rows: step", figures["step_s"], "s")
    if len(sizes) > 1:
        for name, unit in (("select_s", "s"), ("step_s", "s"), ("peak_mb", "MB")):
            value = extrapolate(sizes[-2:], [figures[name] for figures in measured[-2:]], EXTRAPOLATED)
            report.add(f"{place}, {EXTRAPOLATED:,} rows by growth: {name.rpartition('_')[0]}", value, unit)


def extrapolate(sizes: Sequence[int], values: Sequence[float], size: int) -> float:
    """The straight line through the two largest sizes: a constant cost and one per row."""
    slope = (values[1] - values[0]) / (sizes[1] - sizes[0])
    return values[1] + slope * (size - sizes[1])

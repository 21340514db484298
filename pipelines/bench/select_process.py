"""Selects from a manifest on stdin, in a process of its own: prints seconds and peak memory as JSON.

python -m pipelines.bench.select_process DATA_ROOT ROUNDS < manifest
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable
from statistics import median

import pyarrow as pa

from components.data.manifest import DatasetManifest
from components.data.shards import read_table
from components.data.task import Task
from components.selection.options import SelectionOptions
from components.selection.rules import needed_columns
from components.selection.step import run, select


def measure(data_root: str, dataset: DatasetManifest, rounds: int) -> dict[str, float]:
    """Median seconds of the real step, of reading with selecting, and of selecting alone; peak memory in MB.

    The step comes first and every round of it has another threshold, so that none finds its result done.
    """
    task = Task(data_root)
    options = [SelectionOptions(laplacian_variance=100 + turn) for turn in range(rounds)]
    step_s, step_cpu_s = _median(lambda o: run(task, dataset, options=o), options)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3

    def read() -> pa.Table:
        return read_table(task.store, dataset, needed_columns(options[0]))

    read_select_s, _ = _median(lambda o: select(read(), o), options)
    table = read()
    select_s, select_cpu_s = _median(lambda o: select(table, o), options)
    return {
        "rows": dataset.rows,
        "kept": sum(select(table, options[0]).column("keep").to_pylist()),
        "step_s": step_s,
        "step_cpu_s": step_cpu_s,
        "read_select_s": read_select_s,
        "select_s": select_s,
        "select_cpu_s": select_cpu_s,
        "peak_mb": peak_mb,
    }


def _median(
    call: Callable[[SelectionOptions], object], options: Iterable[SelectionOptions]
) -> tuple[float, float]:
    """Median wall and CPU seconds."""
    wall, cpu = [], []
    for one in options:
        start, used = time.perf_counter(), time.process_time()
        call(one)
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    return median(wall), median(cpu)


if __name__ == "__main__":
    root, turns = sys.argv[1:]
    print(json.dumps(measure(root, DatasetManifest.from_bytes(sys.stdin.buffer.read(), "stdin"), int(turns))))

"""What each part of training is worth: the demo's model with one thing changed at a time, over seeds."""

from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from pipelines.bench.figures import Report, conditions
from pipelines.bench.model import STAGES, ModelBench
from pipelines.runs.record import RunRecord

Changes = Mapping[str, Mapping[str, Any]]
BASE = "as the run"


def _in_stages(*stages: str, **values: Any) -> Changes:
    return dict.fromkeys(stages, values)


def _built(**values: Any) -> Changes:
    return {"initialization": values}


VARIANTS: dict[str, Changes] = {
    BASE: {},
    "no breed modules": _built(breed_modules=[]),
    "breed: time": _built(breed_modules=["time"]),
    "breed: time, gate": _built(breed_modules=["time", "gate"]),
    "breed: time, conv_in": _built(breed_modules=["time", "conv_in"]),
    "breed: time, gate, conv_in": _built(breed_modules=["time", "gate", "conv_in"]),
    "channel attention": _built(channel_attention=True),
    "contrastive loss": {**_built(projection=64), **_in_stages("stage1", "stage2", contrastive=0.1)},
    "no curriculum": _in_stages("stage2", curriculum=False),
    "uniform density": _in_stages(*STAGES, density="uniform"),
    "shift 2": _in_stages(*STAGES, shift=2.0),
}


def bench_ablation(record: RunRecord, seeds: Sequence[int], names: Sequence[str], share: float) -> Report:
    """Breed accuracy and Frechet distance of each variant, mean and standard deviation over `seeds`.

    share: of the run's steps, in every stage; warm-up is as long as ever. Every variant of a seed starts from
    the same random numbers and gets the same budget. Raises KeyError for an unknown variant.
    """
    report = Report(
        "ablation", conditions=conditions(run=record.run_id, seeds=list(seeds), share_of_steps=share)
    )
    for name in names:
        bench = ModelBench(record, _shortened(record, VARIANTS[name], share))
        last = [bench.stages(seed, scored=STAGES[-1:])[STAGES[-1]].counters for seed in seeds]
        for counter, unit in (("breed_accuracy", "share"), ("frechet_distance", "")):
            values = [float(counters[counter]) for counters in last]
            spread = stdev(values) if len(values) > 1 else None
            report.add(f"{name}: {counter.replace('_', ' ')}", mean(values), unit, spread=spread)
    return report


def _shortened(record: RunRecord, changes: Changes, share: float) -> Changes:
    steps = {stage: {"steps": max(round(record.options[stage]["steps"] * share), 1)} for stage in STAGES}
    return {name: {**steps.get(name, {}), **changes.get(name, {})} for name in {*steps, *changes}}

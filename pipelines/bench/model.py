"""How well the demo's model learns breeds: over seeds, after each stage, beside a control without breeds.

The control, of the first seed, spends the steps of all three stages on stage 0: what it reaches, more
captions alone would.
"""

import importlib
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from components.data.artifacts import EvaluationManifest, ModelManifest
from components.data.manifest import DatasetManifest, Manifest
from components.data.options import parse_options
from components.data.task import Task
from pipelines.bench.figures import Report, conditions
from pipelines.parameters import options_model
from pipelines.runners.bare import read_manifest
from pipelines.runs.record import RunRecord

STAGES = ("stage0", "stage1", "stage2")
CONTROL = "stage 0 only"
BREED_ACCURACY, OVER_HISTOGRAM = 0.85, 0.20
# What is told of every stage: the evaluation's counters, and their units.
TOLD = {
    "breed_accuracy": "share",
    "pairs_accuracy": "share",
    "pairs_histogram_accuracy": "share",
    "frechet_distance": "",
    "frechet_floor": "",
    "diversity": "",
    "diversity_real": "",
    "nearest_distance": "",
    "nearest_baseline": "",
    "memorised_share": "share",
}


class ModelBench:
    """Trains and scores again what a run of `dog-breed` trained, with other seeds, on that run's datasets."""

    def __init__(self, record: RunRecord, changes: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """`changes`: options other than the run's, by task, such as {"stage1": {"density": "uniform"}}."""
        changes = changes or {}
        self._options = {name: {**values, **changes.get(name, {})} for name, values in record.options.items()}
        self._task = Task(record.data_root)
        self._breed = self._dataset(record, "encoding")
        self._general = self._dataset(record, "general-encoding")

    def _dataset(self, record: RunRecord, task: str) -> DatasetManifest:
        manifest = read_manifest(str(record.result(task).metadata["data_uri"]), record.data_root)
        assert isinstance(manifest, DatasetManifest)
        return manifest

    def stages(self, seed: int, scored: Sequence[str] = STAGES) -> dict[str, EvaluationManifest]:
        """The evaluation after each of the `scored` stages of one training."""
        model, scores = self._start(seed), {}
        for stage in STAGES:
            model = self._train(stage, model, {"seed": seed})
            if stage in scored:
                scores[stage] = self._score(model, seed)
        return scores

    def control(self, seed: int) -> EvaluationManifest:
        """The evaluation of a model that had every step in stage 0, its learning rate falling at the end."""
        steps = sum(self._options[stage]["steps"] for stage in STAGES)
        last = self._options[STAGES[-1]]["final_lr_share"]
        values = {"seed": seed, "steps": steps, "final_lr_share": last}
        return self._score(self._train(STAGES[0], self._start(seed), values), seed)

    def _start(self, seed: int) -> Manifest:
        return self._run("initialization", "initialization", [self._breed], {"seed": seed})

    def _train(self, stage: str, model: Manifest, values: Mapping[str, Any]) -> Manifest:
        dataset = self._general if stage == STAGES[0] else self._breed
        return self._run("training", stage, [dataset, model], values)

    def _score(self, model: Manifest, seed: int) -> EvaluationManifest:
        assert isinstance(model, ModelManifest)
        samples = self._run("sampling", "sampling", [self._breed, model], {"seed": seed})
        found = self._run("evaluation", "evaluation", [self._breed, samples], {"seed": seed})
        assert isinstance(found, EvaluationManifest)
        return found

    def _run(self, step: str, prefix: str, inputs: Sequence[Manifest], values: Mapping[str, Any]) -> Manifest:
        options = parse_options(
            options_model(f"components.{step}"), {**self._options[prefix], **values}, step=step
        )
        return importlib.import_module(f"components.{step}.step").run(self._task, *inputs, options=options)


def bench_model(record: RunRecord, seeds: Sequence[int]) -> Report:
    """Figures of every stage as means over `seeds`, the worst seed's accuracy, and the first seed's control.

    Raises RunError when the run has no encoded datasets.
    """
    bench = ModelBench(record)
    report = Report("model", conditions=conditions(run=record.run_id, seeds=list(seeds)))
    found: dict[str, list[EvaluationManifest]] = {}
    for seed in seeds:
        for stage, scores in bench.stages(seed).items():
            found.setdefault(stage, []).append(scores)
    found[CONTROL] = [bench.control(seeds[0])]
    last = found[STAGES[-1]]
    accuracy = [scores.counters["breed_accuracy"] for scores in last]
    over = [
        scores.counters["pairs_accuracy"] - scores.counters["pairs_histogram_accuracy"] for scores in last
    ]
    report.add("breed accuracy, mean of seeds", mean(accuracy), "share", BREED_ACCURACY)
    report.add("breed accuracy, worst seed", min(accuracy), "share", BREED_ACCURACY)
    report.add("pairs: accuracy over colour guesser, mean", mean(over), "share", OVER_HISTOGRAM)
    for stage, all_scores in found.items():
        for name, unit in TOLD.items():
            values = [scores.counters[name] for scores in all_scores if name in scores.counters]
            if values:
                report.add(f"{stage}: {name.replace('_', ' ')}", mean(values), unit)
    return report

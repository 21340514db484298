"""Write the training prompt of every photo with a breed."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from components.data.breeds import BreedTable, breed_table
from components.data.manifest import DatasetManifest
from components.data.task import Batches, Task, add_group
from components.data.tokens import token_count
from components.prompts.annotators import Merge, merge_annotations, parse_annotations
from components.prompts.features import FeaturesError, FeatureTable, load_features
from components.prompts.options import PromptsOptions
from components.prompts.templates import PromptError, Template, build_prompt

INPUTS = ("dataset",)
COLUMNS = ["prompt", "prompt_features", "prompts_error"]


def run(task: Task, dataset: DatasetManifest, *, options: PromptsOptions) -> DatasetManifest:
    """Prompts name the breed, some of its features, and a plain background where foreground measured one.

    Raises FeaturesError or BreedTableError, naming file and row, for a table that cannot be used.
    """
    breeds = breed_table(options.breeds_csv)
    features = _features(options, breeds)
    measured = ["background_plain"] if "background_plain" in dataset.columns else []
    return add_group(
        task,
        dataset,
        step="prompts",
        options=options,
        columns=COLUMNS,
        reads=["breed", *measured],
        score=_writer(options, breeds, features),
        policy={"features": features.digest, "breeds": breeds.digest, "measured": measured},
    )


def _features(options: PromptsOptions, breeds: BreedTable) -> FeatureTable:
    """The feature table with the annotators' majorities; agreement is said in the log."""
    features = load_features(_text(options.features, "features"), breeds=breeds.breeds)
    if not options.annotations:
        return features
    votes = parse_annotations(_text(options.annotations, "annotations"), breeds, features.features)
    merge = merge_annotations(votes, min_annotators=options.min_annotators)
    print(_agreement(merge), flush=True)
    return features.with_facts(merge.facts)


def _agreement(merge: Merge) -> str:
    kappas = ", ".join(
        f"{name} {agreement.kappa:.2f}" if agreement.kappa is not None else f"{name} undefined"
        for name, agreement in [("overall", merge.overall), *merge.by_feature.items()]
    )
    return (
        f"prompts: {len(merge.facts)} facts from annotators, {len(merge.disputed)} without a majority, "
        f"{len(merge.too_few)} with too few votes; Fleiss' kappa: {kappas}"
    )


def _text(path: str, option: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FeaturesError(f"prompts.{option}: {path} cannot be read ({error.strerror}).") from None


def _writer(
    options: PromptsOptions, breeds: BreedTable, features: FeatureTable
) -> Callable[[Batches], Iterator[dict[str, list[Any]]]]:
    template = Template(options.opening, options.background_clause, options.n_features, options.max_tokens)
    phrases = {key: features.phrases(key, reviewed_only=options.reviewed_only) for key in breeds.breeds}

    def write(batches: Batches) -> Iterator[dict[str, list[Any]]]:
        for batch in batches:
            out: dict[str, list[Any]] = {name: [] for name in ["image_id", *COLUMNS]}
            names = batch.schema.names
            for row in batch.to_pylist():
                breed = row["breed"]
                try:
                    prompt = build_prompt(
                        template,
                        image_id=row["image_id"],
                        breed_name=breeds[breed].name if breed else None,
                        phrases=phrases[breed] if breed else (),
                        background_plain=row["background_plain"] if "background_plain" in names else None,
                        count_tokens=token_count,
                    )
                    values: tuple[str | None, list[str], str | None]
                    values = (prompt.text, list(prompt.features), None)
                except PromptError as error:
                    values = (None, [], str(error))
                out["image_id"].append(row["image_id"])
                for name, value in zip(COLUMNS, values, strict=True):
                    out[name].append(value)
            yield out

    return write

"""KFP component of the prompts step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="dogflow-curate", install_kfp_package=False, packages_to_install=[])
def prompts(
    dataset: dsl.Input[dsl.Dataset],
    result: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    opening: str = "a purebred {breed}",
    background_clause: str = "plain gray background",
    n_features: int = 3,
    reviewed_only: bool = False,
    max_tokens: int = 77,
    features: str = "",
    annotations: str = "",
    min_annotators: int = 2,
    breeds_csv: str = "",
):
    """Write the training prompt of every photo with a breed.

    Args:
        dataset: Manifest of the dataset to work on.
        result: Manifest of what the step made.
        metrics: Counters of the step.
        data_root: Where shards and manifests lie.
        code_version: Code the pipeline was compiled for; the step refuses to run as another.
        opening: Begin of every prompt; holds {breed}.
        background_clause: Said only where foreground measured a plain background; '' never.
        n_features: Features of the breed named in a prompt (-1: all known).
        reviewed_only: Name only features that a person checked against a source.
        max_tokens: Tokens of a prompt, start and end included, at most.
        features: JSON of breed features; '' takes the shipped table.
        annotations: CSV of annotators' votes (breed, feature, annotator, value).
        min_annotators: Votes a feature needs to be decided by majority.
        breeds_csv: CSV of breeds to add to the table.
    """
    from components.data.task import run_component

    run_component("prompts", locals())

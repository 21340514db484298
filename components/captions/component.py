"""KFP component of the captions step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="dogflow-curate", install_kfp_package=False, packages_to_install=[])
def captions(
    dataset: dsl.Input[dsl.Dataset],
    result: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    vague_phrases: list = [],
    dog_words: list = [],
):
    """Measure every caption: words, tokens, script, hedging, and whether it speaks of a dog.

    Args:
        dataset: Manifest of the dataset to work on.
        result: Manifest of what the step made.
        metrics: Counters of the step.
        data_root: Where shards and manifests lie.
        code_version: Code the pipeline was compiled for; the step refuses to run as another.
        vague_phrases: Words and phrases that make a caption vague; [] takes the built-in list.
        dog_words: Words that say dog; [] takes the built-in list of many languages.
    """
    from components.data.task import run_component

    run_component("captions", locals())

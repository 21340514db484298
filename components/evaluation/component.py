"""KFP component of the evaluation step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="dogflow-train", install_kfp_package=False, packages_to_install=[])
def evaluation(
    dataset: dsl.Input[dsl.Dataset],
    samples: dsl.Input[dsl.Artifact],
    result: dsl.Output[dsl.Artifact],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    extractor: str = "inception-2015",
    extractor_weights: str = "",
    confusable_pairs: list = [],
    kid_subsets: int = 50,
    floor_splits: int = 5,
    classifier_epochs: int = 12,
    seed: int = 0,
):
    """Score drawn pictures against the held-out photos: distance, breed fidelity, variety, copying.

    Args:
        dataset: Manifest of the dataset to work on.
        samples: Manifest of the samples to work on.
        result: Manifest of what the step made.
        metrics: Counters of the step.
        data_root: Where shards and manifests lie.
        code_version: Code the pipeline was compiled for; the step refuses to run as another.
        extractor: Feature extractor; Frechet distance on inception-2015 is FID.
        extractor_weights: Path of the extractor's weights, or a model reference such as `demo`.
        confusable_pairs: Pairs of breeds judged apart, such as golden_retriever|labrador_retriever.
        kid_subsets: Random subsets that KID is averaged over.
        floor_splits: Random halves of the real pictures for the split-half floor.
        classifier_epochs: Epochs of the breed classifier.
        seed: Seed of the classifier and of random subsets.
    """
    from components.data.task import run_component

    run_component("evaluation", locals())

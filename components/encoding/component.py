"""KFP component of the encoding step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="dogflow-train", install_kfp_package=False, packages_to_install=[])
def encoding(
    dataset: dsl.Input[dsl.Dataset],
    result: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    size_px: int = 1024,
    text_model: str = "ViT-L-14/openai",
    autoencoder: str = "",
    device: str = "auto",
    workers: int = 0,
):
    """Make the training set of the kept rows: pictures of one size, and text states.

    Args:
        dataset: Manifest of the dataset to work on.
        result: Manifest of what the step made.
        metrics: Counters of the step.
        data_root: Where shards and manifests lie.
        code_version: Code the pipeline was compiled for; the step refuses to run as another.
        size_px: Side of the square training picture.
        text_model: Open_clip model whose text tower encodes captions and prompts.
        autoencoder: Folder of a diffusers autoencoder whose latents are trained on (empty: the pixels themselves).
        device: Auto, cpu, cuda or mps.
        workers: Threads (0: one per core).
    """
    from components.data.task import run_component

    run_component("encoding", locals())

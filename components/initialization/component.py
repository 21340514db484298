"""KFP component of the initialization step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="dogflow-train", install_kfp_package=False, packages_to_install=[])
def initialization(
    dataset: dsl.Input[dsl.Dataset],
    result: dsl.Output[dsl.Model],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    preset: str = "demo",
    breed_modules: list = ["time"],
    channel_attention: bool = False,
    projection: int = 0,
    text_model: str = "ViT-L-14/openai",
    unet: str = "",
    seed: int = 0,
):
    """Make the untrained model that the first training stage starts from.

    Args:
        dataset: Manifest of the dataset to work on.
        result: Manifest of what the step made.
        metrics: Counters of the step.
        data_root: Where shards and manifests lie.
        code_version: Code the pipeline was compiled for; the step refuses to run as another.
        preset: Network preset.
        breed_modules: What tells the network the breed: time, gate (in every cross-attention), conv_in.
        channel_attention: Gate on the channels after the U-Net's widest level.
        projection: Width of the features for the contrastive loss (0: none).
        text_model: Open_clip model whose upper text layers are trained; as in encoding.
        unet: Folder of a diffusers U-Net to start from, such as Stable Diffusion 1.5's (empty: fresh weights).
        seed: Seed of the fresh weights.
    """
    from components.data.task import run_component

    run_component("initialization", locals())

"""KFP component of the quality step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="dogflow-curate", install_kfp_package=False, packages_to_install=[])
def quality(
    dataset: dsl.Input[dsl.Dataset],
    result: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    partition: int = -1,
    partitions: int = 1,
    fixed_side_px: int = 512,
    reference: str = "",
    workers: int = 0,
):
    """Measure sharpness, colour shift and the perceptual hash of every picture.

    Args:
        dataset: Manifest of the dataset to work on.
        result: Manifest of what the step made.
        metrics: Counters of the step.
        data_root: Where shards and manifests lie.
        code_version: Code the pipeline was compiled for; the step refuses to run as another.
        partition: Share of the shards to work on, or -1 for all.
        partitions: Number of shares.
        fixed_side_px: Long side at which laplacian_variance_fixed is measured.
        reference: Picture whose a*b* histogram color_shift is measured to; '' is the grey screen.
        workers: Threads (0: one per core).
    """
    from components.data.task import run_component

    run_component("quality", locals())

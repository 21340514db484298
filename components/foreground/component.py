"""KFP component of the foreground step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="dogflow-curate", install_kfp_package=False, packages_to_install=[])
def foreground(
    dataset: dsl.Input[dsl.Dataset],
    result: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    partition: int = -1,
    partitions: int = 1,
    model: str = "vit_b",
    dtype: str = "auto",
    strategy: str = "box",
    box_margin: float = 0.05,
    points_per_side: int = 16,
    crop_ratio: float = 0.0,
    crop_aspect: float = 1.0,
    crop_min_side_px: int = 0,
    scope_min_side_px: int = 0,
    scope_laplacian_variance: float = 0.0,
    scope_color_shift: float = 1.0,
    scope_clip_similarity: float = -1.0,
    device: str = "auto",
    batch_size: int = 4,
    workers: int = 0,
):
    """Find the subject of every picture with SAM: how much it covers, where it is, how sharp, on what.

    Args:
        dataset: Manifest of the dataset to work on.
        result: Manifest of what the step made.
        metrics: Counters of the step.
        data_root: Where shards and manifests lie.
        code_version: Code the pipeline was compiled for; the step refuses to run as another.
        partition: Share of the shards to work on, or -1 for all.
        partitions: Number of shares.
        model: Vit_b, vit_l or vit_h of segment-anything, a local folder, or `demo`.
        dtype: Arithmetic; auto is bf16 where the hardware has it.
        strategy: What SAM is asked: a centred box, the centre point, or a grid of points.
        box_margin: Share of each side that the centred box leaves free.
        points_per_side: Grid of the automatic strategy.
        crop_ratio: Crop to the subject so that it covers this share (0: no crop).
        crop_aspect: Width / height of the crop (0: the subject's own).
        crop_min_side_px: Shorter side of a crop, at least, where the picture allows.
        scope_min_side_px: Score pictures with this shorter side, at least (0: all).
        scope_laplacian_variance: Score pictures this sharp, at least (0: all).
        scope_color_shift: Score pictures this near to grey, at most (1: all).
        scope_clip_similarity: Score pictures whose caption fits, at least (-1: all).
        device: Auto, cpu, cuda or mps.
        batch_size: Pictures that go through the encoder together.
        workers: Threads that decode (0: one per core).
    """
    from components.data.task import run_component

    run_component("foreground", locals())

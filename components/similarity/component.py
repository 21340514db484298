"""KFP component of the similarity step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="dogflow-curate", install_kfp_package=False, packages_to_install=[])
def similarity(
    dataset: dsl.Input[dsl.Dataset],
    result: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    partition: int = -1,
    partitions: int = 1,
    model: str = "ViT-L-14/openai",
    dtype: str = "auto",
    breeds: list = [],
    breeds_csv: str = "",
    scope_min_side_px: int = 0,
    scope_laplacian_variance: float = 0.0,
    scope_color_shift: float = 1.0,
    device: str = "auto",
    batch_size: int = 32,
    workers: int = 0,
):
    """Score how well captions fit their pictures, and how sure CLIP is of the labelled breed.

    Args:
        dataset: Manifest of the dataset to work on.
        result: Manifest of what the step made.
        metrics: Counters of the step.
        data_root: Where shards and manifests lie.
        code_version: Code the pipeline was compiled for; the step refuses to run as another.
        partition: Share of the shards to work on, or -1 for all.
        partitions: Number of shares.
        model: Open_clip model/tag, a local folder, or `demo`.
        dtype: Arithmetic; auto is bf16 where the hardware has it.
        breeds: Breeds that breed_confidence compares; [] takes the 120 of Stanford Dogs.
        breeds_csv: CSV of breeds to add to the table.
        scope_min_side_px: Score pictures with this shorter side, at least (0: all).
        scope_laplacian_variance: Score pictures this sharp, at least (0: all).
        scope_color_shift: Score pictures this near to grey, at most (1: all).
        device: Auto, cpu, cuda or mps.
        batch_size: Pictures at a time.
        workers: Threads that decode (0: one per core).
    """
    from components.data.task import run_component

    run_component("similarity", locals())

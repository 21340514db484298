"""KFP component of the report step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="dogflow-curate", install_kfp_package=False, packages_to_install=[])
def report(
    dataset: dsl.Input[dsl.Dataset],
    results: dsl.Input[dsl.Artifact],
    result: dsl.Output[dsl.HTML],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    title: str = "",
    photos_per_side: int = 6,
    thumbnail_px: int = 220,
    photo_budget_mb: float = 3.0,
    workers: int = 0,
):
    """Write the report: one HTML page of what was kept and why, and of how good the model is.

    Args:
        dataset: Manifest of the dataset to work on.
        results: Manifest of the results to work on.
        result: The page itself, as KFP shows it.
        metrics: Counters of the step.
        data_root: Where shards and manifests lie.
        code_version: Code the pipeline was compiled for; the step refuses to run as another.
        title: Title of the page; '' names the dataset.
        photos_per_side: Photos on either side of each threshold.
        thumbnail_px: Long side of the photos, in pixels.
        photo_budget_mb: Megabytes of photos the page may hold; the rest is left out.
        workers: Threads (0: one per core).
    """
    from components.data.task import run_component

    run_component("report", locals())

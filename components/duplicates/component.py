"""KFP component of the duplicates step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="dogflow-curate", install_kfp_package=False, packages_to_install=[])
def duplicates(
    dataset: dsl.Input[dsl.Dataset],
    result: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    near_distance: int = 6,
    val_fraction: float = 0.05,
    test_fraction: float = 0.1,
):
    """Find exact and near duplicates over the whole set, and split it so that no group is torn apart.

    Args:
        dataset: Manifest of the dataset to work on.
        result: Manifest of what the step made.
        metrics: Counters of the step.
        data_root: Where shards and manifests lie.
        code_version: Code the pipeline was compiled for; the step refuses to run as another.
        near_distance: Bits of the 64-bit phash that near duplicates may differ in (-1: off).
        val_fraction: Share of groups in the validation split.
        test_fraction: Share of groups in the test split.
    """
    from components.data.task import run_component

    run_component("duplicates", locals())

"""KFP component of the opening step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="dogflow-curate", install_kfp_package=False, packages_to_install=[])
def opening(
    result: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    manifest: str = "",
):
    """Go on from a dataset that an earlier run made.

    Args:
        result: Manifest of what the step made.
        metrics: Counters of the step.
        data_root: Where shards and manifests lie.
        code_version: Code the pipeline was compiled for; the step refuses to run as another.
        manifest: Path of its manifest under the data root, as the run that made it printed.
    """
    from components.data.task import run_component

    run_component("opening", locals())

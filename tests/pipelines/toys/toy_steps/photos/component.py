from kfp import dsl


@dsl.component(base_image="dogflow-curate", install_kfp_package=False, packages_to_install=[])
def photos(
    result: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    rows: int = 3,
    words: list = ["sit", "stay"],  # noqa: B006
    weights: dict = {},  # noqa: B006
    note: str = "",
):
    """Make rows out of nothing.

    Args:
        rows: How many.
    """
    from toy_steps.running import run_toy

    run_toy("photos", locals())

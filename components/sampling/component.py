"""KFP component of the sampling step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="dogflow-train", install_kfp_package=False, packages_to_install=[])
def sampling(
    dataset: dsl.Input[dsl.Dataset],
    model: dsl.Input[dsl.Model],
    result: dsl.Output[dsl.Artifact],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    per_breed: int = 16,
    steps: int = 16,
    solver: str = "euler",
    guidance: float = 2.0,
    shift: float = 1.0,
    seed: int = 0,
    precision: str = "fp32",
    batch: int = 64,
    device: str = "auto",
):
    """Draw pictures of every breed with fixed prompts and seeds.

    Args:
        dataset: Manifest of the dataset to work on.
        model: Manifest of the model to work on.
        result: Manifest of what the step made.
        metrics: Counters of the step.
        data_root: Where shards and manifests lie.
        code_version: Code the pipeline was compiled for; the step refuses to run as another.
        per_breed: Pictures a breed.
        steps: Solver steps.
        solver: ODE solver; heun evaluates the network twice a step.
        guidance: Weight of classifier-free guidance (1: none).
        shift: Shift of the time grid (1: none).
        seed: First seed; every picture has its own.
        precision: Arithmetic.
        batch: Pictures at a time.
        device: Auto, cpu, cuda or mps.
    """
    from components.data.task import run_component

    run_component("sampling", locals())

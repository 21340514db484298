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
    tolerance: float = 1e-05,
    guidance: float = 2.0,
    guidance_start: float = 0.0,
    guidance_end: float = 1.0,
    shift: float = 1.0,
    shift_rule: str = "static",
    seed: int = 0,
    precision: str = "fp32",
    autoencoder: str = "",
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
        solver: ODE solver; a step takes 1, 2, 2 and 4 evaluations, dopri5 as many as its tolerance asks for.
        tolerance: Relative and absolute error of dopri5.
        guidance: Weight of classifier-free guidance (1: none).
        guidance_start: Time from which guidance acts (0 noise, 1 picture).
        guidance_end: Time until which guidance acts (0 noise, 1 picture).
        shift: Shift of the time grid towards noise (1: none).
        shift_rule: Whether the shift is multiplied by one that grows with the picture.
        seed: First seed; every picture has its own.
        precision: Arithmetic.
        autoencoder: Folder of the autoencoder the model was trained with (empty: the one encoding was given).
        batch: Pictures at a time.
        device: Auto, cpu, cuda or mps.
    """
    from components.data.task import run_component

    run_component("sampling", locals())

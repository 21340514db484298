"""KFP component of the training step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="dogflow-train", install_kfp_package=False, packages_to_install=[])
def training(
    dataset: dsl.Input[dsl.Dataset],
    model: dsl.Input[dsl.Model],
    result: dsl.Output[dsl.Model],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    stage: int = 0,
    steps: int = 6000,
    batch: int = 32,
    micro_batch: int = 32,
    learning_rate: float = 5e-06,
    final_lr_share: float = 1.0,
    warmup: int = 500,
    weight_decay: float = 0.01,
    beta2: float = 0.999,
    clip: float = 0.5,
    ema_decay: float = 0.999,
    path: str = "linear",
    huber_delta: float = 0.0,
    density: str = "logit_normal",
    density_mean: float = 0.0,
    density_std: float = 1.0,
    shift: float = 1.0,
    shift_rule: str = "static",
    drop_both: float = 0.1,
    drop_caption: float = 0.05,
    drop_breed: float = 0.05,
    curriculum: bool = True,
    contrastive: float = 0.0,
    contrastive_breeds: int = 2,
    contrastive_rows: int = 2,
    contrastive_temperature: float = 0.1,
    flips: bool = True,
    precision: str = "fp32",
    seed: int = 0,
    max_bad_steps: int = 20,
    log_every: int = 20,
    validate_every: int = 500,
    checkpoint_every: int = 100,
    device: str = "auto",
):
    """Train one stage of the flow-matching model, from where the previous one ended.

    Args:
        dataset: Manifest of the dataset to work on.
        model: Manifest of the model to work on.
        result: Manifest of what the step made.
        metrics: Counters of the step.
        data_root: Where shards and manifests lie.
        code_version: Code the pipeline was compiled for; the step refuses to run as another.
        stage: 0 general, 1 breed-aware, 2 curriculum.
        steps: Optimizer steps.
        batch: Rows per optimizer step.
        micro_batch: Rows at a time; limits memory, changes nothing else.
        learning_rate: Learning rate of the network.
        final_lr_share: Share of the learning rate left at the last step.
        warmup: Optimizer steps until the full learning rate.
        weight_decay: AdamW weight decay.
        beta2: AdamW's decay of squared gradients; lower for short runs.
        clip: Gradient norm is clipped to this (0: not).
        ema_decay: Decay of the averaged weights.
        path: Path between noise and picture.
        huber_delta: Errors beyond it count linearly (0: all squared).
        density: How often each noise level is trained.
        density_mean: Mean of the logit-normal density.
        density_std: Standard deviation of the logit-normal density.
        shift: Shift of the density towards noise (1: none).
        shift_rule: Whether the shift is multiplied by one that grows with the picture.
        drop_both: Share of rows without text and breed, for guidance.
        drop_caption: Share of rows without text.
        drop_breed: Share of rows without breed.
        curriculum: Stage 2 starts with reviewed pictures alone (no: all its tiers at once).
        contrastive: Weight of the breed-contrastive loss (0: none; it needs initialization.projection).
        contrastive_breeds: Breeds in a batch's rows for the contrastive loss.
        contrastive_rows: Rows of each of these breeds.
        contrastive_temperature: Temperature of the contrastive loss.
        flips: Mirror half of the pictures.
        precision: Arithmetic; weights and averages stay fp32.
        seed: Seed of order, noise and dropout.
        max_bad_steps: Steps in a row that may be skipped as not finite.
        log_every: Steps between log records.
        validate_every: Steps between losses on held-out rows (0: only after the last).
        checkpoint_every: Steps between checkpoints.
        device: Auto, cpu, cuda or mps.
    """
    from components.data.task import run_component

    run_component("training", locals())

"""Options of the training step."""

from typing import Literal

from components.data.options import StepOptions, option


class TrainingOptions(StepOptions):
    """One stage of training."""

    stage: int = option(0, "0 general, 1 breed-aware, 2 curriculum", ge=0, le=2)
    steps: int = option(6000, "optimizer steps", ge=1)
    batch: int = option(32, "rows per optimizer step", ge=1)
    micro_batch: int = option(32, "rows at a time; limits memory, changes nothing else", identity=False, ge=1)
    learning_rate: float = option(5e-6, "learning rate of the network", gt=0)
    final_lr_share: float = option(1.0, "share of the learning rate left at the last step", ge=0, le=1)
    warmup: int = option(500, "optimizer steps until the full learning rate", ge=0)
    weight_decay: float = option(0.01, "AdamW weight decay", ge=0)
    beta2: float = option(0.999, "AdamW's decay of squared gradients; lower for short runs", gt=0, lt=1)
    clip: float = option(0.5, "gradient norm is clipped to this (0: not)", ge=0)
    ema_decay: float = option(0.999, "decay of the averaged weights", ge=0, lt=1)
    path: Literal["linear", "cosine", "squared_cosine"] = option("linear", "path between noise and picture")
    huber_delta: float = option(0.0, "errors beyond it count linearly (0: all squared)", ge=0)
    density: Literal["uniform", "logit_normal", "mode", "truncated_normal"] = option(
        "logit_normal", "how often each noise level is trained"
    )
    density_mean: float = option(0.0, "mean of the logit-normal density")
    density_std: float = option(1.0, "standard deviation of the logit-normal density", gt=0)
    shift: float = option(1.0, "shift of the density towards noise (1: none)", gt=0)
    shift_rule: Literal["static", "flux", "qwen_image"] = option(
        "static", "whether the shift is multiplied by one that grows with the picture"
    )
    drop_both: float = option(0.1, "share of rows without text and breed, for guidance", ge=0, le=1)
    drop_caption: float = option(0.05, "share of rows without text", ge=0, le=1)
    drop_breed: float = option(0.05, "share of rows without breed", ge=0, le=1)
    curriculum: bool = option(True, "stage 2 starts with reviewed pictures alone (no: all its tiers at once)")
    contrastive: float = option(
        0.0, "weight of the breed-contrastive loss (0: none; it needs initialization.projection)", ge=0
    )
    contrastive_breeds: int = option(2, "breeds in a batch's rows for the contrastive loss", ge=2)
    contrastive_rows: int = option(2, "rows of each of these breeds", ge=2)
    contrastive_temperature: float = option(0.1, "temperature of the contrastive loss", gt=0)
    flips: bool = option(True, "mirror half of the pictures")
    precision: Literal["fp32", "bf16"] = option("fp32", "arithmetic; weights and averages stay fp32")
    seed: int = option(0, "seed of order, noise and dropout", ge=0)
    max_bad_steps: int = option(20, "steps in a row that may be skipped as not finite", identity=False, ge=0)
    log_every: int = option(20, "steps between log records", identity=False, ge=1)
    validate_every: int = option(
        500, "steps between losses on held-out rows (0: only after the last)", identity=False, ge=0
    )
    checkpoint_every: int = option(100, "steps between checkpoints", identity=False, ge=1)
    device: str = option("auto", "auto, cpu, cuda or mps", identity=False)


OPTIONS = TrainingOptions

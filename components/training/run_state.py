"""What the loop takes, reports, returns, and must remember."""

from __future__ import annotations

from dataclasses import dataclass, field

from components.model.timesteps import Density
from components.training.batches import Position
from components.training.draws import Dropout
from components.training.pairs import PairsPlan


@dataclass(frozen=True)
class LoopOptions:
    """One stage of training. `batch` is rows per optimizer step; `micro_batch` only limits memory.

    precision: "fp32" or "bf16" (autocast; weights, optimizer and EMA stay float32). final_lr_share: what is
    left of the learning rate at the last step. beta2: AdamW's decay of squared gradients. clip: gradient
    norm, 0 for none. validate_every: steps, 0 for only after the last. max_bad_steps: how many steps in a
    row may be skipped as not finite before the run stops. contrastive: weight of the breed-contrastive loss,
    at `temperature`, on the rows of `pairs`; with it these are the rows without text and breed.
    """

    steps: int = 300
    batch: int = 32
    micro_batch: int = 32
    learning_rate: float = 1e-3
    final_lr_share: float = 1.0
    warmup: int = 20
    weight_decay: float = 0.01
    beta2: float = 0.999
    clip: float = 0.5
    ema_decay: float = 0.999
    flips: bool = True
    path: str = "linear"
    huber_delta: float = 0.0
    contrastive: float = 0.0
    temperature: float = 0.1
    pairs: PairsPlan = field(default_factory=PairsPlan)
    density: Density = field(default_factory=Density)
    dropout: Dropout = field(default_factory=Dropout)
    precision: str = "fp32"
    channels_last: bool = True
    seed: int = 0
    max_bad_steps: int = 20
    log_every: int = 20
    validate_every: int = 500
    checkpoint_every: int = 100


@dataclass(frozen=True)
class StepReport:
    """After each step. loss: mean over the batch (NaN in a skipped step); images_per_s: since (re)start."""

    step: int
    steps: int
    epoch: int
    loss: float
    gradient_norm: float
    learning_rate: float
    images_per_s: float
    skipped: bool


@dataclass(frozen=True)
class TrainingResult:
    """loss: mean of the last log window. validation_loss: of the averaged weights after the last step, NaN
    without held-out rows. complete: False when `stop` ended the run early (it resumes)."""

    steps: int
    epochs: int
    loss: float
    validation_loss: float
    skipped_steps: int
    images_per_s: float
    seconds: float
    complete: bool


@dataclass
class Progress:
    """What a checkpoint must hold beside weights, averages and optimizer."""

    step: int = 0  # batches consumed
    updates: int = 0  # optimizer steps taken: step minus skipped ones
    position: Position = field(default_factory=Position)
    skipped: int = 0
    bad_in_a_row: int = 0
    loss: float = float("nan")  # mean of the last closed log window
    window_loss: float = 0.0
    window_contrastive: float = 0.0
    window_steps: int = 0

"""The training loop: one for all stages, resumable to the bit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from components.data.checkpoints import Checkpoints
from components.data.killpoints import killpoint
from components.model.checkpoint import (
    load_weights,
    state_from_bytes,
    state_to_bytes,
    tensors_from_bytes,
    tensors_to_bytes,
)
from components.model.contrastive import contrastive_loss
from components.model.cores import Cores
from components.model.device import precision
from components.model.ema import Ema
from components.model.flow_model import FlowModel
from components.model.objective import LossByTime, analytic_floor, velocity_loss
from components.model.paths import PATHS, interpolate
from components.training.batches import Batch, Order, Position, Rows, prefetched
from components.training.draws import Draws, draw, step_generator, with_pairs, without_text
from components.training.gradient_norms import WINDOW, GradientNorms
from components.training.logbook import Logbook
from components.training.optimizer import learning_rate, parameter_groups, set_learning_rate
from components.training.pairs import Pairs
from components.training.run_state import LoopOptions, Progress, StepReport, TrainingResult
from components.training.stages import Stage
from components.training.throughput import Usage
from components.training.validation import Validation

LOG = "training.jsonl"
_SEEN_FROM = 0.5


class NonFiniteError(RuntimeError):
    """Loss or gradients were NaN or infinite for too many steps in a row."""


class ResumeError(ValueError):
    """A checkpoint that belongs to other data."""


class Trainer:
    """Trains `model` in place through one stage; `ema` holds the averaged weights.

    All state that `run` advances is in the checkpoint. A new Trainer over the same rows, options and
    checkpoints continues where the newest good checkpoint stands, and ends with the same bits.
    """

    def __init__(
        self,
        model: FlowModel,
        rows: Rows,
        stage: Stage,
        options: LoopOptions,
        checkpoints: Checkpoints | None = None,
        validation: Validation | None = None,
    ) -> None:
        self.model, self.rows, self.stage, self.options = model, rows, stage, options
        self.checkpoints, self.validation = checkpoints, validation
        self.device = next(model.parameters()).device
        self.cores = Cores(self.device)
        if options.channels_last:
            model.to(memory_format=torch.channels_last)
        self.pairs = self._pairs(rows)
        self.order = Order(rows.tiers, stage, options.batch, options.seed, self.pairs)
        groups = parameter_groups(model, stage, options.weight_decay)
        # One kernel for all weights: a fifth of a small network's step went into the loop over them.
        betas = (0.9, options.beta2)
        self.optimizer = torch.optim.AdamW(groups, lr=options.learning_rate, betas=betas, fused=True)
        self.ema = Ema(model, options.ema_decay)
        self.bins = LossByTime()
        self.norms = GradientNorms()
        self._warned_at = -WINDOW
        self.progress = Progress()
        self.log = b""  # what the restored checkpoint holds of the run's log
        self.moments = torch.zeros(3, dtype=torch.float64)  # samples seen: number, sum, sum of squares
        self._restore()

    # -- the run ---------------------------------------------------------------------------------------------

    def run(
        self,
        logbook: Logbook | None = None,
        on_step: Callable[[StepReport], None] | None = None,
        stop: Callable[[], bool] = lambda: False,
        usage: Usage | None = None,
    ) -> TrainingResult:
        """Train to `options.steps`. `stop` is asked after each step; True saves and returns early.

        `usage` adds to the log how well the device is used.
        """
        options, progress = self.options, self.progress
        self.model.train()
        start, images, saved = time.monotonic(), 0, progress.step
        remaining = max(options.steps - progress.step, 0)
        for batch, position in prefetched(self.rows, self.order, progress.position, remaining):
            loss, norm, rate, skipped = self._step(batch)
            progress.position = position
            images += len(batch.breed)
            speed = images / max(time.monotonic() - start, 1e-9)
            report = StepReport(
                progress.step, options.steps, position.epoch, loss, norm, rate, speed, skipped
            )
            if on_step:
                on_step(report)
            last = progress.step == options.steps
            if not last and options.validate_every and progress.step % options.validate_every == 0:
                self._validate(logbook)
            if progress.step % options.log_every == 0 or last:
                self._log(logbook, report, usage)
            stopping = not last and stop()
            if progress.step % options.checkpoint_every == 0 or last or stopping:
                self.save(logbook)
                saved = progress.step
            killpoint("training.step")
            if stopping:
                break
        assert saved == progress.step
        complete = progress.step >= options.steps
        # Also when a killed run had done its last step: it then ends as an unbroken one.
        validation_loss = self._validate(logbook) if complete else float("nan")
        return TrainingResult(
            steps=progress.step,
            epochs=progress.position.epoch,
            loss=progress.loss,
            validation_loss=validation_loss,
            skipped_steps=progress.skipped,
            images_per_s=images / max(time.monotonic() - start, 1e-9),
            seconds=time.monotonic() - start,
            complete=complete,
        )

    def _step(self, batch: Batch) -> tuple[float, float, float, bool]:
        """One optimizer step on one batch: (loss, gradient norm, learning rate, skipped)."""
        options, progress = self.options, self.progress
        rate = learning_rate(
            progress.updates + 1, options.learning_rate, options.warmup, options.steps, options.final_lr_share
        )
        set_learning_rate(self.optimizer, rate)
        self.optimizer.zero_grad(set_to_none=True)
        loss, apart = self._backward(batch)
        limit = options.clip if options.clip > 0 else float("inf")
        norm = float(nn.utils.clip_grad_norm_(self._trained(), limit))
        self.norms.add(norm)
        progress.step += 1
        finite = all(map(_is_finite, (loss, norm)))
        if finite:
            self.optimizer.step()
            self.ema.update(self.model)
            progress.updates += 1
            progress.bad_in_a_row = 0
            progress.window_loss += loss
            progress.window_contrastive += apart
            progress.window_steps += 1
        else:
            self._count_bad(loss, norm)
        return loss, norm, rate, not finite

    def _backward(self, batch: Batch) -> tuple[float, float]:
        """Gradients of the batch's mean loss, one micro-batch after the other; (that loss, contrastive loss).

        Each micro-batch's losses are summed and divided by the rows of the whole batch, so every split gives
        the same gradients, and so does a short last batch. They are added in order, so that which core was
        faster changes no bit.
        """
        options = self.options
        rows = len(batch.breed)
        samples = batch.samples
        generator = step_generator(options.seed, self.stage.number, self.progress.step + 1)
        pairs, dropout = len(self.pairs or ()), options.dropout
        if pairs:
            dropout = replace(dropout, both=0.0)  # the pairs are that share
        draws = draw(generator, tuple(samples.shape), options.density, dropout, options.flips)
        draws = with_pairs(draws, pairs)
        mirrored = samples.flip(3) if batch.mirrored is None else batch.mirrored
        samples = torch.where(draws.flip[:, None, None, None], mirrored, samples)
        flat = samples.double()
        self.moments += torch.stack([torch.tensor(flat.numel()).double(), flat.sum(), flat.square().sum()])
        hidden, mask = without_text(batch.hidden, batch.mask, draws.drop_text, self.rows.null_text)
        breed = batch.breed if self.stage.breeds else torch.full_like(batch.breed, self.model.null_breed)
        breed = torch.where(draws.drop_breed, self.model.null_breed, breed)
        trained = self._trained()

        def gradients(part: slice) -> tuple[Tensor, float, tuple[Tensor | None, ...]]:
            of_pairs = batch.breed[part] if pairs and part.start >= rows - pairs else None
            losses, apart = self._losses(
                samples[part], hidden[part], mask[part], breed[part], draws, part, of_pairs
            )
            loss = losses.sum() / rows + options.contrastive * apart
            return (
                losses.detach(),
                float(apart.detach()),
                torch.autograd.grad(loss, trained, allow_unused=True),
            )

        # The pairs stay together: their loss is about all of them.
        parts = self.cores.parts(rows - pairs, options.micro_batch)
        parts += [slice(rows - pairs, rows)] if pairs else []
        total = contrastive = 0.0
        for part, (losses, apart, found) in zip(parts, self.cores.map(gradients, parts), strict=True):
            contrastive += apart
            for parameter, gradient in zip(trained, found, strict=True):
                if gradient is not None:
                    parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)
            self.bins.add(draws.t[part], losses)
            total += float(losses.sum())
        return total / rows, contrastive

    def _losses(
        self,
        samples: Tensor,
        hidden: Tensor,
        mask: Tensor,
        breed: Tensor,
        draws: Draws,
        part: slice,
        of_pairs: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """Velocity losses (b,) of one micro-batch, and its contrastive loss: 0 unless these are the pairs.

        of_pairs: the breeds (b,) of the pairs, which the network is not told.
        """
        options, device = self.options, self.device
        t = draws.t[part].to(device)
        x_t, v = interpolate(PATHS[options.path], samples.to(device), draws.noise[part].to(device), t)
        apart = torch.zeros((), device=device)
        if of_pairs is None:
            answer = self._velocity(x_t, t, hidden, mask, breed)
        else:
            answer, features = self._answer(self.model.with_features, x_t, t, hidden, mask, breed)
            # More noise than picture shows no breed.
            seen = t >= _SEEN_FROM
            apart = contrastive_loss(features[seen], of_pairs.to(device)[seen], options.temperature)
        return velocity_loss(answer, v, huber_delta=options.huber_delta), apart

    def _velocity(self, x_t: Tensor, t: Tensor, hidden: Tensor, mask: Tensor, breed: Tensor) -> Tensor:
        return self._answer(self.model, x_t, t, hidden, mask, breed)

    def _answer(self, network: Callable[..., Any], x_t: Tensor, *condition: Tensor) -> Any:
        """What the network says, in the arithmetic of the run."""
        options, device = self.options, self.device
        x_t = x_t.to(device)
        if options.channels_last:
            x_t = x_t.contiguous(memory_format=torch.channels_last)
        with precision(device, torch.bfloat16 if options.precision == "bf16" else torch.float32):
            return network(x_t, *(tensor.to(device) for tensor in condition))

    def _validate(self, logbook: Logbook | None) -> float:
        """Mean loss of the averaged weights on the held-out rows; NaN when there are none."""
        if self.validation is None:
            return float("nan")
        breed = None
        if not self.stage.breeds:
            breed = torch.full((len(self.validation),), self.model.null_breed)
        with self.ema.applied(self.model):
            self.model.eval()
            losses = self.validation.losses(
                self._velocity, self.options.path, breed, self.cores, self.options.micro_batch
            )
            self.model.train()
        mean = sum(losses) / len(losses)
        if logbook:
            logbook.add({"step": self.progress.step, "validation_loss": mean, "validation_loss_by_t": losses})
        return mean

    def _pairs(self, rows: Rows) -> Pairs | None:
        """Where the contrastive loss gets its rows; None without that loss, or in a stage without breeds."""
        options = self.options
        if not options.contrastive or not self.stage.breeds:
            return None
        if self.model.network.projection is None:
            raise ValueError(
                f"training.contrastive={options.contrastive:g} needs a network with a projection; set "
                "initialization.projection (64, for instance), or training.contrastive=0"
            )
        return Pairs(options.pairs, rows.breed, self.model.null_breed)

    def _trained(self) -> list[nn.Parameter]:
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def _count_bad(self, loss: float, norm: float) -> None:
        progress = self.progress
        progress.skipped += 1
        progress.bad_in_a_row += 1
        if progress.bad_in_a_row > self.options.max_bad_steps:
            raise NonFiniteError(
                f"loss {loss} and gradient norm {norm} at step {progress.step}: {progress.bad_in_a_row} "
                "steps in a row were not finite. Lower the learning rate, or use precision fp32; the last "
                "checkpoint is good"
            )

    def _log(self, logbook: Logbook | None, report: StepReport, usage: Usage | None) -> None:
        """Close the log window: mean loss, curves over t."""
        progress = self.progress
        taken = progress.window_steps
        mean = progress.window_loss / taken if taken else float("nan")
        apart = {"contrastive_loss": progress.window_contrastive / taken} if self.pairs and taken else {}
        if logbook:
            centres = (torch.arange(self.bins.bins) + 0.5) / self.bins.bins
            number, total, squares = self.moments.tolist()
            std = max(squares / number - (total / number) ** 2, 0.0) ** 0.5
            logbook.add(
                {
                    "step": report.step,
                    "epoch": report.epoch,
                    "loss": mean,
                    **apart,
                    "gradient_norm": report.gradient_norm,
                    "learning_rate": report.learning_rate,
                    "images_per_s": round(report.images_per_s, 2),
                    "skipped_steps": progress.skipped,
                    "loss_by_t": self.bins.means(),
                    # What independent Gaussian samples of the data's spread would leave; see objective.py.
                    **self._floor(centres, std),
                    **(usage.logged(report.images_per_s) if usage else {}),
                    **self._norms_logged(report.step),
                },
                histograms={"gradient_norm": list(self.norms.values)},
            )
        self.bins.clear()
        progress.loss, progress.window_loss, progress.window_steps = mean, 0.0, 0
        progress.window_contrastive = 0.0

    def _floor(self, centres: Tensor, std: float) -> dict[str, list[float]]:
        """The floor beside the loss by t; nothing when errors are not squared, for then it is another one."""
        if self.options.huber_delta > 0:
            return {}
        return {"gaussian_floor_by_t": analytic_floor(centres, std, PATHS[self.options.path]).tolist()}

    def _norms_logged(self, step: int) -> dict[str, float]:
        """The share of gradient norms in the higher one of two groups, with a warning; {} for one group."""
        split = self.norms.split()
        if split is None:
            return {}
        if step - self._warned_at >= WINDOW:
            self._warned_at = step
            print(f"warning: step {step}: {split}", flush=True)
        return {"gradient_norm_high_share": split.share}

    # -- checkpoints -----------------------------------------------------------------------------------------

    def save(self, logbook: Logbook | None = None) -> None:
        """Store everything `run` advances, and the log so far, if there are checkpoints to store it in."""
        if self.checkpoints is None:
            return
        progress = self.progress
        state = {
            "optimizer": self.optimizer.state_dict(),
            "ema_updates": self.ema.updates,
            "progress": {**vars(progress), "position": [progress.position.epoch, progress.position.offset]},
            "bins": self.bins.state_dict(),
            "moments": self.moments,
        }
        files = {
            "network.safetensors": tensors_to_bytes(self.model.state_dict()),
            "ema.safetensors": tensors_to_bytes(self.ema.shadow),
            "state.pt": state_to_bytes(state),
        }
        if logbook:
            files[LOG] = logbook.path.read_bytes()
        self.checkpoints.save(progress.step, files, self._about())

    def _about(self) -> dict[str, Any]:
        """What must agree for a checkpoint to be continued; the rest is the caller's choice of prefix."""
        return {"stage": self.stage.number, "rows": len(self.rows), "seed": self.options.seed}

    def _restore(self) -> None:
        checkpoint = self.checkpoints.newest() if self.checkpoints else None
        if checkpoint is None:
            return
        if checkpoint.about != self._about():
            raise ResumeError(
                f"the checkpoint of step {checkpoint.step} is of {checkpoint.about}, this run is "
                f"{self._about()}. Use another checkpoint folder, or delete that one"
            )
        files = checkpoint.files
        load_weights(self.model, tensors_from_bytes(files["network.safetensors"]), "network.safetensors")
        state = state_from_bytes(files["state.pt"])
        self.optimizer.load_state_dict(state["optimizer"])
        shadow = tensors_from_bytes(files["ema.safetensors"])
        self.ema.load_state_dict({"updates": state["ema_updates"], "shadow": shadow})
        self.bins.load_state_dict(state["bins"])
        self.moments = state["moments"]
        self.log = files.get(LOG, b"")
        self.progress = Progress(
            **{**state["progress"], "position": Position(*state["progress"]["position"])}
        )


def _is_finite(value: float) -> bool:
    return value - value == 0

"""Trains the demo's tiny SAM: a real segment_anything model on synthetic dogs, in half an hour on two cores.

Loss of a mask: binary cross-entropy + dice on the decoder's own grid against the dog's coverage there; of the
IoU head: squared error against the IoU that the mask reaches. All four mask tokens learn the same target, for
a drawn dog has no nested parts to choose from. `python -m pipelines.demo.train_sam --out DIR`.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from segment_anything.modeling import Sam
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from components.model.cores import Cores
from components.model.sam import build_sam, save_sam
from pipelines.demo.sam_batches import PROMPTS, Pool, Prompted, pictures, prompts, render_pool

CONFIG: dict[str, Any] = {
    "image_size": 128,
    "patch_size": 8,
    "encoder_embed_dim": 96,
    "encoder_depth": 4,
    "encoder_num_heads": 3,
    "encoder_global_attn_indexes": [1, 3],
    "window_size": 8,
    "prompt_embed_dim": 64,
    "decoder_depth": 2,
    "decoder_num_heads": 4,
    "decoder_mlp_dim": 128,
    "iou_head_depth": 2,
    "iou_head_hidden_dim": 64,
    "mask_in_chans": 8,
    "pixel_mean": [153.0, 143.0, 133.0],
    "pixel_std": [61.0, 59.0, 61.0],
}

LEARNING_RATE = 2e-3  # at its highest


def decode(sam: Sam, embeddings: torch.Tensor, asked: Prompted) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits (B,4,M,h,w) and predicted IoUs (B,4,M) for four prompts on each of B embeddings (B,C,g,g).

    segment_anything's decoder takes one picture at a time; this feeds its own parts a batch of them.
    """
    encoder, decoder = sam.prompt_encoder, sam.mask_decoder
    batch = len(embeddings)
    boxes, _ = encoder(points=None, boxes=asked.boxes.flatten(0, 1), masks=None)
    labels = torch.ones(2 * batch, 1, dtype=torch.int)
    points, _ = encoder(points=(asked.points.reshape(-1, 1, 2), labels), boxes=None, masks=None)
    width = embeddings.shape[1]
    # A point prompt is one token and a padding token, a box two corner tokens: the same shape.
    sparse = torch.cat([boxes.view(batch, 2, 2, width), points.view(batch, 2, 2, width)], 1).flatten(0, 1)
    own = torch.cat([decoder.iou_token.weight, decoder.mask_tokens.weight])
    tokens = torch.cat([own.expand(len(sparse), -1, -1), sparse], 1)
    grid = embeddings.shape[-1]
    dense = encoder.no_mask_embed.weight.view(1, -1, 1, 1)
    source = torch.repeat_interleave(embeddings + dense, PROMPTS, 0)
    place = encoder.get_dense_pe().expand(len(source), -1, -1, -1)
    hidden, source = decoder.transformer(source, place, tokens)
    source = decoder.output_upscaling(source.transpose(1, 2).view(len(hidden), width, grid, grid))
    masks = decoder.num_mask_tokens
    weights = torch.stack([decoder.output_hypernetworks_mlps[i](hidden[:, 1 + i]) for i in range(masks)], 1)
    logits = (weights @ source.flatten(2)).view(batch, PROMPTS, masks, 4 * grid, 4 * grid)
    return logits, decoder.iou_prediction_head(hidden[:, 0]).view(batch, PROMPTS, masks)


def mask_loss(
    logits: torch.Tensor, ious: torch.Tensor, coverage: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss, and the mean IoU of all masks; logits (B,4,M,h,w), ious (B,4,M), coverage (B,4,h,w)."""
    target = coverage[:, :, None].expand_as(logits)
    chance = torch.sigmoid(logits)
    entropy = F.binary_cross_entropy_with_logits(logits, target)
    overlap = (chance * target).sum((3, 4))
    dice = 1 - (2 * overlap + 1) / (chance.sum((3, 4)) + target.sum((3, 4)) + 1)
    with torch.no_grad():
        mine, its = logits > 0, target >= 0.5
        union = (mine | its).sum((3, 4)).clamp(min=1)
        reached = (mine & its).sum((3, 4)) / union
    return entropy + dice.mean() + 0.5 * F.mse_loss(ious, reached), reached.mean()


class Training:
    """One model in training: every batch in parts over the cores, an average of the weights beside them."""

    def __init__(self, seed: int, steps: int, batch: int) -> None:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self._sam = build_sam(CONFIG)
        self._steps, self._batch = steps, batch
        self._rng = np.random.default_rng([seed, 32])
        self._cores = Cores(torch.device("cpu"))
        self._weights = list(self._sam.parameters())
        self._optimizer = torch.optim.AdamW(
            self._weights, lr=LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.02, fused=True
        )
        self.average = AveragedModel(self._sam, multi_avg_fn=get_ema_multi_avg_fn(0.998))

    def step(self, index: int, pool: Pool) -> tuple[float, float]:
        """Loss and mean IoU of one batch, after which the weights have moved."""
        warm = min((index + 1) / 40, 1.0)
        share = 0.01 + 0.99 * 0.5 * (1 + float(np.cos(np.pi * index / self._steps)))
        for group in self._optimizer.param_groups:
            group["lr"] = LEARNING_RATE * warm * share
        images, alpha = pictures(pool, self._rng.integers(0, len(pool.alpha), self._batch), self._rng)
        asked = prompts(alpha, self._rng)

        def gradients(part: slice) -> tuple[float, float, tuple[torch.Tensor | None, ...]]:
            embeddings = self._sam.image_encoder((images[part] - self._sam.pixel_mean) / self._sam.pixel_std)
            logits, ious = decode(
                self._sam, embeddings, Prompted(asked.boxes[part], asked.points[part], asked.targets[part])
            )
            loss, reached = mask_loss(logits, ious, F.avg_pool2d(asked.targets[part], 2))
            share = len(embeddings) / self._batch
            found = torch.autograd.grad(loss * share, self._weights, allow_unused=True)
            return float(loss.detach()) * share, float(reached) * share, found

        results = list(self._cores.map(gradients, self._cores.parts(self._batch, self._batch)))
        for weight, *parts in zip(self._weights, *(found for _, _, found in results), strict=True):
            given = [gradient for gradient in parts if gradient is not None]
            weight.grad = torch.stack(given).sum(0) if given else None
        torch.nn.utils.clip_grad_norm_(self._weights, 1.0)
        self._optimizer.step()
        self.average.update_parameters(self._sam)
        return sum(loss for loss, _, _ in results), sum(reached for _, reached, _ in results)


def train(out: Path, seed: int = 0, steps: int = 6000, batch: int = 12, pool_size: int = 4800) -> None:
    """Renders the pool, trains and saves the averaged weights; prints loss and IoU every 100 steps."""
    began = time.monotonic()
    pool = render_pool(pool_size, CONFIG["image_size"], seed)
    print(f"{pool_size} pictures in {time.monotonic() - began:.0f} s", flush=True)
    training = Training(seed, steps, batch)
    recent: list[tuple[float, float]] = []
    for index in range(steps):
        recent.append(training.step(index, pool))
        if (index + 1) % 100 == 0:
            loss, iou = np.mean(recent, axis=0)
            print(
                f"step {index + 1} loss {loss:.4f} IoU {iou:.4f} {time.monotonic() - began:.0f} s", flush=True
            )
            recent.clear()
    save_sam(training.average.module.eval(), CONFIG, out)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="Train the demo's tiny SAM model on synthetic dogs.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "models" / "sam")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=6000)
    options = parser.parse_args()
    train(options.out, options.seed, options.steps)


if __name__ == "__main__":
    main()

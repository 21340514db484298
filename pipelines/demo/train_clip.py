"""Trains the demo's tiny CLIP: a real open_clip model on synthetic dogs, in about ten minutes on one core.

First the picture tower alone learns to read attributes, for pictures are what takes samples; the read-outs
are dropped in the end. Then both towers learn together. For picture i and caption j,
z = scale * cos(i, j) + bias, and the loss is the binary cross-entropy of sigmoid(z) against whether the
caption is true of the picture (as in SigLIP, Zhai et al. 2023, with several true captions allowed). True
captions, captions with one statement swapped, and captions of other pictures weigh the same. Beside it, the
zero-shot cross-entropy over breed names, those of breeds it never sees among them. Pictures in a held-out
combination are never seen. `python -m pipelines.demo.train_clip --out DIR` writes open_clip's local folder
layout.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import torch
import torch.nn.functional as F
from open_clip.model import CLIP
from safetensors.torch import save_file

from pipelines.demo.clip_batches import (
    UNSAID,
    VALUES,
    Pool,
    augment,
    breed_prompts,
    caption_batch,
    render_pool,
    truth,
)

MODEL: dict[str, Any] = {
    "embed_dim": 64,
    "vision_cfg": {
        "image_size": 80,
        "timm_model_name": "test_resnet",
        "timm_model_pretrained": False,
        "timm_pool": "avg",
        "timm_proj": "linear",
    },
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 2},
}
# Statistics of the rendered pictures.
PREPROCESS: dict[str, Any] = {
    "mean": [0.6, 0.56, 0.52],
    "std": [0.24, 0.23, 0.24],
    "interpolation": "bicubic",
    "resize_mode": "shortest",
}


class Trainer:
    """One model with its optimiser; `look` is a batch for the picture tower alone, `pair` one for both."""

    def __init__(self, pool: Pool, seed: int, batch: int, wrong: int) -> None:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.model = CLIP(**MODEL, init_logit_scale=float(np.log(10)), init_logit_bias=-5.0)
            values = sum(map(len, VALUES.values()))
            self.image_readout = torch.nn.Linear(MODEL["embed_dim"], values)
            self.text_readout = torch.nn.Linear(MODEL["embed_dim"], values)
        # A third faster on a CPU.
        self.model.visual.to(memory_format=torch.channels_last)
        self.pool, self.batch, self.wrong = pool, batch, wrong
        self.rng = np.random.default_rng([seed, 12])
        self.tokenizer = open_clip.SimpleTokenizer()
        self.parameters: list[torch.nn.Parameter] = []
        groups: dict[tuple[str, bool], list[torch.nn.Parameter]] = {}
        for module in (self.model, self.image_readout, self.text_readout):
            for name, parameter in module.named_parameters():
                tower = "picture" if module is self.image_readout or name.startswith("visual.") else "text"
                decays = parameter.ndim > 1 and "embedding" not in name
                groups.setdefault((tower, decays), []).append(parameter)
                self.parameters.append(parameter)
        self.optimizer = torch.optim.AdamW(
            [
                {"params": members, "weight_decay": 0.05 * decays, "tower": tower}
                for (tower, decays), members in groups.items()
            ],
            betas=(0.9, 0.98),
        )
        self.mean = torch.tensor(PREPROCESS["mean"]).view(3, 1, 1)
        self.std = torch.tensor(PREPROCESS["std"]).view(3, 1, 1)

    def encode_texts(self, texts: list[str]) -> torch.Tensor:
        """Unnormalised text embeddings (T,64). Equal to open_clip's `encode_text`: attention is causal, so
        what stands after the last end token can be cut off, which saves half of the time."""
        tokens = self.tokenizer(texts)
        ends = tokens.argmax(1)
        length = int(ends.max()) + 1
        tokens, model = tokens[:, :length], self.model
        hidden = model.token_embedding(tokens) + model.positional_embedding[:length]
        hidden = model.transformer(hidden, attn_mask=model.attn_mask[:length, :length])
        return model.ln_final(hidden[torch.arange(len(tokens)), ends]) @ model.text_projection

    def _pictures(self, rows: np.ndarray) -> torch.Tensor:
        """Unnormalised picture embeddings (B,64) of augmented pictures of the pool."""
        images = augment(
            self.pool.pictures[torch.from_numpy(rows)], MODEL["vision_cfg"]["image_size"], self.rng
        )
        images = (images - self.mean) / self.std
        return self.model.visual(images.contiguous(memory_format=torch.channels_last))

    def look(self, picture_rate: float) -> float:
        """One update of the picture tower by its read-out; the loss."""
        rows = self.rng.integers(0, len(self.pool.specs), self.batch)
        raw = self._pictures(rows)
        loss = _readout_loss(self.image_readout(raw), torch.from_numpy(self.pool.codes[rows]))
        return self._update(loss, picture_rate, 0.0)

    def pair(self, picture_rate: float, text_rate: float) -> float:
        """One update of both towers; the loss."""
        rng, pool, model = self.rng, self.pool, self.model
        rows = rng.integers(0, len(pool.specs), self.batch)
        told = caption_batch([pool.specs[i] for i in rows], self.wrong, rng)
        codes = torch.from_numpy(pool.codes[rows])
        raw_images, raw_texts = self._pictures(rows), self.encode_texts(told.texts)
        picture, text = F.normalize(raw_images, dim=-1), F.normalize(raw_texts, dim=-1)
        scale = model.logit_scale.exp()
        logits = scale * picture @ text.T + model.logit_bias
        loss = _pair_loss(logits, torch.from_numpy(truth(pool.codes[rows], told.codes)), self.wrong)
        prompts = F.normalize(self.encode_texts(breed_prompts(rng, 24)), dim=-1)
        named = codes[:, 0] >= 0
        loss = loss + 0.4 * F.cross_entropy(scale * picture[named] @ prompts.T, codes[named, 0])
        loss = loss + 0.5 * _readout_loss(self.image_readout(raw_images), codes)
        loss = loss + 0.3 * _readout_loss(self.text_readout(raw_texts), torch.from_numpy(told.codes))
        return self._update(loss, picture_rate, text_rate)

    def _update(self, loss: torch.Tensor, picture_rate: float, text_rate: float) -> float:
        for group in self.optimizer.param_groups:
            group["lr"] = picture_rate if group["tower"] == "picture" else text_rate
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        with torch.no_grad():
            self.model.logit_scale.clamp_(0, float(np.log(40)))
        return float(loss.detach())


def _schedule(index: int, steps: int, last: float) -> float:
    """Linear warm-up over 30 steps, then a half cosine from 1 down to `last`."""
    warm = min((index + 1) / 30, 1.0)
    return warm * (last + (1 - last) * 0.5 * (1 + float(np.cos(np.pi * index / steps))))


def _pair_loss(logits: torch.Tensor, true: torch.Tensor, wrong: int) -> torch.Tensor:
    """Mean cross-entropy of own captions + of own swapped ones + of all others; logits and true (B,T)."""
    batch = len(logits)
    losses = F.binary_cross_entropy_with_logits(logits, true.float(), reduction="none")
    own = torch.arange(batch)
    right = losses[own, own]
    swapped = losses[:, batch:].reshape(batch, batch, wrong)[own, own]
    others = torch.ones_like(true)
    others[own, own] = False
    for k in range(wrong):
        others[own, batch + own * wrong + k] = False
    return right.mean() + swapped.mean() + losses[others].mean()


def _readout_loss(scores: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy over attributes; scores (N, sum of values), codes (N,9), negative where not said."""
    total, start = torch.zeros(()), 0
    for column, values in enumerate(VALUES.values()):
        part = scores[:, start : start + len(values)]
        start += len(values)
        known = codes[:, column] > UNSAID
        if bool(known.any()):
            total = total + F.cross_entropy(part[known], codes[known, column])
    return total / len(VALUES)


def save(model: CLIP, folder: Path, note: dict) -> None:
    """Writes open_clip's local folder layout, weights in float16."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: (tensor.half() if tensor.is_floating_point() else tensor).contiguous()
        for name, tensor in model.state_dict().items()
    }
    save_file(weights, folder / "open_clip_model.safetensors", {"format": "pt", "label": "dogflow demo"})
    config = {"model_cfg": {**MODEL, "init_logit_bias": -5.0}, "preprocess_cfg": PREPROCESS, "demo": note}
    (folder / "open_clip_config.json").write_text(json.dumps(config, indent=2) + "\n")


def train(
    out: Path, seed: int = 0, looks: int = 1300, pairs: int = 500, batch: int = 48, pool_size: int = 4500
) -> None:
    """Renders the pool, trains and saves; prints the loss every 50 steps."""
    began = time.monotonic()
    pool = render_pool(pool_size, seed)
    print(f"{pool_size} pictures in {time.monotonic() - began:.0f} s", flush=True)
    trainer = Trainer(pool, seed, batch, wrong=2)
    trainer.model.train()
    recent: list[float] = []
    for index in range(looks + pairs):
        if index < looks:
            recent.append(trainer.look(4e-3 * _schedule(index, looks, last=0.2)))
        else:
            rate = _schedule(index - looks, pairs, last=0.02)
            recent.append(trainer.pair(1e-3 * rate, 3e-3 * rate))
        if (index + 1) % 50 == 0:
            part = "pictures" if index < looks else "pairs"
            spent = time.monotonic() - began
            print(f"step {index + 1} ({part}) loss {np.mean(recent):.4f} {spent:.0f} s", flush=True)
            recent.clear()
    note = {"seed": seed, "looks": looks, "pairs": pairs, "batch": batch, "pool": pool_size}
    save(trainer.model.eval(), out, note)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="Train the demo's tiny CLIP model on synthetic dogs.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "models" / "clip")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    train(options.out, options.seed)


if __name__ == "__main__":
    main()

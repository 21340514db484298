"""Pictures, prompts and target masks for training the demo's segment-anything model."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from pipelines.demo.breeds import BREEDS
from pipelines.demo.render import compose
from pipelines.demo.scenery import scenery
from pipelines.demo.spec import breed_spec, free_spec

PROMPTS = 4  # for each picture: a loose box, a tight box, a point on the dog, a point beside it


@dataclass(frozen=True)
class Pool:
    """Parts of N rendered pictures: background and dog (premultiplied) (N,3,S,S), alpha (N,1,S,S), uint8."""

    background: torch.Tensor
    dog: torch.Tensor
    alpha: torch.Tensor


def render_pool(count: int, size_px: int, seed: int) -> Pool:
    """Dogs with and without a breed, of every size in the frame. One background in three is one of the six
    places of the demo set, the others are random scenery."""
    rng = np.random.default_rng([seed, 31])
    breeds = tuple(BREEDS)
    parts: tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]] = ([], [], [])
    for index in range(count):
        spec = breed_spec(str(rng.choice(breeds)), rng) if index % 2 else free_spec(rng)
        if spec.pose != "head" and rng.random() < 0.4:
            ratio = float(rng.uniform(0.04, 0.28))
            spec = free_spec(rng, pose=spec.pose, facing=spec.facing, foreground=ratio)
        scene = compose(spec, size_px)
        place = scene.background if index % 3 == 0 else scenery(size_px, rng)
        parts[0].append(np.clip(place + scene.grain[..., None], 0, 255).astype(np.uint8))
        parts[1].append(np.clip(scene.dog, 0, 255).astype(np.uint8))
        parts[2].append(np.round(scene.alpha * 255).astype(np.uint8)[..., None])
    tensors = [torch.from_numpy(np.stack(part)).permute(0, 3, 1, 2).contiguous() for part in parts]
    return Pool(*tensors)


def pictures(pool: Pool, rows: np.ndarray, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """(B,3,S,S) float32 0..255 and the dogs' coverage (B,1,S,S) float32 0..1 of the dogs `rows`.

    Half of the dogs are put before another picture's background and half of the backgrounds are recoloured,
    so that the model learns dogs and not six places.
    """
    batch = len(rows)
    other = rng.integers(0, len(pool.alpha), batch)
    behind = np.where(rng.random(batch) < 0.5, rows, other)
    place = pool.background[torch.from_numpy(behind)].float()
    for index in np.flatnonzero(rng.random(batch) < 0.5):
        place[index] = _recolor(place[index], rng)
    alpha = pool.alpha[torch.from_numpy(rows)].float() / 255
    images = pool.dog[torch.from_numpy(rows)].float() + (1 - alpha) * place
    gain = torch.from_numpy(rng.uniform(0.8, 1.15, (batch, 3, 1, 1))).float()
    shared = torch.from_numpy(rng.uniform(0.85, 1.15, (batch, 1, 1, 1))).float()
    tinted = torch.from_numpy(rng.random((batch, 1, 1, 1)) < 0.3)
    images = images * torch.where(tinted, gain, shared)
    mirrored = torch.from_numpy(rng.random(batch) < 0.5)
    images[mirrored], alpha[mirrored] = images[mirrored].flip(3), alpha[mirrored].flip(3)
    if rng.random() < 0.25:
        images = F.avg_pool2d(F.pad(images, (1, 1, 1, 1), mode="replicate"), 3, 1)
    return images.clamp(0, 255), alpha


def _recolor(place: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    """A background (3,S,S) in other colours, and upside down now and then."""
    order = torch.from_numpy(rng.permutation(3))
    gain = torch.from_numpy(rng.uniform(0.5, 1.3, (3, 1, 1))).float()
    place = place[order] * gain
    if rng.random() < 0.3:
        place = 255 - place
    return place.flip(1) if rng.random() < 0.3 else place


@dataclass(frozen=True)
class Prompted:
    """Prompts of a batch: boxes (B,2,4), points (B,2,2) in px as x, y; targets (B,4,S,S) float32 coverage."""

    boxes: torch.Tensor
    points: torch.Tensor
    targets: torch.Tensor


def prompts(alpha: torch.Tensor, rng: np.random.Generator) -> Prompted:
    """A loose box around the whole picture, a jittered box around the dog, a point on it and one beside it.

    The first three ask for the dog, the last for everything else: a point means what it lies on.
    """
    batch, _, size, _ = alpha.shape
    inside = alpha[:, 0].numpy() >= 0.5
    boxes, points = np.zeros((batch, 2, 4)), np.zeros((batch, 2, 2))
    for index, mask in enumerate(inside):
        ys, xs = np.nonzero(mask)
        margin = rng.uniform(0.0, 0.1, 4) * size if rng.random() < 0.5 else np.full(4, 0.05 * size)
        boxes[index, 0] = margin[0], margin[1], size - margin[2], size - margin[3]
        jitter = rng.normal(0, 0.04, 4) * np.tile([np.ptp(xs) + 1, np.ptp(ys) + 1], 2)
        tight = np.array([xs.min(), ys.min(), xs.max() + 1, ys.max() + 1]) + jitter
        boxes[index, 1] = np.clip(tight, 0, size)
        at = int(rng.integers(len(xs)))
        middle = size // 2
        on = (middle, middle) if mask[middle, middle] and rng.random() < 0.5 else (xs[at], ys[at])
        off_y, off_x = np.nonzero(~mask)
        at = int(rng.integers(len(off_x)))
        points[index] = on, (off_x[at], off_y[at])
    targets = torch.cat([alpha, alpha, alpha, 1 - alpha], 1)
    return Prompted(torch.from_numpy(boxes).float(), torch.from_numpy(points).float(), targets)

"""The automatic strategy: SAM asked at a grid of points, and what is left once the background is taken out.

Follows segment_anything's mask generator (its point grid, stability score, box suppression) on the decoder's
own resolution, which is enough for a union and spares hundreds of full-size masks.
"""

from collections.abc import Callable

import torch
from segment_anything.utils.amg import batched_mask_to_box, build_point_grid, calculate_stability_score
from torchvision.ops import nms

# The mask generator's own defaults.
MIN_PREDICTED_IOU = 0.88
MIN_STABILITY = 0.95
STABILITY_OFFSET = 1.0
MAX_BOX_OVERLAP = 0.7
# A mask over more than this share of the picture's outermost pixels is taken for background. A dog cut off at
# the bottom touches some of them, a wall or a meadow most.
MAX_BORDER_SHARE = 0.25
POINTS_PER_BATCH = 64

Decode = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
"""(P, 2) points as fractions of width and height -> logits (P, M, h, w) of the picture alone, IoUs (P, M)."""


def union_of_subjects(decode: Decode, points_per_side: int) -> tuple[torch.Tensor, float]:
    """Logits (h, w) of the union of all masks that do not hug the border, and their best predicted IoU.

    The union's logit is the highest of its members'; without members it is negative everywhere and the IoU 0.
    """
    points = torch.from_numpy(build_point_grid(points_per_side)).float()
    kept_logits, kept_ious = [], []
    for batch in points.split(POINTS_PER_BATCH):
        logits, ious = decode(batch)
        logits, ious = logits.flatten(0, 1), ious.flatten(0, 1)
        stability = calculate_stability_score(logits, 0.0, STABILITY_OFFSET)
        good = (ious > MIN_PREDICTED_IOU) & (stability > MIN_STABILITY)
        kept_logits.append(logits[good])
        kept_ious.append(ious[good])
    logits, ious = torch.cat(kept_logits), torch.cat(kept_ious)
    if len(ious):
        chosen = nms(batched_mask_to_box(logits > 0).float(), ious, MAX_BOX_OVERLAP)
        logits, ious = logits[chosen], ious[chosen]
        inside = _border_shares(logits > 0) <= MAX_BORDER_SHARE
        logits, ious = logits[inside], ious[inside]
    if not len(ious):
        return torch.full(logits.shape[-2:], -1.0, device=logits.device), 0.0
    return logits.amax(dim=0), float(ious.max())


def _border_shares(masks: torch.Tensor) -> torch.Tensor:
    frame = torch.ones(masks.shape[-2:], dtype=torch.bool, device=masks.device)
    frame[1:-1, 1:-1] = False
    return (masks & frame).sum(dim=(1, 2)) / frame.sum()

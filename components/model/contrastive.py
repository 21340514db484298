"""Supervised contrastive loss: features of one breed together, of different breeds apart."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Projection(nn.Sequential):
    """Pooled features (B, width) -> unit vectors (B, outputs)."""

    def __init__(self, width: int, outputs: int) -> None:
        super().__init__(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, outputs))

    def forward(self, features: Tensor) -> Tensor:
        # Lengths in float32: in half precision a long vector's squares overflow.
        return functional.normalize(super().forward(features).float(), dim=1)


def contrastive_loss(features: Tensor, labels: Tensor, temperature: float = 0.1) -> Tensor:
    """L_out of Khosla et al., arXiv:2004.11362, eq. 2, averaged over the anchors that have a positive.

    features: (N, D) unit vectors; labels: (N,) int. Exactly 0, with zero gradients, when no two rows share a
    label. An anchor's loss is the mean over its positives p of -log(exp(a.p/tau) / sum over all others).
    """
    rows = len(labels)
    similarity = features @ features.T / temperature
    itself = torch.eye(rows, dtype=torch.bool, device=features.device)
    log_share = similarity - similarity.masked_fill(itself, float("-inf")).logsumexp(1, keepdim=True)
    positives = (labels[:, None] == labels) & ~itself
    counts = positives.sum(1)
    anchors = counts > 0
    if not anchors.any():
        return features.sum() * 0
    # `where` before the sum: a row alone in its batch has no others, and infinity times zero is no number.
    sums = torch.where(positives, log_share, 0.0).sum(1)
    return -(sums[anchors] / counts[anchors]).mean()

"""AdamW with the stages' parameter groups, and a learning rate that counts optimizer steps."""

from __future__ import annotations

import torch
from torch import nn

from components.model.flow_model import FlowModel
from components.training.stages import Stage


def parameter_groups(model: FlowModel, stage: Stage, weight_decay: float) -> list[dict]:
    """Groups with their `scale` of the learning rate. Biases, norms and embeddings are not decayed.

    Freezes (requires_grad False) what the stage does not train: the upper text layers at scale 0.
    """
    model.text.requires_grad_(stage.text_lr_scale > 0)
    model.network.requires_grad_(True)
    for parameter in model.network.breed_parameters():
        parameter.requires_grad_(stage.breeds)
    groups = []
    for module, scale in ((model.network, 1.0), (model.text, stage.text_lr_scale)):
        for decayed in (True, False):
            chosen = [p for p, matrix in _parameters(module) if p.requires_grad and matrix == decayed]
            if chosen:
                groups.append(
                    {"params": chosen, "scale": scale, "weight_decay": weight_decay if decayed else 0.0}
                )
    return groups


def _parameters(module: nn.Module) -> list[tuple[nn.Parameter, bool]]:
    """Each parameter once, and whether it is a weight matrix or kernel (not an embedding table)."""
    tables = {id(m.weight) for m in module.modules() if isinstance(m, nn.Embedding)}
    return [(p, p.dim() > 1 and id(p) not in tables) for p in module.parameters()]


def learning_rate(step: int, base: float, warmup: int, total: int, final_share: float) -> float:
    """Rate of optimizer step `step` (1-based): linear warm-up, full at step `warmup`, then a straight line
    down to `final_share` of it at step `total` (1 keeps it constant)."""
    if step <= warmup:
        return base * step / warmup
    progress = (step - warmup) / max(total - warmup, 1)
    return base * (1 - (1 - final_share) * min(progress, 1.0))


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate * group["scale"]

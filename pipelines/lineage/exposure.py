"""Which rows of an encoded dataset a training stage drew, and how often."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from components.data.encoded import EncodedDataset
from components.training.stages import Stage

TRAIN = "train"


def draws(dataset: EncodedDataset, stage: Stage, options: Mapping[str, Any]) -> np.ndarray:
    """(N,) int64: how often a finished training drew each row of `dataset.index`.

    `options` are the training's own. Its order of rows is a function of them, so nothing had to be noted:
    complete epochs draw every row of the train split whose tier takes part, the last one a beginning of its
    order.
    """
    from components.training.batches import Order  # imports torch

    train = dataset.rows_of_split(TRAIN)
    tiers = np.asarray(dataset.index.column("tier")).astype(np.int8)[train]
    steps, batch = int(options["steps"]), int(options["batch"])
    order = Order(tiers, stage, batch, int(options["seed"]))
    times = np.zeros(len(train), np.int64)
    epoch = 0
    while steps > 0:
        taking_part = np.isin(tiers, stage.tiers_at(epoch))
        needed = math.ceil(int(taking_part.sum()) / batch)
        if steps >= needed:
            times += taking_part
        else:
            times[order.epoch(epoch)[: steps * batch]] += 1
        steps, epoch = steps - needed, epoch + 1
    out = np.zeros(len(dataset), np.int64)
    out[train] = times
    return out


def why_not(stage: Stage, split: str, tier: int) -> str:
    """Why a stage never drew a row, as a short sentence."""
    if split != TRAIN:
        return f"it is in the {split} split"
    if not any(tier in phase.tiers for phase in stage.phases):
        return f"stage {stage.number} ({stage.name}) does not train on tier {tier}"
    return "the training ended before its turn"

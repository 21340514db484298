"""Which rows of an encoded dataset a training stage drew, and how often."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from components.data.encoded import EncodedDataset, breed_positions
from components.training.stages import Stage, stage

TRAIN = "train"


def trained_stage(options: Mapping[str, Any]) -> Stage:
    """The stage that a training with these options went through."""
    return stage(int(options["stage"]), bool(options.get("curriculum", True)))


def draws(dataset: EncodedDataset, options: Mapping[str, Any]) -> np.ndarray:
    """(N,) int64: how often a finished training drew each row of `dataset.index`.

    `options` are the training's own. Its order of rows is a function of them, so nothing had to be noted:
    complete epochs draw every row of the train split whose tier takes part, the last one a beginning of its
    order. Rows for the contrastive loss come on top.
    """
    from components.training.batches import Order, Position  # imports torch
    from components.training.pairs import Pairs, PairsPlan

    chosen = trained_stage(options)
    train = dataset.rows_of_split(TRAIN)
    tiers = np.asarray(dataset.index.column("tier")).astype(np.int8)[train]
    steps, batch = int(options["steps"]), int(options["batch"])
    times = np.zeros(len(train), np.int64)
    out = np.zeros(len(dataset), np.int64)
    if options.get("contrastive") and chosen.breeds:
        plan = PairsPlan(int(options["contrastive_breeds"]), int(options["contrastive_rows"]))
        names = np.asarray(dataset.index.column("breed").to_pylist(), object)[train]
        known = sorted({name for name in names if name is not None})
        breed = breed_positions(list(names), known)
        order = Order(tiers, chosen, batch, int(options["seed"]), Pairs(plan, breed, len(known)))
        for _, (indices, _) in zip(range(steps), order.batches(Position()), strict=False):
            np.add.at(times, indices, 1)
        out[train] = times
        return out
    order = Order(tiers, chosen, batch, int(options["seed"]))
    epoch = 0
    while steps > 0:
        taking_part = np.isin(tiers, chosen.tiers_at(epoch))
        needed = math.ceil(int(taking_part.sum()) / batch)
        if steps >= needed:
            times += taking_part
        else:
            times[order.epoch(epoch)[: steps * batch]] += 1
        steps, epoch = steps - needed, epoch + 1
    out[train] = times
    return out


def why_not(stage: Stage, split: str, tier: int) -> str:
    """Why a stage never drew a row, as a short sentence."""
    if split != TRAIN:
        return f"it is in the {split} split"
    if not any(tier in phase.tiers for phase in stage.phases):
        return f"stage {stage.number} ({stage.name}) does not train on tier {tier}"
    return "the training ended before its turn"

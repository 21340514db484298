"""How often a training drew each row, against running through its batches."""

from collections import Counter
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest

from components.data.encoded import breed_positions
from components.training.batches import Order, Position
from components.training.pairs import Pairs, PairsPlan
from pipelines.lineage.exposure import draws, trained_stage

TIERS = [0, 1, -1, 0, 1, 1, 0, -1, 0, 1, 0, 0]
BREEDS = ["pug", "akita", None, "pug", "akita", "beagle", "beagle", None, "akita", "pug", "beagle", "akita"]
TRAIN = np.array([0, 1, 3, 4, 5, 6, 8, 9, 10, 11])


class Encoded:
    """An encoded dataset as far as this is concerned."""

    index = pa.table({"tier": pa.array(TIERS, pa.int8()), "breed": BREEDS})

    def __len__(self):
        return len(TIERS)

    def rows_of_split(self, split):
        assert split == "train"
        return TRAIN


def counted(options):
    tiers, breeds = np.array(TIERS, np.int8)[TRAIN], [BREEDS[row] for row in TRAIN]
    pairs = None
    if options.get("contrastive"):
        # The model's own numbers, in another order than any sorting would give.
        numbers = breed_positions(breeds, ["beagle", "pug", "akita", "borzoi"])
        plan = PairsPlan(options["contrastive_breeds"], options["contrastive_rows"])
        pairs = Pairs(plan, numbers, 4)
    order = Order(tiers, trained_stage(options), options["batch"], options["seed"], pairs)
    times = Counter()
    for indices, _ in islice(order.batches(Position()), options["steps"]):
        times.update(TRAIN[indices].tolist())
    return [times[row] for row in range(len(TIERS))]


CONTRASTIVE = {"contrastive": 0.1, "contrastive_breeds": 2, "contrastive_rows": 2}


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 40])
@pytest.mark.parametrize(
    "more",
    [{"stage": 0}, {"stage": 2}, {"stage": 2, "curriculum": False}, {"stage": 2, "batch": 6, **CONTRASTIVE}],
)
def test_draws_are_those_of_the_batches(steps, more):
    options = {"steps": steps, "batch": 3, "seed": 5, **more}
    assert draws(Encoded(), options).tolist() == counted(options)


def test_a_stage_without_breeds_has_no_rows_for_the_contrastive_loss():
    options = {"stage": 0, "steps": 9, "batch": 3, "seed": 5}
    assert draws(Encoded(), {**options, **CONTRASTIVE}).tolist() == draws(Encoded(), options).tolist()

from itertools import chain, islice

import numpy as np
import pytest
import torch

from components.training.batches import Batch, EmptyTier, Order, Position, prefetched
from components.training.stages import STAGES, Phase, Stage, stage

PLAIN = Stage(0, "plain", "caption", 0.0, False)
CURRICULUM = Stage(2, "curriculum", "prompt", 0.3, True, (Phase(0, (0,)), Phase(2, (0, 1))))
TIERS = np.array([0, 1, -1, 0, 1, 1, 0, -1, 0, 1, 0], np.int8)


def taken(order, start, batches):
    return [indices.tolist() for indices, _ in islice(order.batches(start), batches)]


def test_every_row_comes_exactly_once_an_epoch_and_the_last_batch_is_short():
    order = Order(TIERS, PLAIN, batch=4, seed=0)
    batches = taken(order, Position(), 6)
    assert [len(batch) for batch in batches] == [4, 4, 3] * 2
    for epoch in (batches[:3], batches[3:]):
        assert sorted(chain(*epoch)) == list(range(11))
    assert list(chain(*batches[:3])) != list(chain(*batches[3:]))
    assert order.steps(2) == 6


def test_order_is_a_function_of_seed_stage_and_epoch():
    order = Order(TIERS, PLAIN, 4, seed=0)
    assert np.array_equal(order.epoch(3), Order(TIERS, PLAIN, 5, seed=0).epoch(3))
    assert not np.array_equal(order.epoch(0), Order(TIERS, PLAIN, 4, seed=1).epoch(0))


def test_reading_from_any_position_gives_the_remaining_batches_of_an_unbroken_run():
    order = Order(TIERS, PLAIN, 4, seed=0)
    whole = list(islice(order.batches(Position()), 9))
    for done in range(1, 9):
        rest = taken(Order(TIERS, PLAIN, 4, seed=0), whole[done - 1][1], 9 - done)
        assert rest == [indices.tolist() for indices, _ in whole[done:]]


def test_reviewed_rows_train_alone_until_the_others_join():
    order = Order(TIERS, CURRICULUM, 4, seed=0)
    assert set(TIERS[order.epoch(0)]) == set(TIERS[order.epoch(1)]) == {0}
    assert set(TIERS[order.epoch(2)]) == set(TIERS[order.epoch(7)]) == {0, 1}
    assert len(order.epoch(2)) == 9  # rows of no tier stay out


def test_a_stage_without_rows_for_a_phase_is_refused_before_it_starts():
    with pytest.raises(EmptyTier, match=r"stage 2 \(curriculum\).*tier 0 from epoch 0"):
        Order(np.array([1, 1, -1]), CURRICULUM, 4, seed=0)
    with pytest.raises(EmptyTier):
        Order(np.array([]), PLAIN, 4, seed=0)


def test_stage_table_is_the_recipe():
    assert [row.number for row in STAGES] == [0, 1, 2]
    assert [row.text for row in STAGES] == ["caption", "prompt", "prompt"]
    assert [row.text_lr_scale for row in STAGES] == [0.0, 0.3, 0.3]
    assert [row.breeds for row in STAGES] == [False, True, True]
    assert [stage(2).tiers_at(epoch) for epoch in (0, 2, 3, 9)] == [(0,), (0,), (0, 1), (0, 1)]
    with pytest.raises(ValueError, match=r"2 \(curriculum\)"):
        stage(3)


class Source:
    tiers = TIERS
    null_text = torch.zeros(1, 2)

    def __init__(self, fail_at=None):
        self.loaded, self.fail_at = [], fail_at

    def __len__(self):
        return len(self.tiers)

    def load(self, indices):
        if self.fail_at is not None and self.fail_at in indices:
            raise OSError(f"row {self.fail_at} is unreadable")
        self.loaded.append(indices.tolist())
        return Batch(
            torch.from_numpy(indices),
            torch.zeros(1),
            torch.zeros(1),
            torch.zeros(len(indices), dtype=torch.int64),
        )


def test_prefetching_delivers_the_planned_batches_and_loads_none_beyond_the_last():
    source, order = Source(), Order(TIERS, PLAIN, 4, seed=0)
    found = [
        (batch.samples.tolist(), position) for batch, position in prefetched(source, order, Position(), 5)
    ]
    planned = [(indices.tolist(), position) for indices, position in islice(order.batches(Position()), 5)]
    assert found == planned
    assert source.loaded == [indices for indices, _ in planned]


def test_an_error_of_the_source_reaches_the_loop():
    order = Order(TIERS, PLAIN, 4, seed=0)
    with pytest.raises(OSError, match="row 3 is unreadable"):
        list(prefetched(Source(fail_at=3), order, Position(), 3))

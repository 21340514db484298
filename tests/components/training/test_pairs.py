from collections import Counter
from itertools import islice

import numpy as np
import pytest
import torch

from components.training.batches import Order, Position
from components.training.draws import Dropout, draw, step_generator, with_pairs
from components.training.pairs import Pairs, PairsPlan, TooFewBreeds
from components.training.stages import Phase, Stage

NULL = 4
BREED = np.array([0, 1, 0, 2, NULL, 1, 0, 2, NULL, 1, 3])
ALL = np.arange(len(BREED))


def test_a_draw_is_p_breeds_with_k_different_rows_each_and_never_the_null_breed():
    for seed in range(50):
        drawn = Pairs(PairsPlan(2, 3), BREED, NULL).draw(ALL, [seed])
        assert len(set(drawn)) == 6
        assert set(BREED[drawn].tolist()) == {0, 1}  # the only ones with three rows
    pairs = Pairs(PairsPlan(2, 2), BREED, NULL)
    breeds = Counter(breed for seed in range(600) for breed in set(BREED[pairs.draw(ALL, [seed])]))
    assert breeds.keys() == {0, 1, 2}
    assert all(count == pytest.approx(400, abs=60) for count in breeds.values())  # 2 of 3, five sigma


def test_a_draw_depends_on_seed_and_eligible_rows_alone_not_on_their_order_or_the_numbers_of_breeds():
    pairs = Pairs(PairsPlan(2, 2), BREED, NULL)
    drawn = pairs.draw(ALL, [3, 1])
    assert np.array_equal(drawn, pairs.draw(ALL[::-1], [3, 1]))
    renamed = np.array([7, 5, 9, 3, 1])[BREED]
    assert np.array_equal(drawn, Pairs(PairsPlan(2, 2), renamed, 1).draw(ALL, [3, 1]))
    assert any(not np.array_equal(drawn, pairs.draw(ALL, [3, other])) for other in range(2, 9))


def test_rows_that_do_not_take_part_are_not_drawn():
    eligible = np.array([0, 2, 1, 5])
    for seed in range(20):
        assert set(Pairs(PairsPlan(2, 2), BREED, NULL).draw(eligible, [seed])) == set(eligible)


@pytest.mark.parametrize("eligible", [ALL[:4], ALL[:0]])
def test_too_few_breeds_are_refused_with_their_number_and_the_options(eligible):
    pairs = Pairs(PairsPlan(2, 2), BREED, NULL)
    enough = 1 if len(eligible) else 0
    with pytest.raises(TooFewBreeds, match=rf"2 breeds with 2 rows.*only {enough} .*contrastive_rows"):
        pairs.check(eligible)
    pairs.check(ALL)


STAGE = Stage(2, "curriculum", "prompt", 0.3, True, (Phase(0, (0,)), Phase(2, (0, 1))))
TIERS = np.array([0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1], np.int8)


def order(batch=6, seed=0):
    return Order(TIERS, STAGE, batch, seed, Pairs(PairsPlan(2, 2), BREED, NULL))


def test_batches_end_in_pairs_and_all_other_rows_still_come_exactly_once_an_epoch():
    batches = [(indices, position) for indices, position in islice(order().batches(Position()), 40)]
    seen: dict[int, list[int]] = {}
    for indices, position in batches:
        assert len(Counter(BREED[indices[-4:]])) == 2 and np.isin(TIERS[indices], (0, 1)).all()
        seen.setdefault(position.epoch, []).extend(indices[:-4].tolist())
    assert sorted(seen[0]) == np.flatnonzero(TIERS == 0).tolist()
    assert sorted(seen[3]) == list(range(11))
    assert [len(indices) for indices, _ in batches[:4]] == [6, 6, 6, 5]  # 7 rows, two at a time
    assert order().steps(1) == 4
    assert any(not np.array_equal(batches[0][0][-4:], other[-4:]) for other, _ in batches[1:4])


def test_reading_from_any_position_gives_the_same_pairs_as_an_unbroken_run():
    whole = list(islice(order().batches(Position()), 12))
    for done in range(1, 12):
        rest = islice(order().batches(whole[done - 1][1]), 12 - done)
        for (found, _), (expected, _) in zip(rest, whole[done:], strict=True):
            assert np.array_equal(found, expected)


def test_a_batch_without_room_for_anything_else_is_refused():
    with pytest.raises(ValueError, match="a batch of 4 rows has no room beside 4"):
        order(batch=4)


def test_too_few_breeds_in_any_phase_are_refused_before_the_stage_starts():
    tiers = np.array([0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1], np.int8)  # reviewed: one breed alone
    with pytest.raises(TooFewBreeds):
        Order(tiers, STAGE, 6, 0, Pairs(PairsPlan(2, 2), BREED, NULL))


def test_pairs_lack_text_and_breed_and_the_other_rows_are_drawn_as_ever():
    from components.model.timesteps import Density

    plain = draw(step_generator(0, 1, 1), (10, 3, 4, 4), Density(), Dropout(0.0, 0.3, 0.3), True)
    found = with_pairs(plain, 4)
    assert found.drop_text[-4:].all() and found.drop_breed[-4:].all()
    assert torch.equal(found.drop_text[:-4], plain.drop_text[:-4])
    assert torch.equal(found.drop_breed[:-4], plain.drop_breed[:-4])
    assert torch.equal(found.t, plain.t) and torch.equal(found.noise, plain.noise)
    assert torch.equal(with_pairs(plain, 0).drop_text, plain.drop_text)

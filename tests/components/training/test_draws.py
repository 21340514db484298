import pytest
import torch

from components.model.timesteps import Density
from components.training.draws import Dropout, draw, step_generator, without_text

SHAPE = (20_000, 1, 1, 1)


def drawn(step=1, stage=0, seed=0, dropout=Dropout(), flips=True):  # noqa: B008 -- frozen
    return draw(step_generator(seed, stage, step), SHAPE, Density(), dropout, flips)


def test_a_step_draws_the_same_numbers_whatever_was_drawn_before():
    first = drawn()
    torch.randn(5)
    again = drawn()
    assert all(torch.equal(getattr(first, name), getattr(again, name)) for name in vars(first))


@pytest.mark.parametrize("other", [{"step": 2}, {"stage": 1}, {"seed": 1}])
def test_steps_stages_and_seeds_have_noise_of_their_own(other):
    assert not torch.equal(drawn().noise, drawn(**other).noise)


def test_dropout_shares_are_as_asked_and_both_are_often_absent_together():
    draws = drawn(dropout=Dropout(both=0.2, caption=0.1, breed=0.05))
    text, breed = draws.drop_text, draws.drop_breed
    found = [(text & breed), (text & ~breed), (~text & breed)]
    assert [x.float().mean().item() for x in found] == pytest.approx([0.2, 0.1, 0.05], abs=0.01)


def test_flips_are_half_or_none():
    assert drawn().flip.float().mean().item() == pytest.approx(0.5, abs=0.01)
    assert not drawn(flips=False).flip.any()


@pytest.mark.parametrize("length", [2, 6])  # the empty text is longer, or shorter, than the batch's
def test_dropped_text_is_the_encoding_of_the_empty_text_not_zeros(length):
    g = torch.Generator().manual_seed(0)
    hidden, null = torch.randn(3, length, 4, generator=g), torch.randn(3, 4, generator=g)
    mask = torch.ones(3, length, dtype=torch.bool)
    before = hidden.clone()
    found, found_mask = without_text(hidden, mask, torch.tensor([False, True, False]), null)
    assert torch.equal(found[1, :3], null) and found_mask[1].sum() == 3
    assert torch.equal(found[0, :length], before[0]) and found_mask[0].sum() == length
    assert torch.equal(hidden, before)  # the cached states are not written to


def test_impossible_shares_are_refused():
    with pytest.raises(ValueError, match="at most 1"):
        Dropout(both=0.9, caption=0.2)

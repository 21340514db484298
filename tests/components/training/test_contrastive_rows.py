"""The contrastive loss inside the training loop."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from components.data.checkpoints import Checkpoints
from components.data.storage import open_store
from components.model.contrastive import contrastive_loss
from components.training.draws import Dropout, draw, step_generator, with_pairs, without_text
from components.training.logbook import Logbook
from components.training.loop import Trainer
from components.training.pairs import PairsPlan
from components.training.run_state import LoopOptions
from components.training.stages import stage

OPTIONS = LoopOptions(
    steps=10,
    batch=8,
    micro_batch=8,
    warmup=2,
    clip=0.0,
    log_every=4,
    checkpoint_every=3,
    contrastive=0.3,
    temperature=0.2,
    pairs=PairsPlan(2, 3),
    flips=False,
)


@pytest.fixture
def model(new_model):
    return partial(new_model, projection=6)


def gradients(model, rows, micro_batch):
    trainer = Trainer(model(), rows, stage(1), replace(OPTIONS, micro_batch=micro_batch))
    indices, _ = next(trainer.order.batches(trainer.progress.position))
    batch = rows.load(indices)
    return trainer, batch, trainer._backward(batch), [p.grad for p in trainer._trained()]


def test_gradients_are_those_of_the_weighted_sum_whatever_the_micro_batch(model, rows):
    trainer, batch, (loss, apart), found = gradients(model, rows, 8)
    samples = batch.samples
    drawn = with_pairs(
        draw(step_generator(0, 1, 1), tuple(samples.shape), OPTIONS.density, Dropout(0, 0.05, 0.05), False), 6
    )
    hidden, mask = without_text(batch.hidden, batch.mask, drawn.drop_text, rows.null_text)
    breed = torch.where(drawn.drop_breed, trainer.model.null_breed, batch.breed)
    t = drawn.t[:, None, None, None]
    x_t = t * samples + (1 - t) * drawn.noise
    v, features = trainer.model.with_features(x_t, drawn.t, hidden, mask, breed)
    seen = (drawn.t >= 0.5) & (torch.arange(8) >= 2)
    by_hand = contrastive_loss(features[seen], batch.breed[seen], 0.2)
    velocity = (v - (samples - drawn.noise)).square().mean((1, 2, 3)).mean()
    assert by_hand > 0  # or this batch would show nothing
    assert (loss, apart) == pytest.approx((velocity.item(), by_hand.item()), rel=1e-5)
    trained = trainer._trained()
    expected = torch.autograd.grad(velocity + 0.3 * by_hand, trained, allow_unused=True)
    split = gradients(model, rows, 1)[3]
    for whole, parts, reference in zip(found, split, expected, strict=True):
        if reference is None:
            assert whole is None or not whole.any()
            continue
        assert torch.allclose(whole, reference, atol=1e-6, rtol=1e-4)
        assert torch.allclose(parts, reference, atol=1e-6, rtol=1e-4)


def test_the_network_is_told_neither_text_nor_breed_of_the_pairs(model, rows):
    trainer, told = Trainer(model(), rows, stage(1), replace(OPTIONS, steps=4)), []
    whole = trainer.model.with_features
    trainer.model.with_features = lambda *args: told.append(args) or whole(*args)
    trainer.run()
    assert len(told) == 4
    for _, _, hidden, mask, breed in told:
        assert (breed == trainer.model.null_breed).all()
        assert torch.equal(hidden[:, :2], rows.null_text.expand(6, -1, -1)) and (mask.sum(1) == 2).all()


def test_stage_0_has_no_breeds_hence_no_such_loss(model, rows, new_rows):
    with_loss, without = model(), model()
    Trainer(with_loss, rows, stage(0), OPTIONS).run()
    Trainer(without, new_rows(), stage(0), replace(OPTIONS, contrastive=0.0)).run()
    for name, value in without.state_dict().items():
        assert torch.equal(value, with_loss.state_dict()[name])


def test_a_network_without_a_projection_is_refused_with_the_option_that_gives_it_one(model, rows):
    with pytest.raises(ValueError, match=r"contrastive=0\.3 needs .*initialization\.projection"):
        Trainer(model(projection=0), rows, stage(1), OPTIONS)


def test_features_of_one_breed_come_together_when_the_pictures_show_it(model, rows, tmp_path):
    """Measured on all rows at t = .8, with neither text nor breed."""
    rows.images[:] = (40 + 80 * rows.breeds)[:, None, None, None]
    batch = rows.load(np.arange(11))
    samples = batch.samples
    noise = torch.randn(samples.shape, generator=torch.Generator().manual_seed(5))
    t = torch.full((11,), 0.8)
    hidden = rows.null_text.expand(11, -1, -1)

    @torch.no_grad()
    def apart(network):
        x_t = 0.8 * samples + 0.2 * noise
        nothing = torch.full((11,), network.null_breed)
        told = hidden, torch.ones(11, 2, dtype=torch.bool), nothing
        return contrastive_loss(network.with_features(x_t, t, *told)[1], batch.breed, 0.2).item()

    trained = model()
    before = apart(trained)
    logbook = Logbook(tmp_path, 0, b"")
    options = replace(OPTIONS, steps=160, clip=0.5, learning_rate=1e-3)
    Trainer(trained, rows, stage(1), options).run(logbook)
    logbook.close()
    angle = 2 * torch.pi / 3 * batch.breed  # three breeds as far apart as can be
    least = contrastive_loss(torch.stack([angle.cos(), angle.sin()], 1), batch.breed, 0.2).item()
    assert apart(trained) - least < 0.25 * (before - least)
    records = [json.loads(line) for line in logbook.path.read_text().splitlines()]
    assert len([record for record in records if record.get("contrastive_loss", 0) > 0]) > 15


@pytest.mark.parametrize("steps_before", [2, 5])
def test_a_resumed_run_equals_an_unbroken_one_to_the_bit(model, new_rows, tmp_path, steps_before):
    options = replace(OPTIONS, pairs=PairsPlan(2, 2))
    unbroken = Trainer(model(), new_rows(), stage(2), options)
    unbroken.run()
    store = Checkpoints(open_store(str(tmp_path / "store")), "a")
    steps = []
    Trainer(model(), new_rows(), stage(2), options, store).run(
        on_step=steps.append, stop=lambda: len(steps) == steps_before
    )
    again = Trainer(model(seed=9), new_rows(), stage(2), options, store)
    again.run()
    for name, value in unbroken.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name])

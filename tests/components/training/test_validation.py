"""Losses on held-out rows: the right value, the averaged weights, and no trace in the training."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from components.model.autoencoder import pixels_to_samples
from components.model.cores import Cores
from components.training.logbook import Logbook, read_records
from components.training.loop import Trainer
from components.training.run_state import LoopOptions
from components.training.stages import stage
from components.training.validation import AT_MOST_ROWS, TIMES, Validation

CPU = Cores(torch.device("cpu"))
QUICK = LoopOptions(
    steps=7,
    batch=4,
    micro_batch=4,
    learning_rate=1e-2,
    warmup=2,
    ema_decay=0.9,
    validate_every=2,
    log_every=3,
)


def losses(validation, velocity, breed=None, at_most=64):
    return validation.losses(velocity, "linear", breed, CPU, at_most)


def test_an_answer_of_zero_costs_the_mean_square_of_data_minus_noise_at_every_time(rows):
    validation = Validation(rows, seed=3)
    noise = torch.randn(11, 3, 8, 8, generator=torch.Generator().manual_seed(3))
    expected = float((pixels_to_samples(rows.images) - noise).square().mean())
    found = losses(validation, lambda x, *_: torch.zeros_like(x))
    assert found == pytest.approx([expected] * len(TIMES), rel=1e-5)


def test_the_right_velocity_costs_nothing(rows):
    """On the linear path v = (x1 - x_t) / (1 - t), for one who knows the pictures."""
    samples = pixels_to_samples(rows.images)

    def right(x_t, t, hidden, mask, breed):
        return (samples - x_t) / (1 - t)[:, None, None, None]

    one_part = Cores(torch.device("meta"))
    found = Validation(rows, 0).losses(right, "linear", None, one_part, 11)
    assert found == pytest.approx([0.0] * len(TIMES), abs=1e-9)


@pytest.mark.parametrize("at_most", [1, 3, 64])
def test_how_rows_are_cut_changes_nothing(rows, model, at_most):
    found = losses(Validation(rows, 0), model, at_most=at_most)
    assert found == pytest.approx(losses(Validation(rows, 0), model, at_most=11), rel=1e-5)


def test_a_large_set_is_sampled_by_the_seed(new_rows):
    rows = new_rows(count=200)
    Validation(rows, 0), Validation(rows, 0), Validation(rows, 1)
    first, again, other = rows.seen
    assert first == again != other and len(set(first)) == AT_MOST_ROWS


def run(model, rows, validation, folder, number=1, options=QUICK):
    trainer = Trainer(model, rows, stage(number), options, validation=validation)
    logbook = Logbook(folder)
    result = trainer.run(logbook)
    logbook.close()
    return trainer, result, read_records(folder / "training.jsonl")


def test_validating_leaves_weights_averages_and_losses_bit_for_bit(new_model, new_rows, tmp_path):
    held_out = Validation(new_rows(5), seed=0)
    with_it = run(new_model(), new_rows(), held_out, tmp_path / "a")
    without = run(new_model(), new_rows(), None, tmp_path / "b")
    for name, value in with_it[0].model.state_dict().items():
        assert torch.equal(value, without[0].model.state_dict()[name]), name
    for name, value in with_it[0].ema.shadow.items():
        assert torch.equal(value, without[0].ema.shadow[name]), name
    assert with_it[1].loss == without[1].loss
    assert np.isnan(without[1].validation_loss)


def test_it_is_logged_every_so_many_steps_and_after_the_last_from_the_averaged_weights(
    new_model, new_rows, tmp_path
):
    held_out = Validation(new_rows(5), seed=0)
    trainer, result, records = run(new_model(), new_rows(), held_out, tmp_path)
    logged = [record for record in records if "validation_loss" in record]
    assert [record["step"] for record in logged] == [2, 4, 6, 7]
    with trainer.ema.applied(trainer.model):
        by_t = losses(held_out, trainer.model.eval())
    assert logged[-1]["validation_loss_by_t"] == pytest.approx(by_t, rel=1e-5)
    assert result.validation_loss == pytest.approx(np.mean(by_t), rel=1e-5)
    assert by_t != pytest.approx(losses(held_out, trainer.model), rel=1e-5)


def test_a_stage_without_breeds_is_validated_without_them(new_model, new_rows, tmp_path):
    held_out = Validation(new_rows(5), seed=0)
    trainer, result, _ = run(
        new_model(), new_rows(), held_out, tmp_path, number=0, options=replace(QUICK, steps=1)
    )
    with torch.no_grad():
        trainer.model.network.breed_time.weight.normal_()
        trainer.model.network.breed_embedding.weight[:3].normal_()  # what a breed would add
        trainer.model.network.breed_embedding.weight[3].zero_()
    null = torch.full((5,), trainer.model.null_breed)
    with trainer.ema.applied(trainer.model):
        expected = losses(held_out, trainer.model.eval(), breed=null)
    assert result.validation_loss == pytest.approx(np.mean(expected), rel=1e-5)

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from components.data.checkpoints import Checkpoints
from components.data.storage import open_store
from components.model.paths import PATHS, interpolate
from components.training.draws import Dropout, draw, step_generator
from components.training.logbook import Logbook, read_records
from components.training.loop import NonFiniteError, ResumeError, Trainer
from components.training.run_state import LoopOptions
from components.training.stages import stage

HERE = Path(__file__).resolve()
QUICK = LoopOptions(
    steps=14,
    batch=4,
    micro_batch=4,
    learning_rate=1e-2,
    warmup=3,
    ema_decay=0.9,
    checkpoint_every=5,
    log_every=4,
)


def weights(trainer):
    return {**trainer.model.state_dict(), **{f"ema.{k}": v for k, v in trainer.ema.shadow.items()}}


def assert_same_bits(first, second):
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def checkpoints(tmp_path, name="a"):
    return Checkpoints(open_store(str(tmp_path / "store")), name)


def test_training_lowers_the_loss_and_counts_what_it_did(model, rows):
    """Each breed is one flat colour, which the model can learn to the last digit."""
    losses = []
    rows.images[:] = (40 + 80 * rows.breeds)[:, None, None, None]
    options = replace(QUICK, steps=90, dropout=Dropout(0, 0, 0))
    result = Trainer(model, rows, stage(1), options).run(on_step=lambda r: losses.append(r.loss))
    assert np.mean(losses[-20:]) < 0.7 * np.mean(losses[:5])
    assert (result.steps, result.skipped_steps, result.complete) == (90, 0, True)
    assert result.epochs == 29 and result.images_per_s > 0  # 11 rows: 3 steps an epoch


@pytest.mark.parametrize("number", [0, 1, 2])
def test_each_stage_moves_exactly_the_parameters_it_trains(new_model, rows, number):
    model, start = new_model(), new_model().state_dict()
    Trainer(model, rows, stage(number), replace(QUICK, steps=12)).run()
    moved = {name for name, value in model.state_dict().items() if not torch.equal(value, start[name])}
    assert any(name.startswith("network.backbone") for name in moved)
    assert any(name.startswith("text.") for name in moved) == (number > 0)
    assert any("network.breed" in name for name in moved) == (number > 0)


@pytest.mark.parametrize("split", [1, 3])
def test_micro_batches_give_the_gradients_of_the_whole_batch_also_for_a_short_last_one(
    new_model, rows, split
):
    """Batches of 4, 4 and 3 rows: 4x1 and 3+1 must equal 1x4, and 3 rows must weigh as 3."""
    grads = []
    for micro in (4, split):
        trainer = Trainer(new_model(), rows, stage(1), replace(QUICK, micro_batch=micro))
        batch = rows.load(np.array([0, 5, 9] if split == 1 else [0, 1, 5, 9]))
        trainer._backward(batch)
        grads.append([p.grad.clone() for p in trainer._trained()])
    for whole, parts in zip(*grads, strict=True):
        assert torch.allclose(whole, parts, atol=1e-6, rtol=1e-4)


def test_warmup_counts_optimizer_steps_not_micro_batches(model, rows):
    rates = []
    options = replace(QUICK, micro_batch=1, warmup=10, steps=12)
    Trainer(model, rows, stage(0), options).run(on_step=lambda r: rates.append(r.learning_rate))
    assert rates == pytest.approx([1e-3 * n for n in range(1, 11)] + [1e-2, 1e-2])


def test_gradients_are_clipped_to_the_norm(model, rows):
    trainer = Trainer(model, rows, stage(1), replace(QUICK, clip=0.01))
    reported = []
    trainer.run(on_step=lambda r: reported.append(r.gradient_norm), stop=lambda: True)
    clipped = torch.stack([p.grad.norm() for p in trainer._trained()]).norm()
    assert reported[0] > 0.01 and clipped.item() == pytest.approx(0.01, rel=1e-3)


def test_the_average_moves_once_per_optimizer_step_and_weights_stay_raw(model, rows):
    trainer = Trainer(model, rows, stage(0), replace(QUICK, micro_batch=1, steps=5))
    trainer.run()
    assert trainer.ema.updates == 5
    name = "network.backbone.conv_in.weight"
    assert not torch.equal(trainer.ema.shadow[name], model.state_dict()[name])


def test_stage_0_never_sees_a_breed(new_model, rows):
    seen = []
    model = new_model()
    model.network.register_forward_pre_hook(lambda module, args: seen.append(args[4].clone()))
    Trainer(model, rows, stage(0), replace(QUICK, steps=3)).run()
    assert all((breed == model.null_breed).all() for breed in seen)


@pytest.mark.parametrize("steps_before", [1, 4, 5, 9])
def test_resumed_run_equals_an_unbroken_one_to_the_bit(tmp_path, new_model, new_rows, steps_before):
    """Stopped in the middle of an epoch and of a log window; a new process would start with other weights."""
    whole, losses = new_rows(), []
    unbroken = Trainer(new_model(), whole, stage(2), QUICK)
    unbroken.run(on_step=lambda r: losses.append(r.loss))

    first, resumed_losses = new_rows(), []
    trainer = Trainer(new_model(), first, stage(2), QUICK, checkpoints(tmp_path))
    result = trainer.run(
        on_step=lambda r: resumed_losses.append(r.loss), stop=lambda: len(resumed_losses) == steps_before
    )
    assert result.steps == steps_before and not result.complete
    second = new_rows()
    again = Trainer(new_model(seed=9), second, stage(2), QUICK, checkpoints(tmp_path))
    assert again.run(on_step=lambda r: resumed_losses.append(r.loss)).complete
    assert resumed_losses == losses
    assert first.seen[:steps_before] + second.seen == whole.seen
    assert_same_bits(weights(again), weights(unbroken))


def test_running_a_finished_stage_again_trains_nothing(tmp_path, new_model, rows):
    done = Trainer(new_model(), rows, stage(0), QUICK, checkpoints(tmp_path))
    done.run()
    count = len(rows.seen)
    again = Trainer(new_model(seed=3), rows, stage(0), QUICK, checkpoints(tmp_path))
    assert again.run().complete and len(rows.seen) == count
    assert_same_bits(weights(again), weights(done))


def test_a_checkpoint_of_other_rows_is_refused(tmp_path, new_model, new_rows):
    Trainer(new_model(), new_rows(), stage(0), replace(QUICK, steps=5), checkpoints(tmp_path)).run()
    with pytest.raises(ResumeError, match="'rows': 11"):
        Trainer(new_model(), new_rows(count=12), stage(0), QUICK, checkpoints(tmp_path))


SCRIPT = """
import sys, json, torch
sys.path.insert(0, {folder!r})
from conftest import TinyRows, build_model
from test_loop import QUICK, checkpoints, weights
from components.training.loop import Trainer
from components.training.stages import stage
from pathlib import Path
rows = TinyRows()
trainer = Trainer(build_model(seed=int(sys.argv[2])), rows, stage(1), QUICK, checkpoints(Path(sys.argv[1])))
trainer.run()
torch.save(weights(trainer), sys.argv[1] + "/weights.pt")
Path(sys.argv[1], "seen.json").write_text(json.dumps(rows.seen))
"""


def run_script(folder, seed, kill_at=""):
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[3]), "OMP_NUM_THREADS": "1"}
    environment |= {"DOGFLOW_KILL_AT": kill_at} if kill_at else {}
    code = SCRIPT.format(folder=str(HERE.parent))
    return subprocess.run(
        [sys.executable, "-c", code, str(folder), str(seed)], env=environment, timeout=300, check=False
    ).returncode


@pytest.mark.slow
def test_killed_and_resumed_run_equals_an_unbroken_one_to_the_bit(tmp_path):
    """SIGKILL after step 8 (checkpoint at 5), then inside the saving of step 10; then to the end."""
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    broken.mkdir()
    whole.mkdir()
    assert run_script(whole, 0) == 0
    assert run_script(broken, 0, "training.step:8") == -signal.SIGKILL
    assert run_script(broken, 1, "checkpoint.before:1") == -signal.SIGKILL
    assert run_script(broken, 2) == 0
    assert_same_bits(torch.load(broken / "weights.pt"), torch.load(whole / "weights.pt"))
    seen = [json.loads((folder / "seen.json").read_text()) for folder in (broken, whole)]
    assert seen[0] == seen[1][5:]  # the last process went on after step 5


def test_sampling_in_between_changes_no_loss(new_model, new_rows):
    from components.model.generate import SamplingOptions, generate
    from components.model.text import TextStates

    def losses(sample):
        found, rows = [], new_rows()
        trainer = Trainer(new_model(), rows, stage(1), replace(QUICK, steps=6))

        def on_step(report):
            found.append(report.loss)
            if sample:
                torch.randn(7)
                states = TextStates(rows.hidden[:2], torch.ones(2, 5, dtype=torch.bool))
                with trainer.ema.applied(trainer.model):
                    breeds = torch.tensor([0, 1])
                    generate(trainer.model, states, breeds, [0, 1], rows.null_text, SamplingOptions(steps=2))

        trainer.run(on_step=on_step)
        return found

    assert losses(True) == losses(False)


def poisoned(trainer, steps):
    """Makes the network return NaN in the given steps (1-based)."""

    def hook(module, args, output):
        return output * float("nan") if trainer.progress.step + 1 in steps else output

    trainer.model.network.register_forward_hook(hook)
    return trainer


def test_a_step_that_is_not_finite_is_skipped_and_counted(model, rows):
    trainer = poisoned(Trainer(model, rows, stage(0), replace(QUICK, steps=6)), {3})
    reports, bits = [], []

    def on_step(report):
        reports.append(report)
        bits.append(weights(trainer)["network.backbone.conv_in.weight"].clone())

    result = trainer.run(on_step=on_step)
    assert [r.skipped for r in reports] == [False, False, True, False, False, False]
    assert torch.equal(bits[2], bits[1]) and not torch.equal(bits[3], bits[2])
    assert result.skipped_steps == 1 and trainer.ema.updates == 5
    assert np.isfinite(result.loss)


def test_persistent_bad_steps_end_the_run_with_the_reason(model, rows):
    trainer = Trainer(model, rows, stage(0), replace(QUICK, steps=30, max_bad_steps=2))
    with pytest.raises(NonFiniteError, match="3 steps in a row"):
        poisoned(trainer, set(range(4, 99))).run()


def test_log_has_the_loss_by_time_beside_the_floor(tmp_path, model, rows):
    book = Logbook(tmp_path)
    losses = []
    Trainer(model, rows, stage(0), QUICK).run(book, on_step=lambda r: losses.append(r.loss))
    book.close()
    records = read_records(tmp_path / "training.jsonl")
    assert [r["step"] for r in records] == [4, 8, 12, 14]
    assert records[0]["loss"] == pytest.approx(np.mean(losses[:4]))
    assert records[3]["loss"] == pytest.approx(np.mean(losses[12:]))
    assert len(records[0]["loss_by_t"]) == len(records[0]["gaussian_floor_by_t"]) == 10
    std = (rows.images.double() / 127.5 - 1).std().item()
    t = 0.05
    floor = std**2 / (t**2 * std**2 + (1 - t) ** 2)
    assert records[3]["gaussian_floor_by_t"][0] == pytest.approx(floor, rel=0.05)


@pytest.mark.parametrize("path", sorted(PATHS))
@pytest.mark.parametrize("huber_delta", [0.0, 0.5])
def test_path_and_objective_are_those_of_the_options(model, rows, path, huber_delta):
    """The loss of a network that answers 0, from the same draws by hand."""
    model.network.register_forward_hook(lambda module, args, output: 0 * output)
    options = replace(
        QUICK, path=path, huber_delta=huber_delta, batch=11, micro_batch=11, flips=False, steps=1
    )
    found = []
    Trainer(model, rows, stage(1), options).run(on_step=lambda report: found.append(report.loss))

    generator = step_generator(options.seed, 1, 1)
    order = rows.seen[0]
    draws = draw(generator, (11, 3, 8, 8), options.density, options.dropout, flips=False)
    x1 = rows.images[order].permute(0, 3, 1, 2) / 127.5 - 1
    _, v = interpolate(PATHS[path], x1, draws.noise, draws.t)
    cost = torch.where(v.abs() <= huber_delta, v**2, 2 * huber_delta * v.abs() - huber_delta**2)
    expected = (cost if huber_delta else v**2).mean()
    assert found == pytest.approx([expected.item()], rel=1e-5)

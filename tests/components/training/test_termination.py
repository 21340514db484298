"""SIGTERM ends a training after a whole step, with a checkpoint from which it goes on to the same bits."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import torch

from components.data.checkpoints import Checkpoints
from components.data.storage import open_store
from components.training.loop import Trainer
from components.training.run_state import LoopOptions
from components.training.stages import stage
from components.training.termination import Termination

ROOT = Path(__file__).resolve().parents[3]
# No checkpoint but the last step's, and that of a SIGTERM.
QUICK = LoopOptions(
    steps=9, batch=4, micro_batch=4, learning_rate=1e-2, warmup=2, ema_decay=0.9, checkpoint_every=100
)


def test_a_terminated_run_stores_its_step_and_goes_on_to_the_bits_of_an_unbroken_one(
    tmp_path, new_model, new_rows
):
    unbroken = Trainer(new_model(), new_rows(), stage(1), QUICK)
    unbroken.run()
    kept = Checkpoints(open_store(str(tmp_path)), "run")
    first = Trainer(new_model(), new_rows(), stage(1), QUICK, kept)

    def terminate(report):
        if report.step == 4:
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    with Termination() as termination:
        result = first.run(on_step=terminate, stop=termination.asked)
    assert signal.getsignal(signal.SIGTERM) is before
    assert not result.complete and result.steps in (4, 5) and kept.steps() == [result.steps]
    again = Trainer(new_model(seed=5), new_rows(), stage(1), QUICK, kept)
    assert again.run().complete
    for name, value in unbroken.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name


def test_a_second_sigterm_ends_the_process_at_once():
    code = (
        "import os, signal\n"
        "from components.training.termination import Termination\n"
        "with Termination() as termination:\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    assert termination.asked()\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    signal.pause()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False)
    assert done.returncode == -signal.SIGTERM


def test_in_another_thread_signals_are_left_alone():
    before = signal.getsignal(signal.SIGTERM)

    def inside():
        with Termination() as termination:
            return signal.getsignal(signal.SIGTERM), termination.asked()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(inside).result() == (before, False)


def test_a_run_that_nobody_ended_is_complete(new_model, new_rows):
    with Termination() as termination:
        result = Trainer(new_model(), new_rows(), stage(1), replace(QUICK, steps=2)).run(
            stop=termination.asked
        )
    assert result.complete and not termination.asked()

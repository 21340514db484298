"""Runs chains of steps in processes that a test may kill; see `Steps` in conftest.py.

Importing torch and open_clip costs more than every step of a tiny set together, so this process imports them
once and forks a child per chain. It opens no store and computes no tensor itself, so a child starts clean.

stdin holds one JSON command a line, stdout one JSON answer a line:
{"start": chain} -> {"pid": n}; {"wait": n} -> {"returncode": n}; {"poll": n} -> {"returncode": n or null}.
Returncodes are those of subprocess: -9 for a process that died by SIGKILL.
"""

import importlib
import json
import os
import signal
import sys
import traceback
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet  # noqa: F401 - imported here so that no child has to
import torch

from components.data.identity import code_version
from components.data.manifest import sha256_hex
from components.data.scores import ScoreCache
from components.evaluation import fidelity
from components.foreground import sam_segmenter  # noqa: F401
from components.model import clip, text  # noqa: F401
from components.model.network import PRESETS, NetworkConfig
from pipelines.commands.step import step_summaries
from pipelines.runners.bare import run_step

TINY = NetworkConfig(
    preset="tiny", size_px=16, widths=(8, 16), attention=(False, True), layers=1, heads=2, groups=4
)
TINY_LATENT = replace(TINY, preset="tiny-latent", scale=2, channels=4, patch=1)
_ended: dict[int, int] = {}


def run_chain(chain: dict[str, Any]) -> None:
    """Run the steps one after the other.

    `chain["result"]` gets {"paths": {step: path of its manifest}, "sha256": {step: of what it returned}}.
    """
    os.environ.update(chain["environment"])
    if chain["flush_every_s"] is not None:
        # A tiny set is scored before the first flush would be due.
        ScoreCache.__init__.__kwdefaults__["flush_every_s"] = chain["flush_every_s"]  # type: ignore[index]
    made: dict[str, str] = dict(chain["done"])
    returned = {}
    for step in chain["steps"]:
        manifest = run_step(
            step["name"],
            [made[name] for name in step["inputs"]],
            chain["data_root"],
            step["options"],
            partition=step["partition"],
            partitions=step["partitions"],
        )
        made[step["as"]] = manifest.path
        returned[step["as"]] = sha256_hex(manifest.to_bytes())
    Path(chain["result"]).write_text(json.dumps({"paths": made, "sha256": returned}))


def start(chain: dict[str, Any]) -> int:
    """Fork a child for the chain; its output goes to `chain["log"]`."""
    pid = os.fork()
    if pid:
        return pid
    log = os.open(chain["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    code = 1
    try:
        run_chain(chain)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def returncode(pid: int, wait: bool) -> int | None:
    """What subprocess would say of a child; None while it runs."""
    if pid not in _ended:
        ended, status = os.waitpid(pid, 0 if wait else os.WNOHANG)
        if not ended:
            return None
        _ended[pid] = os.waitstatus_to_exitcode(status)
    return _ended[pid]


def main() -> None:
    """Serve until stdin ends, then end the children that still run."""
    torch.set_num_threads(1)
    PRESETS["tiny"], PRESETS["tiny-latent"] = TINY, TINY_LATENT
    # Its least number of training steps takes longer than all other steps together.
    fidelity.ClassifierOptions = partial(fidelity.ClassifierOptions, min_steps=3)
    for step in step_summaries():
        # All code is read once, so that a session of tests is of one version although somebody edits a file.
        importlib.import_module(f"components.{step}.step")
        code_version(step)
    running: set[int] = set()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        if "start" in command:
            pid = start(command["start"])
            running.add(pid)
            answer: dict[str, Any] = {"pid": pid}
        elif "wait" in command:
            answer = {"returncode": returncode(command["wait"], wait=True)}
        else:
            answer = {"returncode": returncode(command["poll"], wait=False)}
        print(json.dumps(answer), flush=True)
    for pid in running - _ended.keys():
        os.kill(pid, signal.SIGKILL)
    os._exit(0)  # tearing down what was imported takes seconds and does nothing


if __name__ == "__main__":
    main()

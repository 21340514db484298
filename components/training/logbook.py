"""What a run writes down: a JSONL file and TensorBoard, both resumable."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch.utils.tensorboard import SummaryWriter


class Logbook:
    """Records of one run in `folder`: `training.jsonl` and TensorBoard event files.

    After a resume at step n, what was logged past n is dropped, so no step appears twice. `earlier` is the
    log of a checkpoint; it is taken where the folder has none, as after a restart on another machine.
    """

    def __init__(self, folder: Path, resume_step: int = 0, earlier: bytes = b"") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "training.jsonl"
        is_new = not self.path.exists()
        if is_new:
            self.path.write_bytes(earlier)
        kept = [record for record in read_records(self.path) if record["step"] <= resume_step]
        self.path.write_text("".join(json.dumps(record) + "\n" for record in kept))
        self._written = {_kind(record) for record in kept}
        self._board = SummaryWriter(str(folder), purge_step=resume_step + 1)
        for record in kept if is_new else []:
            self._show(record)

    def add(self, record: dict[str, Any], histograms: Mapping[str, Sequence[float]] | None = None) -> None:
        """`record["step"]` and flat numbers; lists are curves over t. NaN is written as null.

        Histograms go to TensorBoard alone. What a killed run wrote of the same step and names stays as it is.
        """
        if _kind(record) in self._written:
            return
        self._written.add(_kind(record))
        clean = {name: _finite(value) for name, value in record.items()}
        with self.path.open("a") as file:
            file.write(json.dumps(clean) + "\n")
        for name, values in (histograms or {}).items():
            if len(values):
                self._board.add_histogram(name, np.asarray(values), record["step"])
        self._show(clean)

    def _show(self, record: dict[str, Any]) -> None:
        """Put a record of finite numbers, None and lists of them on TensorBoard."""
        for name, value in record.items():
            if name == "step" or value is None:
                continue
            values = enumerate(value) if isinstance(value, list) else [("", value)]
            for index, number in values:
                tag = f"{name}/{index:02d}" if isinstance(index, int) else f"training/{name}"
                if number is not None:
                    self._board.add_scalar(tag, number, record["step"])
        self._board.flush()

    def close(self) -> None:
        self._board.close()


def _kind(record: Mapping[str, Any]) -> tuple[int, frozenset[str]]:
    return record["step"], frozenset(record)


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_records(path: Path) -> list[dict[str, Any]]:
    """All whole records of a JSONL log; a last line cut off by a kill is left out."""
    records = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            records.append(json.loads(line))
        except ValueError:
            break
    return records

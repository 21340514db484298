"""Checkpoints of a run in object storage: written so that a kill at any moment leaves a good one.

A checkpoint is a folder `<prefix>/step-<n>/` of files named by their content, and a `manifest.json` written
last, which lists them with their sha256. No manifest: not a checkpoint. Restoring takes the newest one whose
files verify.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.data.artifacts import StoredFile, StoredFileError, fetch_file, store_file
from components.data.killpoints import killpoint
from components.data.storage import NotFound, Store

_STEP = re.compile(r"step-(\d{9})/manifest\.json$")


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint: `about` is what the writer said of it, `files` the bytes by role."""

    step: int
    about: dict[str, Any]
    files: dict[str, bytes]


class Checkpoints:
    """The checkpoints of one run under `prefix`; keeps the newest `keep` of them."""

    def __init__(self, store: Store, prefix: str, keep: int = 2) -> None:
        if keep < 1:
            raise ValueError(f"at least one checkpoint must be kept, got keep={keep}")
        self.store, self.prefix, self.keep = store, prefix.rstrip("/"), keep

    def save(self, step: int, files: Mapping[str, bytes], about: Mapping[str, Any]) -> None:
        """Write all files (name with suffix -> bytes), then the manifest, then drop what is too old."""
        folder = f"{self.prefix}/step-{step:09d}"
        stored = {}
        for name, data in files.items():
            killpoint("checkpoint.file")
            stored[name] = store_file(self.store, folder, name, data).model_dump()
        killpoint("checkpoint.before")
        manifest = {"step": step, "about": dict(about), "files": stored}
        self.store.write(f"{folder}/manifest.json", json.dumps(manifest, indent=1).encode())
        killpoint("checkpoint.after")
        self._prune()

    def newest(self) -> Checkpoint | None:
        """The newest checkpoint that verifies; damaged ones are skipped with a warning. None: start anew."""
        for step in self.steps():
            try:
                return self._read(step)
            except (StoredFileError, NotFound, KeyError, ValueError) as error:
                warnings.warn(f"checkpoint of step {step} is skipped: {error}", RuntimeWarning, stacklevel=2)
        return None

    def steps(self) -> list[int]:
        """Steps that have a manifest, newest first."""
        found = (_STEP.search(entry.path) for entry in self.store.list(f"{self.prefix}/"))
        return sorted((int(match[1]) for match in found if match), reverse=True)

    def _read(self, step: int) -> Checkpoint:
        manifest = json.loads(self.store.read(f"{self.prefix}/step-{step:09d}/manifest.json"))
        files = {name: fetch_file(self.store, StoredFile(**file)) for name, file in manifest["files"].items()}
        return Checkpoint(step, manifest["about"], files)

    def _prune(self) -> None:
        """Drop old checkpoints, manifest first: a half-deleted one is then no checkpoint at all."""
        old = set(self.steps()[self.keep :])
        for step in old:
            folder = f"{self.prefix}/step-{step:09d}"
            self.store.delete(f"{folder}/manifest.json")
            for path in list(_paths(self.store, f"{folder}/")):
                self.store.delete(path)

    def clear(self) -> None:
        """Delete every checkpoint; for a run whose final model is stored."""
        for path in sorted(
            _paths(self.store, f"{self.prefix}/"), key=lambda p: not p.endswith("manifest.json")
        ):
            self.store.delete(path)


def _paths(store: Store, prefix: str) -> Iterator[str]:
    return (entry.path for entry in list(store.list(prefix)))

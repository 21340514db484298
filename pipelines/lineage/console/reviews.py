"""Marks of a person who looks at photos, appended to a reviews file that `ingest` reads.

The file is JSONL, `<home>/reviews/<dataset>.jsonl`; later lines win, so an undo is one more line. Every mark
is one write at the end of the file under a lock, so that two tabs, or two consoles, lose none.
"""

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from components.ingest.reviews import NO_BREED, Review

Action = Literal["reviewed", "wrong", "undo"]
FOLDER = "reviews"


class MarkError(ValueError):
    """A mark that cannot be made; the message says why."""


@dataclass(frozen=True)
class Mark:
    """The last line about a photo. `action` is "" when it only takes an earlier line back."""

    image_id: str
    action: str
    breed: str  # "" keeps the label, "-" takes it away, else the right breed's key


class ReviewsFile:
    """The reviews of one dataset's name."""

    def __init__(self, home: Path, dataset_name: str) -> None:
        if not dataset_name or dataset_name != Path(dataset_name).name or dataset_name.startswith("."):
            raise MarkError(f"{dataset_name!r} is no name of a dataset.")
        self.path = home / FOLDER / f"{dataset_name}.jsonl"

    def marks(self) -> dict[str, Mark]:
        """The mark of every photo that has one, by image id. Lines that are no JSON are passed over."""
        found: dict[str, Mark] = {}
        for line in self._lines():
            try:
                values = json.loads(line)
                mark = Mark(values["image_id"], values.get("mark", "reviewed"), values.get("breed", ""))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            if mark.action:
                found[mark.image_id] = mark
            else:
                found.pop(mark.image_id, None)
        return found

    def add(self, image_id: str, action: Action, before: Review, breed: str = "") -> None:
        """Append a mark. `before`: what the dataset says of the photo, to which an undo goes back.

        "reviewed": a person agrees with the label. "wrong": the label is wrong; `breed` is the right breed's
        key, "" where the person does not know it, which takes the label away.
        """
        if action == "undo":
            line = {"image_id": image_id, "mark": "", "reviewed": before.reviewed, "breed": before.breed}
        else:
            right = "" if action == "reviewed" else breed or NO_BREED
            line = {"image_id": image_id, "mark": action, "reviewed": True, "breed": right}
        self._append(json.dumps(line, ensure_ascii=False))

    def _append(self, line: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # A line that a full disk cut short must not swallow this one.
            size = os.fstat(descriptor).st_size
            cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            data = (("\n" if cut else "") + line + "\n").encode()
            if os.write(descriptor, data) != len(data):
                raise MarkError(f"{self.path} has no room for another mark: free some disk space.")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _lines(self) -> list[str]:
        try:
            return self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []

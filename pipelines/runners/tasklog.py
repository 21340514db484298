"""What a task's log says: its progress, its error, its last lines."""

import re
from pathlib import Path

# components.data.progress writes it: `quality 512/2,048 rows, 210 rows/s, ETA 7 s, loss 0.31`.
_PROGRESS = re.compile(r"^.+? (?P<work>[\d,]+/[\d,]+ \S+, [\d,.]+ \S+/s(, .+)?)$")
_RAISED = re.compile(
    r"^(?P<type>[A-Za-z_][\w.]*(Error|Exception|Denied|Unavailable|Found|Full)): (?P<text>.+)$"
)
_KILLED = {
    137: "It was killed (SIGKILL): usually because memory ran out. Give it fewer workers or smaller batches.",
    139: "It crashed inside a native library (SIGSEGV).",
    143: "It was stopped (SIGTERM).",
}


class ProgressReader:
    """Follows a growing log and keeps its last progress line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""
        self.last = ""

    def read(self) -> str:
        """Read what is new; returns the last progress line without the label, "" before the first."""
        try:
            with self._path.open("rb") as log:
                log.seek(self._offset)
                new = log.read()
        except OSError:
            return self.last
        self._offset += len(new)
        *lines, self._rest = (self._rest + new).split(b"\n")
        for line in reversed(lines):
            text = line.decode(errors="replace").strip()
            if progress := _PROGRESS.match(text):
                self.last = progress["work"]
                break
        return self.last


def last_lines(path: Path, count: int = 15, limit_bytes: int = 64_000) -> list[str]:
    """The last lines of a log that say something."""
    try:
        with path.open("rb") as log:
            size = log.seek(0, 2)
            log.seek(max(0, size - limit_bytes))
            text = log.read().decode(errors="replace")
    except OSError:
        return []
    return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]


def error_sentence(path: Path, returncode: int) -> str:
    """Why a task failed: the message of the exception it ended with, else what its exit code means."""
    lines = last_lines(path, count=200)
    for index in range(len(lines) - 1, -1, -1):
        raised = _RAISED.match(lines[index])
        if raised:
            return _message(raised, lines[index + 1 :])
    return _KILLED.get(returncode, f"It ended with exit code {returncode} and no error message.")


def _message(raised: "re.Match[str]", following: list[str]) -> str:
    """The exception's text; its type only where the text is not a sentence written for users."""
    kind = raised["type"].rpartition(".")[2]
    text = " ".join([raised["text"], *(line.strip() for line in following)])
    return text if kind not in _PYTHONS_OWN else f"{kind}: {text}"


_PYTHONS_OWN = {
    "AssertionError",
    "AttributeError",
    "ImportError",
    "IndexError",
    "KeyError",
    "MemoryError",
    "ModuleNotFoundError",
    "NameError",
    "NotImplementedError",
    "OSError",
    "RecursionError",
    "RuntimeError",
    "TypeError",
    "UnboundLocalError",
    "ZeroDivisionError",
}

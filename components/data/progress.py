"""Progress of long work, as plain lines that a log keeps and a runner's terminal view reads."""

import sys
import threading
import time
from typing import TextIO


class Progress:
    """Counts finished units and prints `STEP 512/2,048 rows, 210 rows/s, ETA 7 s` at most once a second."""

    def __init__(
        self,
        label: str,
        total: int,
        unit: str = "rows",
        *,
        every_s: float = 1.0,
        stream: TextIO | None = None,
    ):
        self.label, self.total, self.unit, self.every_s = label, total, unit, every_s
        self.done = 0
        self._skipped = 0
        self._stream = stream
        self._lock = threading.Lock()
        self._start = self._last = time.monotonic()

    def add(self, count: int = 1, note: str = "") -> None:
        """Count `count` more units; `note` (a loss, say) ends the line."""
        with self._lock:
            self.done += count
            now = time.monotonic()
            if now - self._last < self.every_s and self.done < self.total:
                return
            self._last = now
            print(self.line(now - self._start, note), file=self._stream or sys.stderr, flush=True)

    def skip(self, count: int) -> None:
        """Count units that were found done; they say nothing about the rate."""
        with self._lock:
            self.done += count
            self._skipped += count
            if self.done >= self.total:
                print(
                    f"{self.label} {self.done:,}/{self.total:,} {self.unit}, {self._skipped:,} done before",
                    file=self._stream or sys.stderr,
                    flush=True,
                )

    def line(self, elapsed_s: float, note: str = "") -> str:
        """The line for the present count."""
        rate = (self.done - self._skipped) / elapsed_s if elapsed_s > 0 else 0.0
        left = f", ETA {(self.total - self.done) / rate:.0f} s" if rate > 0 and self.done < self.total else ""
        rate_text = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2f}"
        tail = f", {note}" if note else ""
        return f"{self.label} {self.done:,}/{self.total:,} {self.unit}, {rate_text} {self.unit}/s{left}{tail}"

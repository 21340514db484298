"""SIGTERM while training: finish the step, store a checkpoint, end."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Termination:
    """Inside the block a SIGTERM sets `asked` instead of ending the process; a second one ends it at once.

    Schedulers, Ctrl-C of a run and Kubernetes all send SIGTERM first and leave some seconds. Signals belong
    to the main thread: in any other the block changes nothing.
    """

    EXIT_CODE = 128 + signal.SIGTERM

    def __init__(self) -> None:
        self._asked = False
        self._before: Any = None
        self._is_main = threading.current_thread() is threading.main_thread()

    def asked(self) -> bool:
        """Whether the process was told to end."""
        return self._asked

    def __enter__(self) -> Termination:
        if self._is_main:
            self._before = signal.signal(signal.SIGTERM, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_main:
            signal.signal(signal.SIGTERM, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._asked = True
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

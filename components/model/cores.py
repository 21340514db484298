"""A batch over the cores of a CPU: parts of it in threads, one core each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

PartT = TypeVar("PartT")
ResultT = TypeVar("ResultT")


class Cores:
    """`map` over parts of a batch, in order: one thread a core on a CPU, one part after the other elsewhere.

    torch's own threads share each small operation and wait for one another some thousand times a step. That
    waiting costs more than the sharing brings, asleep (twice the time, measured on 2 cores) as well as
    spinning (ten times the time beside a second process). Whole parts need no waiting.
    """

    def __init__(self, device: torch.device) -> None:
        self.count = torch.get_num_threads() if device.type == "cpu" else 1
        self._pool = None
        if self.count > 1:
            self._pool = ThreadPoolExecutor(
                self.count, "core", initializer=torch.set_num_threads, initargs=(1,)
            )

    def parts(self, rows: int, at_most: int) -> list[slice]:
        """`rows` cut for these cores, with at most `at_most` rows in work at any time."""
        size = max(1, -(-min(at_most, rows) // self.count))
        return [slice(at, min(at + size, rows)) for at in range(0, rows, size)]

    def map(self, function: Callable[[PartT], ResultT], parts: Iterable[PartT]) -> Iterator[ResultT]:
        """Results in the order of the parts; the first error is raised where its result would have come."""
        return (self._pool.map if self._pool else map)(function, parts)

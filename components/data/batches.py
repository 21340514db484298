"""Batches through a model, where one bad item must cost one row and not its batch."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def answers(
    function: Callable[[Sequence[Item]], Iterable[Answer]], items: Sequence[Item]
) -> list[Answer | ValueError]:
    """One answer per item of `function(items)`; when that raises ValueError, each item is tried alone.

    Only ValueError is a fault of an item; anything else (no memory, a bug) is raised.
    """
    if not items:
        return []
    try:
        return list(function(items))
    except ValueError as error:
        if len(items) == 1:
            return [error]
    return [answer for item in items for answer in answers(function, [item])]

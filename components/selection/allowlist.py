"""Which sources a data set takes, by the name that each row states."""

from collections.abc import Sequence
from fnmatch import fnmatchcase


def is_allowed(source: str, allowed: Sequence[str]) -> bool:
    """Tell whether a source is on the list: names or patterns with * and ?, without regard to case.

    An empty list takes every source. A row that states no source is taken only by an empty list or by "*".
    """
    if not allowed:
        return True
    name = source.strip().casefold()
    return any(fnmatchcase(name, entry.strip().casefold()) for entry in allowed)

"""What the embedded S3 server costs, next to a plain folder."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from itertools import count
from typing import Any

import numpy as np

from components.data.storage import Store, open_store
from pipelines.bench.figures import Report, conditions, race
from pipelines.bench.places import PLACES


def bench_store(
    megabytes: int = 64, small: int = 100, rounds: int = 3, seed: int = 0, places: Mapping[str, Any] = PLACES
) -> Report:
    """Rates of large objects (one of `megabytes`) and of `small` objects of 1 KB, one after the other."""
    report = Report("store", conditions=conditions(megabytes=megabytes, small_objects=small))
    for place, opened in places.items():
        _bench_place(report, place, opened(), megabytes, small, rounds, seed)
    return report


def _bench_place(
    report: Report,
    place: str,
    opened: AbstractContextManager[str],
    megabytes: int,
    small: int,
    rounds: int,
    seed: int,
) -> None:
    large = np.random.default_rng(seed).bytes(megabytes * 1_000_000)
    with opened as uri:
        store, turns = open_store(uri), count()
        timings = race(
            {
                "put": lambda: store.write("large", large),
                "get": lambda: get(store, "large", large),
                "small_put": lambda: put_small(store, "small", small),
                "small_create": lambda: create_small(store, f"created-{next(turns)}", small),
                "small_get": lambda: get_small(store, "small", small),
            },
            rounds,
        )
    report.add(f"{place}: put", megabytes / timings["put"].wall, "MB/s")
    report.add(f"{place}: get", megabytes / timings["get"].wall, "MB/s")
    report.add(f"{place}: put small objects", small / timings["small_put"].wall, "1/s")
    report.add(f"{place}: create small objects if absent", small / timings["small_create"].wall, "1/s")
    report.add(f"{place}: get small objects", small / timings["small_get"].wall, "1/s")


def get(store: Store, path: str, expected: bytes) -> None:
    """Read an object back; RuntimeError when it is not what was put."""
    if store.read(path) != expected:
        raise RuntimeError(f"{store.locate(path)} came back with other bytes than were put.")


def put_small(store: Store, folder: str, objects: int) -> None:
    """Put objects of 1 KB, the size of a receipt."""
    for index in range(objects):
        store.write(f"{folder}/{index}", index.to_bytes(4, "little") * 256)


def create_small(store: Store, folder: str, objects: int) -> None:
    """The same by put-if-absent; RuntimeError when a new name is taken."""
    for index in range(objects):
        if not store.create(f"{folder}/{index}", index.to_bytes(4, "little") * 256):
            raise RuntimeError(f"{store.locate(folder)}/{index} existed before it was created.")


def get_small(store: Store, folder: str, objects: int) -> None:
    """Read them back."""
    for index in range(objects):
        get(store, f"{folder}/{index}", index.to_bytes(4, "little") * 256)

"""The score cache: appended, shared, keyed by policy."""

import threading

import pyarrow as pa
import pytest

from components.data.scores import ScoreCache
from components.data.storage import open_store

SCHEMA = pa.schema([pa.field("ratio", pa.float32()), pa.field("rle", pa.large_binary())])


@pytest.fixture
def store(store_uri):
    return open_store(store_uri)


def open_cache(store, model="m", **options):
    return ScoreCache(store, "foreground", {"model": model}, SCHEMA, **options)


def test_values_survive_the_process_that_wrote_them(store):
    with open_cache(store) as cache:
        cache.put("a", {"ratio": 0.5, "rle": b"\0\1"})
        assert cache.get("a") == {"ratio": 0.5, "rle": b"\0\1"}
    again = open_cache(store)
    assert again.get("a") == {"ratio": 0.5, "rle": b"\0\1"}
    assert again.get("b") is None
    assert len(again) == 1


def test_another_policy_is_another_cache(store):
    with open_cache(store) as cache:
        cache.put("a", {"ratio": 0.5, "rle": None})
    assert "a" not in open_cache(store, model="other")


def test_puts_are_flushed_on_time_and_a_crash_loses_only_what_came_after(store):
    cache = open_cache(store, flush_every_s=0)
    cache.put("a", {"ratio": 1.0, "rle": None})
    unflushed = open_cache(store, flush_every_s=1e9)
    unflushed.put("b", {"ratio": 1.0, "rle": None})
    assert "a" in open_cache(store)
    assert "b" not in open_cache(store)


def test_an_error_on_the_way_keeps_what_was_scored(store):
    with pytest.raises(RuntimeError), open_cache(store, flush_every_s=1e9) as cache:
        cache.put("a", {"ratio": 1.0, "rle": None})
        raise RuntimeError
    assert "a" in open_cache(store)


def test_two_writers_of_one_cache_lose_nothing(store):
    def write(first):
        with open_cache(store, flush_every_s=0) as cache:
            for number in range(first, first + 10):
                cache.put(str(number), {"ratio": float(number), "rle": None})

    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cache = open_cache(store)
    assert {str(n): cache.get(str(n))["ratio"] for n in range(15)} == {str(n): float(n) for n in range(15)}

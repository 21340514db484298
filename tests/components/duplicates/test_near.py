"""Near pairs equal brute force: none missed, none invented, within bounded memory."""

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.duplicates import near
from components.duplicates.groups import connected
from components.duplicates.near import near_pairs


def all_pairs(chunks: Iterable[tuple[np.ndarray, np.ndarray]]) -> set[tuple[int, int]]:
    return {(min(a, b), max(a, b)) for i, j in chunks for a, b in zip(i.tolist(), j.tolist(), strict=True)}


def brute(hashes: np.ndarray, distance: int) -> set[tuple[int, int]]:
    near_enough = np.bitwise_count(hashes[:, None] ^ hashes[None]) <= distance
    return {(a, b) for a, b in zip(*(x.tolist() for x in np.nonzero(near_enough)), strict=True) if a < b}


def planted(rng: np.random.Generator, bases: int, copies: int, flips: int) -> np.ndarray:
    """Distinct base hashes, each followed by copies with up to `flips` bits turned over."""
    base = rng.integers(0, 2**64, bases, dtype=np.uint64)
    result = [base]
    for _ in range(copies):
        copy = base.copy()
        for _ in range(flips):
            copy ^= np.uint64(1) << rng.integers(0, 64, bases).astype(np.uint64)
        result.append(copy)
    return rng.permutation(np.concatenate(result))


@pytest.mark.parametrize("distance", [0, 1, 2, 3, 5, 8, 12, 20, 63])
def test_distinct_hashes_give_exactly_the_pairs_of_brute_force(distance: int):
    hashes = np.unique(planted(np.random.default_rng(distance), 60, 4, 4))
    assert all_pairs(near_pairs(hashes, distance)) == brute(hashes, distance)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.integers(0, 2**64 - 1) | st.integers(0, 7) | st.sampled_from([2**63, 2**64 - 1]), max_size=40
    ),
    st.integers(0, 10),
)
def test_components_equal_brute_force_on_any_hashes(values: list[int], distance: int):
    hashes = np.array(values, dtype=np.uint64)
    pairs = all_pairs(near_pairs(hashes, distance))
    wanted = brute(hashes, distance)
    assert pairs <= wanted
    edges = np.array(sorted(wanted), dtype=np.int64).reshape(-1, 2)
    expected = connected(len(values), [(edges[:, 0], edges[:, 1])])
    np.testing.assert_array_equal(connected(len(values), near_pairs(hashes, distance)), expected)


@pytest.mark.parametrize("bands", [3, 4, 6, 9])
def test_every_number_of_bands_finds_the_same_pairs(bands: int, monkeypatch: pytest.MonkeyPatch):
    hashes = np.unique(planted(np.random.default_rng(8), 40, 4, 5))
    monkeypatch.setattr(near, "band_count", lambda rows, distance: bands)
    assert all_pairs(near_pairs(hashes, 8)) == brute(hashes, 8)


def test_the_bands_cover_what_the_distance_asks_for():
    for rows in (1, 1000, 1_000_000):
        for distance in range(1, 64):
            assert 3 <= near.band_count(rows, distance) <= max(3, distance + 1)


@pytest.mark.parametrize("chunk", [1, 3, 64])
def test_small_chunks_change_nothing(chunk: int, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(9)
    hashes = np.unique(rng.integers(0, 200, 120, dtype=np.uint64))  # bands of zeros: one bucket of all
    monkeypatch.setattr(near, "_CHUNK_PAIRS", chunk)
    sizes = [len(i) for i, _ in near_pairs(hashes, 3)]
    assert max(sizes) <= chunk
    assert all_pairs(near_pairs(hashes, 3)) == brute(hashes, 3)


def test_equal_hashes_are_chained_not_squared():
    hashes = np.full(200_000, 7, dtype=np.uint64)
    assert sum(len(i) for i, _ in near_pairs(hashes, 4)) == len(hashes) - 1


def test_no_hashes_give_no_pairs():
    assert list(near_pairs(np.array([], dtype=np.uint64), 4)) == []
    assert list(near_pairs(np.array([1], dtype=np.uint64), 4)) == []


@pytest.mark.parametrize("distance", [-1, 64])
def test_an_impossible_distance_is_named(distance: int):
    with pytest.raises(ValueError, match=f"distance is {distance}"):
        list(near_pairs(np.array([1, 2], dtype=np.uint64), distance))


def test_two_hundred_thousand_hashes_compare_few_pairs(monkeypatch: pytest.MonkeyPatch):
    hashes = planted(np.random.default_rng(3), 100_000, 1, 3)
    compared = 0
    real = np.bitwise_count

    def counting(x: np.ndarray) -> np.ndarray:
        nonlocal compared
        compared += x.size
        return real(x)

    monkeypatch.setattr(np, "bitwise_count", counting)
    found = all_pairs(near_pairs(hashes, 3))
    assert len(found) >= 99_000  # a planted copy may fall on its base when flips cancel
    assert compared < 0.001 * len(hashes) ** 2 / 2

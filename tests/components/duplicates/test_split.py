"""Splits follow the group, keep their fractions, and stay when photos are added."""

import hashlib

import numpy as np
import pytest

from components.duplicates.split import position, split_of

IDS = [hashlib.sha256(str(i).encode()).hexdigest()[:32] for i in range(20_000)]


def test_the_fractions_are_kept():
    splits = [split_of(i, val_fraction=0.05, test_fraction=0.1) for i in IDS]
    # Four standard deviations of a binomial share of 20,000 groups.
    for name, fraction in (("val", 0.05), ("test", 0.1), ("train", 0.85)):
        spread = 4 * np.sqrt(fraction * (1 - fraction) / len(IDS))
        assert splits.count(name) / len(IDS) == pytest.approx(fraction, abs=spread)


def test_a_known_group_never_moves():
    wanted = int(hashlib.sha256(b"0/abc").hexdigest()[:16], 16) / 2**64
    assert position("abc", 0) == pytest.approx(wanted, abs=2**-52)
    assert split_of("abc", val_fraction=wanted - 1e-9, test_fraction=0) == "train"
    assert split_of("abc", val_fraction=wanted + 1e-9, test_fraction=0) == "val"
    assert split_of("abc", val_fraction=0, test_fraction=wanted + 1e-9) == "test"


def test_more_test_takes_nothing_out_of_test():
    few = {i for i in IDS[:2000] if split_of(i, val_fraction=0.1, test_fraction=0.1) == "test"}
    many = {i for i in IDS[:2000] if split_of(i, val_fraction=0.1, test_fraction=0.2) == "test"}
    assert few < many


def test_another_seed_is_another_split():
    a, b = ([split_of(i, val_fraction=0.3, test_fraction=0.3, seed=s) for i in IDS[:500]] for s in (0, 1))
    assert a != b


@pytest.mark.parametrize(("val", "test"), [(-0.1, 0.1), (0.1, 1.0), (0.5, 0.5), (float("nan"), 0.1)])
def test_impossible_fractions_are_named(val: float, test: float):
    with pytest.raises(ValueError, match="fraction"):
        split_of("a", val_fraction=val, test_fraction=test)

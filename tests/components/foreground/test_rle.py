"""Run lengths: round trip, hand-made vectors of COCO's format, and segment_anything's own counts."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from segment_anything.utils.amg import mask_to_rle_pytorch

from components.foreground.rle import RleError, counts_of, decode, encode, to_coco


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_decoding_gives_back_any_mask(height, width, density, seed):
    mask = np.random.default_rng(seed).random((height, width)) < density
    decoded = decode(encode(mask))
    assert decoded.dtype == bool
    np.testing.assert_array_equal(decoded, mask)


def test_counts_run_down_the_columns_and_equal_segment_anythings():
    mask = np.zeros((3, 4), bool)
    mask[1:, 1] = True
    mask[0, 2] = True
    assert counts_of(mask) == [4, 3, 5]  # the two runs touch: down column 1, on at the top of column 2
    for seed in range(5):
        noise = np.random.default_rng(seed).random((17, 23)) < 0.4
        expected = mask_to_rle_pytorch(torch.from_numpy(noise)[None])[0]
        assert expected["size"] == [17, 23]
        assert counts_of(noise) == expected["counts"]


def test_compressed_counts_equal_a_vector_worked_out_by_hand():
    # Counts 6 1 40 4 5 4 5: from the fourth on minus the one two before: 6 1 40 3 -35 0 0.
    # 6 -> "6"; 1 -> "1"; 40 = 01000 + 1*32 -> 8+32+48 = "X", 1+48 = "1"; 3 -> "3";
    # -35: low five bits 11101 = 29, rest -2: 29+32+48 = "m", then 30+48 = "N"; 0 -> "0"; 0 -> "0".
    counts = [6, 1, 40, 4, 5, 4, 5]
    flat = np.repeat(np.arange(7) % 2 == 1, counts)
    mask = flat.reshape(5, 13).T
    assert to_coco(encode(mask)) == {"size": [13, 5], "counts": "61X13mN00"}


def test_a_full_and_an_empty_mask():
    assert counts_of(np.ones((2, 3), bool)) == [0, 6]
    assert counts_of(np.zeros((2, 3), bool)) == [6]
    assert decode(encode(np.ones((2, 3), bool))).all()


def test_a_large_mask_takes_kilobytes():
    rows, columns = np.ogrid[:3000, :4000]
    disc = (rows - 1500) ** 2 + (columns - 2000) ** 2 < 1200**2
    data = encode(disc)
    assert len(data) < 16_000
    np.testing.assert_array_equal(decode(data), disc)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"abc", "at least 8 bytes"),
        (encode(np.zeros((4, 4), bool))[:8] + b"3", "cover 3 pixels of 4 x 4"),
        (encode(np.ones((4, 4), bool))[:-1], "ends within a number"),
        (encode(np.ones((4, 4), bool)) + b"5", "cover 21 pixels"),
        (encode(np.zeros((9, 9), bool))[:8] + b"\x00", "Byte 8"),
        (encode(np.zeros((9, 9), bool))[:8] + b"X", "ends within a number"),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff1", "too large"),
        (encode(np.zeros((4, 4), bool))[:8] + b"2N1", "cover"),
    ],
)
def test_broken_bytes_are_named_not_decoded(data, message):
    with pytest.raises(RleError, match=message):
        decode(data)

"""Content digests: equal to the rule as written down, and blind to order, files and floats only."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest

from components.data.digest import BLOCK_ROWS, add_digests, content_digest

TABLE = pa.table(
    {
        "image_id": ["a", "b", "c"],
        "words": pa.array([1, None, 3], pa.int32()),
        "score": pa.array([0.1, 0.2, 0.3], pa.float32()),
        "reasons": [["x"], [], None],
    }
)
MASK = 2**64 - 1
START = (0x243F6A8885A308D3, 0x13198A2E03707344)
STEP = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)


def finish(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def hash_of(value, lane):
    """The rule in the module's docstring, one value at a time."""
    if value is None:
        return STEP[lane]
    if isinstance(value, (list, tuple)):
        items = [finish(hash_of(v, lane) + (k + 1) * STEP[lane] & MASK) for k, v in enumerate(value)]
        return finish(START[lane] + len(value) + sum(items) & MASK)
    if isinstance(value, float):
        value = int(np.float64(value).view(np.int64))
    if isinstance(value, int):
        return finish(value & MASK ^ START[lane])
    data = value if isinstance(value, bytes) else value.encode()
    if len(data) > 256:
        digest = hashlib.blake2b(data, digest_size=16).digest()
        return int.from_bytes(digest[8 * lane : 8 * lane + 8], "little")
    h = START[lane] ^ len(data)
    for at in range(0, len(data), 8):
        h = (h ^ int.from_bytes(data[at : at + 8], "little")) * STEP[lane] & MASK
        h ^= h >> 32
    return finish(h)


def expected_digest(rows, names):
    total = 0
    for row in rows:
        lanes = [0, 0]
        for lane in (0, 1):
            for name in sorted(names):
                lanes[lane] = finish(lanes[lane] + (hash_of(row[name], lane) ^ hash_of(name, lane)) & MASK)
        total += (lanes[0] << 64) + lanes[1]
    return total % 2**128


COLUMNS = {
    "int8": pa.array([1, -1, None, 127, 0, 5], pa.int8()),
    "int32": pa.array([1, -1, None, 2**31 - 1, -(2**31), 0], pa.int32()),
    "uint64": pa.array([1, 2**64 - 1, None, 0, 7, 2**53 + 1], pa.uint64()),
    "bool": pa.array([True, False, None, True, True, False]),
    "string": pa.array(["", "é", None, "12345678", "123456789", "z" * 300]),
    "exact_words": pa.array(["0123456789abcdef" * 2] * 3 + ["fedcba9876543210" * 2] * 3),
    "binary": pa.array([b"", b"\0", None, b"\0\0", b"x" * 256, b"y" * 257], pa.large_binary()),
    "texts": pa.array([[], ["a"], None, ["a", "b"], ["b", "a"], ["a", None, ""]], pa.list_(pa.string())),
    "box": pa.array(
        [[1, 2, 3, 4], None, [0] * 4, [4, 3, 2, 1], [1, 1, 1, 1], [9] * 4], pa.list_(pa.int32(), 4)
    ),
    "weights": pa.array([[0.5], [], None, [-0.25, 1e9], [3.0], [0.0]], pa.list_(pa.float32())),
    "nothing": pa.nulls(6),
    "none_yet": pa.nulls(6, pa.string()),
    "no_lists": pa.nulls(6, pa.list_(pa.string())),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_every_type_follows_the_written_rule(name):
    column = COLUMNS[name]
    rows = [{name: value} for value in column.to_pylist()]
    assert content_digest(pa.table({name: column})) == expected_digest(rows, [name])
    padded = pa.chunked_array([column.slice(0, 2), column.slice(2, 1), column.slice(3)])
    assert content_digest(pa.table({name: padded})) == expected_digest(rows, [name])
    assert content_digest(pa.table({name: column.slice(3)})) == expected_digest(rows[3:], [name])


def test_a_whole_table_follows_the_written_rule():
    table = pa.table(COLUMNS)
    assert content_digest(table) == expected_digest(table.to_pylist(), table.column_names)


def test_rows_beyond_one_block_count():
    numbers = np.arange(2 * BLOCK_ROWS + 5)
    table = pa.table({"n": numbers})
    shards = [table.slice(0, 7), table.slice(7, BLOCK_ROWS), table.slice(7 + BLOCK_ROWS)]
    assert add_digests(*map(content_digest, shards)) == content_digest(table)
    assert content_digest(table.slice(0, 2 * BLOCK_ROWS + 4)) != content_digest(table)


@pytest.mark.parametrize("name", [name for name, column in COLUMNS.items() if column.null_count < 6])
def test_distinct_values_have_distinct_digests(name):
    column = COLUMNS[name]
    digests = [content_digest(pa.table({name: column.slice(i, 1)})) for i in range(len(column))]
    assert len(set(digests)) == len({repr(value) for value in column.to_pylist()})


def test_values_count_in_their_own_column():
    swapped = pa.table({"a": ["x"], "b": ["y"]}), pa.table({"a": ["y"], "b": ["x"]})
    assert content_digest(swapped[0]) != content_digest(swapped[1])


def test_encodings_of_the_same_values_are_one_content():
    texts = pa.array(["a", None, "b", "a"])
    digest = content_digest(pa.table({"t": texts}))
    for other in (texts.cast(pa.large_string()), texts.dictionary_encode()):
        assert content_digest(pa.table({"t": other})) == digest
    numbers = pa.array([1, 2, None])
    assert content_digest(pa.table({"n": numbers.cast(pa.int8())})) == content_digest(
        pa.table({"n": numbers})
    )


def test_a_type_without_a_rule_is_refused():
    with pytest.raises(TypeError, match="struct"):
        content_digest(pa.table({"s": [{"a": 1}]}))


def test_no_rows_and_no_columns_have_digest_zero():
    assert content_digest(TABLE.slice(0, 0)) == 0
    assert content_digest(TABLE.select(["score"])) == 0


def test_digest_does_not_depend_on_row_order_or_column_order():
    shuffled = TABLE.take(pa.array([2, 0, 1])).select(["reasons", "score", "words", "image_id"])
    assert content_digest(shuffled) == content_digest(TABLE)


def test_digests_of_shards_add_up_to_the_digest_of_the_whole():
    parts = [content_digest(TABLE.slice(0, 1)), content_digest(TABLE.slice(1))]
    assert add_digests(*parts) == content_digest(TABLE)


def test_digest_covers_exact_values_and_leaves_floats_out():
    changed = {
        "image_id": pa.array(["a", "b", "d"]),
        "words": pa.array([1, 0, 3], pa.int32()),
        "reasons": pa.array([["x"], [], []]),
    }
    for name, array in changed.items():
        other = TABLE.set_column(TABLE.column_names.index(name), name, array)
        assert content_digest(other) != content_digest(TABLE), name
    moved = TABLE.set_column(2, "score", pa.array([9.0, 9.0, 9.0], pa.float32()))
    assert content_digest(moved) == content_digest(TABLE)

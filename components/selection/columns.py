"""Columns of a table as numpy arrays, without copies where Arrow allows it: selections look at millions."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def numbers(table: pa.Table, name: str) -> np.ndarray:
    """A numeric column as (N,) of its own type; as floats with NaN for null where there are nulls.

    Compare with a threshold through `exactly`, so that a float32 score is not rounded towards it.
    """
    column = table.column(name)
    if column.null_count:
        if not pa.types.is_floating(column.type):
            column = column.cast(pa.float64())
        column = column.fill_null(float("nan"))
    return column.to_numpy()


def exactly(value: float) -> np.float64:
    """A threshold with the exact value the user gave: float32 scores are widened to meet it.

    A plain Python float would be rounded to the scores' float32, in which 0.35 is 0.34999999.
    """
    return np.float64(value)


def flag(table: pa.Table, name: str, *, missing: bool) -> np.ndarray:
    """A column of flags as (N,) bool, with `missing` for null."""
    return np.asarray(table.column(name).fill_null(missing))


def equals(column: pa.ChunkedArray, value: str) -> np.ndarray:
    """(N,) bool: the text is `value`; null is not."""
    if column.null_count == len(column):
        return np.zeros(len(column), bool)
    return np.asarray(pc.fill_null(pc.equal(column, value), False))

"""Kept share by group (breed, script ...): does the selection quietly remove one of them?"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NONE = ""
_Z = 1.959964  # two-sided 95%


@dataclass(frozen=True)
class Share:
    """One group. low, high: 95% Wilson interval of its kept share.

    off: "below" or "above" when the overall share lies outside that interval, else "".
    """

    name: str
    kept: int
    total: int
    low: float
    high: float
    off: str

    @property
    def share(self) -> float:
        return self.kept / self.total


def shares(rows: pa.Table, column: str) -> list[Share]:
    """Kept share of each value of a column, the lowest first; null is the group "". [] without the column."""
    if column not in rows.column_names or not rows.num_rows:
        return []
    keep = pc.fill_null(rows.column("keep"), False)
    table = pa.table({"name": pc.fill_null(rows.column(column), NONE), "kept": pc.cast(keep, pa.int64())})
    grouped = table.group_by("name").aggregate([("kept", "sum"), ("kept", "count")])
    overall = pc.mean(table["kept"]).as_py()
    names = grouped.column("name").to_pylist()
    kept, total = grouped.column("kept_sum").to_pylist(), grouped.column("kept_count").to_pylist()
    result = [_share(*group, overall) for group in zip(names, kept, total, strict=True)]
    return sorted(result, key=lambda share: (share.share, -share.total, share.name))


def _share(name: str, kept: int, total: int, overall: float) -> Share:
    low, high = wilson(kept, total)
    off = "below" if high < overall else "above" if low > overall else ""
    return Share(name, kept, total, low, high, off)


def wilson(kept: int, total: int) -> tuple[float, float]:
    """95% score interval of a proportion (Wilson 1927): right also for few rows and shares near 0 or 1."""
    share = kept / total
    middle = share + _Z**2 / (2 * total)
    reach = _Z * np.sqrt(share * (1 - share) / total + _Z**2 / (4 * total**2))
    scale = 1 + _Z**2 / total
    return float(max(0.0, (middle - reach) / scale)), float(min(1.0, (middle + reach) / scale))

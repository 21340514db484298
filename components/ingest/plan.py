"""Which rows go into which shard, so that adding photos leaves finished shards as they are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from components.data.manifest import Receipt


@dataclass(frozen=True)
class Plan:
    """`reused` shards are done; each list of `chunks` holds indices of rows for one new shard."""

    reused: list[Receipt]
    chunks: list[list[int]]


def plan_shards(fingerprints: Sequence[str], receipts: Iterable[Receipt], shard_rows: int) -> Plan:
    """Reuse every finished shard whose rows are all still wanted, and cut the other rows into new shards.

    `fingerprints` say what each row is made from, in the order of the source; they are unique. Of finished
    shards that overlap, the one with more rows is taken. The result depends only on the arguments.
    """
    index = {fingerprint: row for row, fingerprint in enumerate(fingerprints)}
    if len(index) != len(fingerprints):
        raise ValueError("Two rows of the source are the same file; every path must come once.")
    free = set(index)
    reused = []
    for receipt in sorted(receipts, key=lambda receipt: (-receipt.file.rows, receipt.file.key)):
        rows = receipt.row_fingerprints
        if rows and free.issuperset(rows):
            free.difference_update(rows)
            reused.append(receipt)
    reused.sort(key=lambda receipt: index[receipt.row_fingerprints[0]])
    rest = sorted(index[fingerprint] for fingerprint in free)
    chunks = [rest[start : start + shard_rows] for start in range(0, len(rest), shard_rows)]
    return Plan(reused, chunks)

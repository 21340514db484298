"""Apply every threshold to the scores: which photos are kept, why the others are not, and their trust."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.data.manifest import DatasetManifest
from components.data.schema import arrow_schema
from components.data.scope import UNDECODABLE, float_column
from components.data.shards import read_table
from components.data.task import Task, add_whole_group
from components.selection.columns import equals, exactly, flag, numbers
from components.selection.options import SelectionOptions
from components.selection.quota import breed_codes, id_order, over_cap, under_minimum
from components.selection.rules import Verdict, evaluate, needed_columns
from components.selection.tiers import REVIEWED, tiers

INPUTS = ("dataset",)
COLUMNS = ["keep", "reasons", "tier"]


def run(task: Task, dataset: DatasetManifest, *, options: SelectionOptions) -> DatasetManifest:
    """Select; reads small columns only, so another threshold costs a second, not a scoring run.

    Raises ScopeError when a threshold needs scores that were left out, and ManifestError when a rule needs a
    step that has not run.
    """
    return add_whole_group(
        task,
        dataset,
        step="selection",
        options=options,
        columns=COLUMNS,
        compute=lambda: dict(
            zip(
                ["image_id", *COLUMNS],
                select(read_table(task.store, dataset, needed_columns(options)), options).columns,
                strict=True,
            )
        ),
        count=count,
    )


def select(table: pa.Table, options: SelectionOptions) -> pa.Table:
    """image_id, keep, reasons and tier of every row of `table` (the columns of `needed_columns`)."""
    verdict = evaluate(table, options)
    if "breed_confidence" in table.column_names:
        confidence = numbers(table, "breed_confidence")
    else:
        confidence = np.full(table.num_rows, np.nan)
    tier = tiers(flag(table, "reviewed", missing=False), confidence, exactly(options.breed_confidence))
    if options.breed_required:
        _quota(table, options, verdict, tier)
    names = ["image_id", *COLUMNS]
    arrays = [table.column("image_id"), pa.array(verdict.keep()), verdict.reasons(), pa.array(tier)]
    return pa.table(arrays, schema=arrow_schema(names))


def _quota(table: pa.Table, options: SelectionOptions, verdict: Verdict, tier: np.ndarray) -> None:
    """Add the per-breed rules. They look at the rows that pass all others, usually a part of all rows."""
    kept = np.flatnonzero(verdict.keep())
    picked = pa.array(verdict.keep())
    breed = breed_codes(table.column("breed").filter(picked))
    train = equals(table.column("split").filter(picked), "train")

    def order(rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """Reviewed first, then the best matched; image_id makes it total and independent of shards."""
        best = table.select(["clip_similarity", "image_id"]).take(pa.array(kept[rows]))
        similarity = float_column(best, "clip_similarity")
        return (
            (tier[kept[rows]] != REVIEWED).astype(np.int8),
            -np.nan_to_num(similarity, nan=-1.0),
            id_order(best.column("image_id")),
        )

    if options.breed_cap > 0:
        over = over_cap(breed, train, options.breed_cap, order)
        verdict.add("breed_cap", _scatter(over, kept, table.num_rows))
        train = train & ~over
    if options.breed_min > 0:
        under = under_minimum(breed, train, options.breed_min)
        verdict.add("breed_min", _scatter(under, kept, table.num_rows))


def _scatter(failed: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """(count,) bool, set at those of the `rows` that failed."""
    out = np.zeros(count, bool)
    out[rows[failed]] = True
    return out


def count(table: pa.Table) -> dict[str, int]:
    """Counters: kept + rejected + errors = rows; and how many rows fail each rule."""
    keep = np.asarray(table.column("keep"))
    reasons = table.column("reasons").combine_chunks()
    counts = {item["values"]: item["counts"] for item in pc.value_counts(reasons.flatten()).to_pylist()}
    errors = counts.get(UNDECODABLE, 0)
    kept = int(keep.sum())
    out = {"kept": kept, "errors": errors, "rejected": table.num_rows - kept - errors}
    out.update({f"reason_{name}": value for name, value in sorted(counts.items())})
    tier = np.asarray(table.column("tier"))
    out.update(
        {"kept_tier_0": int((keep & (tier == 0)).sum()), "kept_tier_1": int((keep & (tier == 1)).sum())}
    )
    return out

"""Apply every threshold to the scores: which photos are kept, why the others are not, and their trust."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.data.manifest import DatasetManifest
from components.data.schema import arrow_schema
from components.data.scope import UNDECODABLE, float_column
from components.data.shards import read_table
from components.data.task import Task, add_whole_group
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
    breed = breed_codes(table.column("breed"))
    if "breed_confidence" in table.column_names:
        confidence = float_column(table, "breed_confidence")
    else:
        confidence = np.full(table.num_rows, np.nan)
    tier = tiers(np.asarray(table.column("reviewed").fill_null(False)), confidence, options.breed_confidence)
    if options.breed_required:
        _quota(table, options, verdict, breed, tier)
    names = ["image_id", *COLUMNS]
    arrays = [table.column("image_id"), pa.array(verdict.keep()), verdict.reasons(), pa.array(tier)]
    return pa.table(arrays, schema=arrow_schema(names))


def _quota(
    table: pa.Table, options: SelectionOptions, verdict: Verdict, breed: np.ndarray, tier: np.ndarray
) -> None:
    keep = verdict.keep()
    train = np.asarray(pc.fill_null(pc.equal(table.column("split"), "train"), False))
    similarity = float_column(table, "clip_similarity")
    # Reviewed first, then the best matched; image_id makes the order total and independent of shards.
    order = (
        (tier != REVIEWED).astype(np.int8),
        -np.nan_to_num(similarity, nan=-1.0),
        id_order(table.column("image_id")),
    )
    if options.breed_cap > 0:
        verdict.add("breed_cap", over_cap(breed, keep & train, options.breed_cap, order))
    if options.breed_min > 0:
        verdict.add("breed_min", keep & under_minimum(breed, verdict.keep() & train, options.breed_min))


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

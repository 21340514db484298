"""Measure sharpness, colour shift and the perceptual hash of every picture."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from components.data.images import ImageError, decode
from components.data.manifest import DatasetManifest
from components.data.task import Batches, Task, add_group
from components.quality.color import reference_of
from components.quality.options import QualityOptions
from components.quality.score import score_image, score_policy

INPUTS = ("dataset",)
SPLIT = True
SCORES = ["laplacian_variance", "laplacian_variance_fixed", "color_shift", "phash"]


def run(task: Task, dataset: DatasetManifest, *, options: QualityOptions) -> DatasetManifest:
    """Score every picture; one that cannot be decoded gets a quality_error. Threads share the decoding."""
    reference = reference_of([decode(Path(options.reference).read_bytes())]) if options.reference else None
    # The rows are parallel already; OpenCV's own threads would only fight over the cores.
    cv2.setNumThreads(1)
    with ThreadPoolExecutor(task.workers) as pool:

        def score(batches: Batches) -> Iterator[dict[str, list[Any]]]:
            for batch in batches:
                rows = list(
                    pool.map(
                        lambda image, error: _score_row(image, error, options.fixed_side_px, reference),
                        batch.column("image"),
                        batch.column("ingest_error").to_pylist(),
                    )
                )
                values = {name: [row.get(name) for row in rows] for name in [*SCORES, "quality_error"]}
                yield {"image_id": batch.column("image_id").to_pylist(), **values}

        return add_group(
            task,
            dataset,
            step="quality",
            options=options,
            columns=[*SCORES, "quality_error"],
            reads=["image", "ingest_error"],
            score=score,
            policy=score_policy(fixed_side_px=options.fixed_side_px, reference=reference),
        )


def _score_row(
    image: Any, ingest_error: str | None, fixed_side_px: int, reference: np.ndarray | None
) -> dict[str, Any]:
    """Scores of one row, or its error. A row that ingest could not take has no picture to measure."""
    if ingest_error is not None:
        return {}
    try:
        return score_image(image.as_py(), fixed_side_px=fixed_side_px, reference=reference)
    except ImageError as error:
        return {"quality_error": str(error)}

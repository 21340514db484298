"""What a threshold is held against where that is no plain column: selection and report agree here."""

import numpy as np
import pyarrow as pa

from components.data.scope import float_column


def judged_min_side_px(table: pa.Table, crop_to_subject: bool) -> np.ndarray:
    """(N,) float64 shorter side: of the picture, or of the crop around the subject where there is one."""
    side = np.minimum(float_column(table, "width_px"), float_column(table, "height_px"))
    if crop_to_subject:
        column = table.column("crop_box").combine_chunks()
        valid = np.asarray(column.is_valid())
        box = np.asarray(column.fill_null([0, 0, 0, 0]).flatten()).reshape(-1, 4)
        side = np.where(valid, np.minimum(box[:, 2] - box[:, 0], box[:, 3] - box[:, 1]), side)
    return side


def judged_ratio_column(crop_to_subject: bool) -> str:
    """The column that `foreground_ratio` is a threshold on."""
    return "foreground_ratio_crop" if crop_to_subject else "foreground_ratio"


def similarity_bound(values: np.ndarray, at_least: float, best_fraction: float) -> float:
    """The cosine to reach: `at_least`, or what the best share of the (N,) scored rows reaches if more.

    NaN stands for a row without a score.
    """
    if best_fraction >= 1:
        return at_least
    scored = values[np.isfinite(values)]
    return max(at_least, float(np.quantile(scored, 1 - best_fraction))) if len(scored) else np.inf

"""How good the demo's segment-anything model is on dogs in places it has never seen.

`python -m pipelines.demo.sam_check [FOLDER]` prints the figures.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from segment_anything import SamPredictor

from components.model.sam import load_sam
from pipelines.demo.breeds import BREEDS
from pipelines.demo.render import render
from pipelines.demo.spec import HELD_OUT_BACKGROUNDS, DogSpec, breed_spec, free_spec

FOLDER = Path(__file__).parent / "models" / "sam"
_MARGIN = 0.05  # of the centred box, as the foreground step's default


@dataclass(frozen=True)
class Report:
    """Per picture: IoU of the best mask of each prompt, of the centred box itself, the IoU that the model
    predicts for its box mask, and foreground ratios, found and true."""

    box: np.ndarray
    tight_box: np.ndarray
    point: np.ndarray
    centred_box_alone: np.ndarray
    predicted: np.ndarray
    ratio: np.ndarray
    true_ratio: np.ndarray


def unseen_specs(count: int, seed: int, **fixed: object) -> list[DogSpec]:
    """Dogs of breeds and of none, in the two places kept from training."""
    rng = np.random.default_rng([seed, 41])
    keys = list(BREEDS)
    return [
        breed_spec(keys[i // 2 % len(keys)], rng, HELD_OUT_BACKGROUNDS, **fixed)
        if i % 2
        else free_spec(rng, HELD_OUT_BACKGROUNDS, **fixed)
        for i in range(count)
    ]


def iou(a: np.ndarray, b: np.ndarray) -> float:
    """Intersection over union of two masks (H,W) bool; 1 for two empty ones."""
    union = int((a | b).sum())
    return float((a & b).sum() / union) if union else 1.0


def measure(specs: list[DogSpec], folder: Path = FOLDER, size_px: int = 176) -> Report:
    """Runs the model on the pictures of `specs` with a centred box, a tight box and a centre point."""
    predictor = SamPredictor(load_sam(folder))
    rows: list[tuple[float, ...]] = []
    for spec in specs:
        picture, mask = render(spec, size_px)
        predictor.set_image(picture)
        low, high = _MARGIN * size_px, (1 - _MARGIN) * size_px
        centred = np.array([low, low, high, high])
        ys, xs = np.nonzero(mask)
        tight = np.array([xs.min(), ys.min(), xs.max() + 1, ys.max() + 1])
        found, predicted = _best(predictor, box=centred)
        middle = {
            "point_coords": np.array([[size_px / 2, size_px / 2]]),
            "point_labels": np.array([1]),
        }
        alone = np.zeros_like(mask)
        alone[round(low) : round(high), round(low) : round(high)] = True
        rows.append(
            (
                iou(found, mask),
                iou(_best(predictor, box=tight)[0], mask),
                iou(_best(predictor, **middle)[0], mask),
                iou(alone, mask),
                predicted,
                float(found.mean()),
                float(mask.mean()),
            )
        )
    return Report(*np.array(rows).T)


def _best(predictor: SamPredictor, **prompt: np.ndarray) -> tuple[np.ndarray, float]:
    """The mask of highest predicted IoU of three, and that IoU."""
    masks, ious, _ = predictor.predict(multimask_output=True, **prompt)
    index = int(ious.argmax())
    return masks[index], float(ious[index])


def main() -> None:
    """Command line: IoU by prompt on unseen places, for clean dogs and for small ones."""
    parser = argparse.ArgumentParser(description="Measure the demo's segment-anything model.")
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--count", type=int, default=120)
    options = parser.parse_args()
    torch.set_num_threads(1)
    small = {"pose": "stand", "facing": "left", "foreground": 0.1}
    for name, fixed in (("clean", {}), ("small", small)):
        report = measure(unseen_specs(options.count, 0, **fixed), options.folder)
        print(
            f"{name}: IoU centred box prompt {report.box.mean():.3f} (10th percentile "
            f"{np.percentile(report.box, 10):.3f}), tight box {report.tight_box.mean():.3f}, centre point "
            f"{report.point.mean():.3f}; the centred box itself {report.centred_box_alone.mean():.3f}"
        )
        error = np.abs(report.ratio - report.true_ratio)
        print(
            f"  ratio off by {error.mean():.3f} on average, {error.max():.3f} at most; predicted IoU off by "
            f"{np.abs(report.predicted - report.box).mean():.3f}"
        )


if __name__ == "__main__":
    main()

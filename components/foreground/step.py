"""Find the subject of every picture with SAM: how much it covers, where it is, how sharp, on what."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from components.data.batches import answers
from components.data.images import ImageError, decode
from components.data.manifest import DatasetManifest
from components.data.schema import arrow_schema
from components.data.scope import scope_columns, scope_rules, skipped_by
from components.data.scores import ScoreCache
from components.data.shards import read_table
from components.data.task import Batches, Task, add_group
from components.foreground.forecast import forecast, seconds_per_image
from components.foreground.options import ForegroundOptions
from components.foreground.prompts import Prompt, prompts_for
from components.foreground.segmenter import Mask, Sam, Segmenter
from components.foreground.subject import score_subject

INPUTS = ("dataset",)
SPLIT = True
SCORES = [
    "foreground_ratio",
    "foreground_ratio_crop",
    "foreground_ratio_point",
    "subject_box",
    "crop_box",
    "mask_rle",
    "subject_sharpness",
    "background_plain",
]
# A forecast after so many batches is right to some percent and comes before the wait does.
FORECAST_AFTER_BATCHES = 3


def run(
    task: Task, dataset: DatasetManifest, *, options: ForegroundOptions, segmenter: Segmenter | None = None
) -> DatasetManifest:
    """Segment the rows inside the scope; pictures scored before under the same policy are reused.

    `segmenter` replaces SAM (a stand-in that knows the truth, or another network). Raises WeightsError when
    the model is not on this machine: nothing is downloaded here.
    """
    scorer = _Scorer(task, dataset, options, segmenter or Sam(options))
    with scorer:
        return add_group(
            task,
            dataset,
            step="foreground",
            options=options,
            columns=[*SCORES, "foreground_skipped_by", "foreground_error"],
            reads=["image", *scope_columns(scorer.scope)],
            score=scorer,
            policy=scorer.policy,
        )


class _Scorer:
    """Scores the batches of a shard through the score cache."""

    def __init__(
        self, task: Task, dataset: DatasetManifest, options: ForegroundOptions, segmenter: Segmenter
    ):
        self.options = options
        self.scope = scope_rules(
            {
                "min_side_px": options.scope_min_side_px,
                "laplacian_variance": options.scope_laplacian_variance,
                "color_shift": options.scope_color_shift,
                "clip_similarity": options.scope_clip_similarity,
            }
        )
        self.policy = {
            "segmenter": dict(segmenter.policy),
            "strategy": options.strategy,
            "box_margin": options.box_margin,
            "points_per_side": options.points_per_side if options.strategy == "automatic" else 0,
            "crop": [options.crop_ratio, options.crop_aspect, options.crop_min_side_px],
        }
        self._segmenter = segmenter
        self._pool = ThreadPoolExecutor(task.workers)
        self._cache = ScoreCache(
            task.store, "foreground", self.policy, arrow_schema([*SCORES, "foreground_error"])
        )
        self._left = self._to_score(task, dataset)
        self._times: list[float] = []
        print(f"foreground: {self._left:,} of {dataset.rows:,} rows to segment", flush=True)

    def _to_score(self, task: Task, dataset: DatasetManifest) -> int:
        """Distinct pictures inside the scope that the cache does not hold."""
        columns = dict.fromkeys(["image_id", *scope_columns(self.scope)])
        table = read_table(task.store, dataset, list(columns))
        rules = skipped_by(table, self.scope)
        ids = table.column("image_id").to_pylist()
        return len(
            {key for key, rule in zip(ids, rules, strict=True) if rule is None and key not in self._cache}
        )

    def __enter__(self) -> "_Scorer":
        return self

    def __exit__(self, *error: Any) -> None:
        self._pool.shutdown()
        self._cache.flush()

    def __call__(self, batches: Batches) -> Iterator[dict[str, list[Any]]]:
        for batch in batches:
            skipped = skipped_by(batch, self.scope)
            ids = batch.column("image_id").to_pylist()
            wanted = [row for row, rule in enumerate(skipped) if rule is None]
            errors = self._score_missing(
                batch, {ids[row]: row for row in wanted if ids[row] not in self._cache}
            )
            rows: list[dict[str, Any]] = [{} for _ in ids]
            for row in wanted:
                rows[row] = self._cache.get(ids[row]) or {"foreground_error": errors[ids[row]]}
            names = [*SCORES, "foreground_error"]
            yield {
                "image_id": ids,
                "foreground_skipped_by": skipped,
                **{name: [row.get(name) for row in rows] for name in names},
            }

    def _score_missing(self, batch: pa.RecordBatch, missing: dict[str, int]) -> dict[str, str]:
        """Segment the rows into the cache; returns errors by image_id."""
        errors: dict[str, str] = {}
        images = batch.column("image")
        keys = list(missing)
        for start in range(0, len(keys), self.options.batch_size):
            part = keys[start : start + self.options.batch_size]
            began = time.monotonic()
            decoded = list(self._pool.map(_decode, [images[missing[key]].as_py() for key in part]))
            pictures = {}
            for key, item in zip(part, decoded, strict=True):
                if isinstance(item, ImageError):
                    errors[key] = str(item)
                else:
                    pictures[key] = item
            errors.update(self._segment(pictures))
            self._forecast(len(part), time.monotonic() - began)
        return errors

    def _segment(self, pictures: dict[str, np.ndarray]) -> dict[str, str]:
        """Scores of pictures into the cache; returns errors by image_id."""
        asked = [(picture, self._prompts(picture)) for picture in pictures.values()]
        found = answers(self._masks, asked)
        errors = {}
        for (key, picture), (_, named), masks in zip(pictures.items(), asked, found, strict=True):
            if isinstance(masks, ValueError):
                errors[key] = str(masks)
                continue
            scores = asdict(
                score_subject(
                    picture,
                    dict(zip(named, masks, strict=True)),
                    crop_ratio=self.options.crop_ratio,
                    crop_aspect=self.options.crop_aspect,
                    crop_min_side_px=self.options.crop_min_side_px,
                )
            )
            values = {name: scores[name] for name in SCORES}
            self._cache.put(key, {**values, "foreground_error": scores["reason"] or None})
        return errors

    def _prompts(self, picture: np.ndarray) -> dict[str, Prompt]:
        height, width = picture.shape[:2]
        return prompts_for(
            self.options.strategy,
            width,
            height,
            margin=self.options.box_margin,
            points_per_side=self.options.points_per_side,
        )

    def _masks(self, asked: Sequence[tuple[np.ndarray, dict[str, Prompt]]]) -> list[list[Mask]]:
        pictures, prompts = zip(*asked, strict=True)
        return self._segmenter.segment(pictures, [list(named.values()) for named in prompts])

    def _forecast(self, pictures: int, seconds: float) -> None:
        """Say once, after the first batches, how long the rest will take."""
        self._left -= pictures
        self._times.append(seconds / pictures)
        if len(self._times) == FORECAST_AFTER_BATCHES and self._left > 0:
            print(f"foreground: {forecast(self._left, seconds_per_image(self._times))} to go", flush=True)


def _decode(data: bytes) -> np.ndarray | ImageError:
    try:
        return decode(data)
    except ImageError as error:
        return error

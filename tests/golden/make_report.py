"""Makes report.html, the golden report: a planted dataset of 600 rows whose verdicts follow from its scores.

python tests/golden/make_report.py            writes tests/golden/report.html
python tests/golden/make_report.py OUT PHOTOS writes OUT, with the JPEG files of a folder as thumbnails
"""

import base64
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from components.report.data import (
    AT_LEAST,
    AT_MOST,
    Evaluation,
    Metric,
    ReportData,
    Rule,
    StepRun,
    Threshold,
    TrainingStage,
)
from components.report.page import render_report

GOLDEN = Path(__file__).with_name("report.html")
ROWS = 600
# An 8 x 8 grey picture.
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62r"
    "Z4C8ybqmx5moq6T/wAALCAAIAAgBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8A"
    "d//Z"
)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAEElEQVR42mOcxgABTAwUMQAsIgCm8kPk/QAAAABJRU5ErkJggg=="
)
HOSTILE = "<script>alert('caption')</script> \"quoted\" & \u202egnikcatta\u202c\x00 a dog"
CAPTIONS = (
    "a golden retriever lies in the grass and looks into the camera on a sunny afternoon",
    "two dogs",
    "ein Labrador springt über einen Baumstamm im herbstlichen Wald und trägt einen Stock",
    "一只金毛寻回犬在草地上奔跑，嘴里叼着一个红色的网球",
    "maybe a beagle or something that looks like one sitting on a chair near the window",
    "Siberian husky running through deep snow with its tail over the back, mountains behind",
    "كلب صغير يجلس على العشب الأخضر بجانب المنزل القديم",
    "pug",
)
BREEDS = ("beagle", "boxer", "dalmatian", "golden_retriever", "labrador_retriever", "pug", "siberian_husky")
BREED_NAMES = {key: key.replace("_", " ").capitalize() for key in BREEDS}


def scores(generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Scores with planted shapes: two humps in sharpness, a long low range in foreground."""
    sharp = generator.random(ROWS) < 0.86
    laplacian = np.where(sharp, generator.lognormal(6.3, 0.55, ROWS), generator.lognormal(3.2, 0.4, ROWS))
    return {
        "min_side_px": generator.choice(
            [480, 768, 1024, 1365, 2048, 3024], ROWS, p=[0.08, 0.1, 0.2, 0.3, 0.2, 0.12]
        ),
        "laplacian_variance": laplacian,
        "color_shift": generator.beta(2.2, 9, ROWS),
        "caption_words": generator.poisson(14, ROWS),
        "clip_similarity": generator.normal(0.31, 0.035, ROWS),
        "foreground_ratio": generator.beta(2.6, 3.4, ROWS),
    }


def rules() -> list[Rule]:
    """Rules in the order of the pipeline."""
    return [
        Rule("undecodable", "ingest", "the file is no picture that can be read"),
        Rule(
            "caption_words_min", "captions", "words of the caption", Threshold("caption_words", AT_LEAST, 8)
        ),
        Rule(
            "caption_words_max", "captions", "words of the caption", Threshold("caption_words", AT_MOST, 35)
        ),
        Rule("caption_vague", "captions", "the caption hedges"),
        Rule("min_side_px", "quality", "shorter side in pixels", Threshold("min_side_px", AT_LEAST, 1024)),
        Rule(
            "laplacian_variance",
            "quality",
            "sharpness at native size",
            Threshold("laplacian_variance", AT_LEAST, 100),
        ),
        Rule("color_shift", "quality", "distance to a grey screen", Threshold("color_shift", AT_MOST, 0.35)),
        Rule("duplicate_near", "duplicates", "nearly the same picture"),
        Rule(
            "clip_similarity",
            "similarity",
            "image-caption cosine",
            Threshold("clip_similarity", AT_LEAST, 0.28),
        ),
        Rule(
            "foreground_ratio",
            "foreground",
            "share of the picture the subject covers",
            Threshold("foreground_ratio", AT_LEAST, 0.3),
        ),
    ]


def rows() -> pa.Table:
    """The planted table. Unreadable rows have no scores; rows below a cheap rule have no foreground score."""
    generator = np.random.default_rng(11)
    values = scores(generator)
    breed = generator.choice(len(BREEDS), ROWS, p=[0.2, 0.1, 0.1, 0.25, 0.2, 0.05, 0.1])
    values["foreground_ratio"] = np.where(
        breed == 2, values["foreground_ratio"] * 0.5, values["foreground_ratio"]
    )
    broken = generator.random(ROWS) < 0.012
    copy = generator.random(ROWS) < 0.03
    copy[0] = False
    failed = {
        "undecodable": broken,
        "caption_words_min": values["caption_words"] < 8,
        "caption_words_max": values["caption_words"] > 35,
        "caption_vague": generator.random(ROWS) < 0.04,
        "min_side_px": values["min_side_px"] < 1024,
        "laplacian_variance": values["laplacian_variance"] < 100,
        "color_shift": values["color_shift"] > 0.35,
        "duplicate_near": copy,
        "clip_similarity": values["clip_similarity"] < 0.28,
    }
    cheap = np.logical_or.reduce(list(failed.values()))
    failed["foreground_ratio"] = ~cheap & (values["foreground_ratio"] < 0.3)
    for name, column in values.items():
        hidden = broken if name != "foreground_ratio" else broken | cheap
        if name != "caption_words":
            failed[name] = failed[name] & ~broken
            values[name] = np.where(hidden, np.nan, column)
    captions = [CAPTIONS[i % len(CAPTIONS)] for i in range(ROWS)]
    captions[5] = HOSTILE
    names = list(failed)
    reasons = [[name for name in names if failed[name][i]] for i in range(ROWS)]
    originals = [f"{(i % 5) * 7:032x}" if copy[i] else None for i in range(ROWS)]
    return pa.table(
        {
            "image_id": [f"{i:032x}" for i in range(ROWS)],
            "caption": captions,
            "breed": [BREEDS[i] if i != 1 or row % 9 else None for row, i in enumerate(breed)],
            "caption_script": [
                ("Hani" if i % 8 == 3 else "Arab" if i % 8 == 6 else "Latn") for i in range(ROWS)
            ],
            "source_uri": [f"{BREEDS[breed[i]]}/{i:05d}.jpg" for i in range(ROWS)],
            "keep": [not r for r in reasons],
            "reasons": pa.array(reasons, pa.list_(pa.string())),
            "duplicate_of": pa.array(originals, pa.string()),
            "ingest_error": [
                ("The file ends before the picture does." if i % 2 else "<b>Not an image</b>")
                if broken[i]
                else None
                for i in range(ROWS)
            ],
            **{name: pa.array(column, from_pandas=True) for name, column in values.items()},
        }
    )


def steps() -> list[StepRun]:
    """Steps as a run might record them."""
    counters = {"rows": ROWS, "errors": 8}
    timed = [
        ("ingest", 3.1), ("captions", 0.4), ("quality", 6.4), ("duplicates", 1.2),
        ("similarity", 48.0), ("foreground", 192.0), ("selection", 0.2),
    ]  # fmt: skip
    return [
        StepRun(
            name,
            seconds,
            f"{i:x}3f9c20b7a1e4d58",
            {"shard_rows": 512, "prefix": "", "patterns": ["CC-BY-*", "<i>"], "threshold": 0.28},
            counters,
            frozenset({"threshold"} if name == "selection" else ()),
            reused=name == "captions",
        )
        for i, (name, seconds) in enumerate(timed)
    ]


def report_data(thumbnail: Callable[[str], bytes | None] = lambda image_id: JPEG) -> ReportData:
    """The golden report's input."""
    generator = np.random.default_rng(12)
    at = np.arange(1, 601)
    losses = 0.18 + 0.9 * np.exp(-at / 90) + 0.03 * generator.standard_normal(600)
    return ReportData(
        title="Curation report: dogs <golden>",
        rows=rows(),
        rules=rules(),
        steps=steps(),
        thumbnail=thumbnail,
        facts={
            "dataset": "d41c7e09b2",
            "profile": "wild",
            "run": "curation-0007",
            "data root": "s3://dogflow/data",
        },
        versions={"dogflow": "0.1.0", "python": "3.11", "torch": "2.14.1"},
        breed_names=BREED_NAMES,
        training=[
            TrainingStage(
                "Stage 0, general", at.tolist(), losses.tolist(), {"steps": "600", "images/s": "41"}
            ),
            TrainingStage(
                "Stage 1, breed-aware",
                at[:300].tolist(),
                (losses[300:] - 0.02).tolist(),
                {"held-out loss": "0.21"},
                held_out=[(float(at[150]), 0.24), (float(at[299]), 0.21)],
                loss_by_t=[0.32, 0.25, 0.21, 0.19, 0.18, 0.17, 0.17, 0.18, 0.2, 0.26],
                floor_by_t=[0.23, 0.24, 0.26, 0.29, 0.33, 0.39, 0.48, 0.6, 0.75, 0.92],
            ),
        ],
        evaluation=Evaluation(
            metrics=[Metric("frechet_distance", 21.4, "floor 3.9 (two halves of the test set)")],
            breed_accuracy=[("golden_retriever", 15, 16), ("labrador_retriever", 12, 16), ("pug", 16, 16)],
            samples_png=PNG,
            samples_note="Rows are breeds, columns are seeds 0 to 7; 16 steps.",
        ),
    )


def main(arguments: list[str]) -> None:
    """Write the golden report, or one with real photos for a look."""
    thumbnail = None
    if len(arguments) > 1:
        photos = [path.read_bytes() for path in sorted(Path(arguments[1]).glob("*.jpg"))]
        thumbnail = lambda image_id: photos[int(image_id, 16) % len(photos)]  # noqa: E731
    data = report_data(thumbnail) if thumbnail else report_data()
    out = Path(arguments[0]) if arguments else GOLDEN
    out.write_text(render_report(data), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

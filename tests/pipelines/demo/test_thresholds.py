"""The demo profile's thresholds part the planted defects from all other rows, with the claimed margins."""

import json
from pathlib import Path

import numpy as np
import pytest

from components.captions.vague import is_vague
from components.captions.words import word_count
from components.data.images import decode, decode_grey
from components.quality.blur import laplacian_variance
from components.quality.color import color_shift
from components.quality.phash import phash
from pipelines.demo import thresholds
from pipelines.demo.dataset import make_dataset

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """Every decodable row of the default set with its scores."""
    folder: Path = make_dataset(tmp_path_factory.mktemp("default"))
    captions = (folder / "captions.jsonl").read_text(encoding="utf-8").splitlines()
    truth = (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    rows = []
    for line, listed in zip(truth, captions, strict=True):
        row = json.loads(line) | {"caption": json.loads(listed)["caption"]}
        if row["mask"] is None:
            continue
        data = (folder / row["file"]).read_bytes()
        image = decode(data)
        row["laplacian_variance"] = laplacian_variance(decode_grey(data))
        row["color_shift"] = color_shift(image)
        row["phash"] = phash(image)
        row["min_side_px"] = min(row["width_px"], row["height_px"])
        rows.append(row)
    return rows


def beyond(row: dict, reason: str) -> bool:
    return any(d["reason"] == reason and d["beyond"] for d in row["defects"])


def parts(rows: list[dict], reason: str, score: str) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the rows that must be rejected for `reason`, and of all others."""
    bad = np.array([row[score] for row in rows if beyond(row, reason)])
    good = np.array([row[score] for row in rows if not beyond(row, reason)])
    assert len(bad) >= 10
    return bad, good


def test_blurred_rows_lie_below_and_all_others_well_above(measured: list[dict]) -> None:
    bad, good = parts(measured, "laplacian_variance", "laplacian_variance")
    assert bad.max() < 0.7 * thresholds.LAPLACIAN_VARIANCE
    assert good.min() > 1.8 * thresholds.LAPLACIAN_VARIANCE


def test_tinted_rows_lie_above_and_all_others_well_below(measured: list[dict]) -> None:
    bad, good = parts(measured, "color_shift", "color_shift")
    assert bad.min() > thresholds.COLOR_SHIFT + 0.1
    assert good.max() < thresholds.COLOR_SHIFT - 0.1


def test_sides_and_words_are_parted_exactly(measured: list[dict]) -> None:
    bad, good = parts(measured, "min_side_px", "min_side_px")
    assert bad.max() == thresholds.MIN_SIDE_PX - 1 and good.min() == thresholds.MIN_SIDE_PX
    bad, good = parts(measured, "caption_words_min", "caption_words")
    assert bad.max() == thresholds.CAPTION_WORDS_MIN - 1 and good.min() == thresholds.CAPTION_WORDS_MIN
    bad, good = parts(measured, "caption_words_max", "caption_words")
    assert bad.min() == thresholds.CAPTION_WORDS_MAX + 1 and good.max() == thresholds.CAPTION_WORDS_MAX


def test_small_subjects_are_a_third_smaller_than_the_threshold_and_others_a_third_larger(
    measured: list[dict],
) -> None:
    bad, good = parts(measured, "foreground_ratio", "foreground_ratio")
    assert bad.max() < thresholds.FOREGROUND_RATIO * 0.7
    assert good.min() > thresholds.FOREGROUND_RATIO * 1.3


def test_only_copies_are_within_the_near_distance(measured: list[dict]) -> None:
    original = {
        row["file"]: next((d["of"] for d in row["defects"] if "of" in d), row["file"]) for row in measured
    }
    names = [original[row["file"]] for row in measured]
    hashes = np.array([row["phash"] for row in measured], dtype=np.uint64)
    distance = np.bitwise_count(hashes[:, None] ^ hashes[None])
    same = np.array(names)[:, None] == np.array(names)[None]
    assert distance[same].max() <= thresholds.NEAR_DISTANCE - 2
    assert distance[~same].min() > thresholds.NEAR_DISTANCE


def test_only_the_hedging_captions_are_vague(measured: list[dict]) -> None:
    for row in measured:
        assert is_vague(row["caption"]) == beyond(row, "caption_vague"), row["caption"]


def test_the_word_counter_counts_the_words_that_the_truth_states(measured: list[dict]) -> None:
    for row in measured:
        assert word_count(row["caption"]) == row["caption_words"], row["caption"]

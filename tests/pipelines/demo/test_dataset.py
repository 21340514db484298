"""The demo set: the same bytes from the same seed, and a truth that agrees with the files."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from components.data.breeds import default_breeds
from components.data.images import ImageError, decode, read_header
from pipelines.demo.breeds import BREEDS
from pipelines.demo.dataset import make_dataset
from pipelines.demo.rows import ALLOWED_SOURCES, GOOD_LICENSES, OTHER_SOURCE

REASONS = {
    "min_side_px",
    "laplacian_variance",
    "color_shift",
    "clip_similarity",
    "foreground_ratio",
    "caption_vague",
    "caption_words_min",
    "caption_words_max",
    "duplicate_exact",
    "duplicate_near",
    "undecodable",
    "license",
    "source",
}


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("demo"), seed=5, clean_per_breed=6, defect_share=0.3)


@pytest.fixture(scope="module")
def truth(made: Path) -> list[dict]:
    return read(made / "truth.jsonl")


@pytest.fixture(scope="module")
def listed(made: Path) -> dict[str, dict]:
    return {row["file"]: row for row in read(made / "captions.jsonl")}


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def planted(truth: list[dict], reason: str, beyond: bool = True) -> list[tuple[dict, dict]]:
    return [
        (row, d) for row in truth for d in row["defects"] if (d["reason"], d["beyond"]) == (reason, beyond)
    ]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(tmp_path: Path) -> None:
    sets = [
        files(make_dataset(tmp_path / name, seed, clean_per_breed=1, defect_share=0.05))
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert sets[0] == sets[1]
    assert sets[0] != sets[2]


def test_more_pictures_leave_the_first_ones_as_they_were(tmp_path: Path) -> None:
    few = files(make_dataset(tmp_path / "few", 3, clean_per_breed=1, defect_share=0))
    many = files(make_dataset(tmp_path / "many", 3, clean_per_breed=3, defect_share=0))
    pictures = {data for name, data in few.items() if name.startswith("images/")}
    assert pictures <= set(many.values())


def test_a_second_batch_is_added_under_its_own_prefix(tmp_path: Path) -> None:
    make_dataset(tmp_path, 1, clean_per_breed=1, defect_share=0)
    before = files(tmp_path)
    make_dataset(tmp_path, 2, clean_per_breed=1, defect_share=0, breeds=("pug",), prefix="new_")
    after = files(tmp_path)
    assert all(after[name] == data for name, data in before.items() if not name.endswith(".jsonl"))
    assert after["captions.jsonl"].startswith(before["captions.jsonl"])
    assert len(read(tmp_path / "captions.jsonl")) == len(BREEDS) + 1


def test_an_unknown_breed_and_a_used_folder_are_errors_that_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="golden_retriever"):
        make_dataset(tmp_path, breeds=("wolf",))
    make_dataset(tmp_path, clean_per_breed=1, defect_share=0)
    with pytest.raises(ValueError, match="another prefix"):
        make_dataset(tmp_path, clean_per_breed=1, defect_share=0)


def test_breeds_are_keys_of_the_breed_table() -> None:
    table = default_breeds()
    for key, look in BREEDS.items():
        assert key in table
        assert all(table.key(name) == key for name in look.names), look.names


def test_truth_and_captions_list_every_file_once(
    made: Path, truth: list[dict], listed: dict[str, dict]
) -> None:
    on_disk = {name for name in files(made) if name.startswith("images/")}
    assert {row["file"] for row in truth} == set(listed) == on_disk
    assert len(truth) == len(on_disk)
    for row in truth:
        assert listed[row["file"]]["breed"] == row["breed"] == Path(row["file"]).parent.name


def test_every_reason_is_planted_and_each_row_has_one_defect_at_most(truth: list[dict]) -> None:
    beyond = Counter(d["reason"] for row in truth for d in row["defects"] if d["beyond"])
    short_of = Counter(d["reason"] for row in truth for d in row["defects"] if not d["beyond"])
    assert set(beyond) == REASONS
    graded = REASONS - {"duplicate_exact", "license", "source"}
    assert set(short_of) == graded
    assert all(len(row["defects"]) <= 1 for row in truth)
    assert sum(not row["defects"] for row in truth) == 6 * len(BREEDS)


def test_sizes_and_words_are_those_of_the_files(
    made: Path, truth: list[dict], listed: dict[str, dict]
) -> None:
    for row in truth:
        assert row["caption_words"] == len(listed[row["file"]]["caption"].split())
        if row["mask"]:
            header = read_header((made / row["file"]).read_bytes())
            assert (header.width_px, header.height_px) == (row["width_px"], row["height_px"])


def test_only_files_called_undecodable_are_refused(made: Path, truth: list[dict]) -> None:
    broken = {row["file"] for row, _ in planted(truth, "undecodable")}
    refused = set()
    for row in truth:
        try:
            decode((made / row["file"]).read_bytes())
        except ImageError:
            refused.add(row["file"])
    assert refused == broken and len(broken) >= 5


def test_masks_lie_over_the_dog_in_every_decodable_file(made: Path, truth: list[dict]) -> None:
    for row in truth:
        if row["mask"] is None:
            continue
        image = decode((made / row["file"]).read_bytes())
        mask = decode((made / row["mask"]).read_bytes())[..., 0] > 127
        assert mask.shape == image.shape[:2]
        assert mask.mean() == pytest.approx(row["foreground_ratio"], abs=1e-5)


def test_odd_but_valid_files_show_the_dog_where_the_mask_is(made: Path, truth: list[dict]) -> None:
    # The grain-free test: a dog's outline is dark, so along the mask's edge the picture has strong gradients.
    for row, defect in planted(truth, "undecodable", beyond=False):
        image = decode((made / row["file"]).read_bytes()).astype(float).mean(2)
        mask = decode((made / row["mask"]).read_bytes())[..., 0] > 127
        slope = np.abs(np.diff(image, axis=1))
        edge = mask[:, 1:] != mask[:, :-1]
        assert slope[edge].mean() > 2 * slope[~edge].mean(), defect["kind"]


def test_duplicates_point_at_their_originals(made: Path, truth: list[dict]) -> None:
    by_name = {row["file"]: row for row in truth}
    for row, defect in planted(truth, "duplicate_exact"):
        assert (made / row["file"]).read_bytes() == (made / defect["of"]).read_bytes()
    kinds = set()
    for row, defect in planted(truth, "duplicate_near"):
        kinds.add(defect["kind"])
        original = by_name[defect["of"]]
        assert not original["defects"]
        assert (made / row["file"]).read_bytes() != (made / defect["of"]).read_bytes()
        assert row["attributes"] == original["attributes"]
        assert row["foreground_ratio"] == pytest.approx(original["foreground_ratio"], abs=0.015)
    assert kinds == {"reencode", "resize", "crop", "brightness"}
    copies = [d["of"] for row, d in planted(truth, "duplicate_exact") + planted(truth, "duplicate_near")]
    unique = {(made / row["file"]).read_bytes() for row in truth if row["mask"]}
    doubled = sum(1 for row in truth if row["mask"]) - len(unique)
    assert doubled == len(planted(truth, "duplicate_exact")) and copies


def test_sources_and_licences_are_good_except_where_planted(
    truth: list[dict], listed: dict[str, dict]
) -> None:
    bad_license = {row["file"] for row, _ in planted(truth, "license")}
    bad_source = {row["file"] for row, _ in planted(truth, "source")}
    for name, row in listed.items():
        assert (row["license"] in GOOD_LICENSES) == (name not in bad_license)
        assert (row["source"] in ALLOWED_SOURCES) == (name not in bad_source)
        assert row["source"] in (*ALLOWED_SOURCES, OTHER_SOURCE)


def test_a_quarter_of_the_clean_rows_of_each_breed_is_reviewed(
    truth: list[dict], listed: dict[str, dict]
) -> None:
    reviewed = Counter(row["breed"] for row in truth if listed[row["file"]]["reviewed"])
    assert reviewed == dict.fromkeys(BREEDS, 2)
    assert all(not row["defects"] for row in truth if listed[row["file"]]["reviewed"])


def test_mismatched_captions_are_another_dogs_and_retold_ones_are_not(
    truth: list[dict], listed: dict[str, dict]
) -> None:
    def names_own_breed(row: dict) -> bool:
        text = listed[row["file"]]["caption"].lower()
        return any(name.lower() in text for name in BREEDS[row["breed"]].names)

    assert all(not names_own_breed(row) for row, _ in planted(truth, "clip_similarity"))
    assert all(names_own_breed(row) for row, _ in planted(truth, "clip_similarity", beyond=False))
    assert all(defect["severity"] >= 5 for _, defect in planted(truth, "clip_similarity"))

"""Pictures and masks: exact by construction, seeded, and true to their description."""

from dataclasses import replace

import numpy as np
import pytest

from pipelines.demo.breeds import BREEDS
from pipelines.demo.render import compose, render
from pipelines.demo.spec import BACKGROUNDS, HELD_OUT_BACKGROUNDS, DogSpec, breed_spec, free_spec


def specs(count: int, seed: int = 0, **fixed: object) -> list[DogSpec]:
    rng = np.random.default_rng(seed)
    keys = list(BREEDS)
    return [
        breed_spec(keys[i % len(keys)], rng, **fixed) if i % 2 else free_spec(rng, **fixed)  # type: ignore[arg-type]
        for i in range(count)
    ]


def test_the_same_spec_gives_the_same_pixels() -> None:
    for spec in specs(6):
        first, second = render(spec, 96), render(spec, 96)
        assert np.array_equal(first[0], second[0]) and np.array_equal(first[1], second[1])


def test_another_seed_gives_another_picture_of_the_same_dog() -> None:
    for spec in specs(6):
        other = render(replace(spec, seed=spec.seed + 1), 96)
        assert not np.array_equal(render(spec, 96)[0], other[0])


def test_where_the_dog_is_not_the_picture_is_the_empty_place() -> None:
    for spec in specs(12, seed=1):
        scene = compose(spec, 128)
        empty = np.clip(np.round(scene.background + scene.grain[..., None]), 0, 255)
        outside = scene.alpha == 0
        assert 0.2 < outside.mean() < 0.99
        assert np.array_equal(scene.picture()[outside], empty[outside])
        assert not (scene.mask() & outside).any()


@pytest.mark.parametrize("place", [*BACKGROUNDS, *HELD_OUT_BACKGROUNDS])
def test_the_dog_and_its_mask_do_not_depend_on_the_place(place: str) -> None:
    for spec in specs(6, seed=2):
        here, there = compose(spec, 96), compose(replace(spec, background=place), 96)
        assert np.array_equal(here.alpha, there.alpha)
        solid = here.alpha == 1
        assert solid.any()
        assert np.array_equal(here.picture()[solid], there.picture()[solid])


def test_a_mask_hides_where_two_places_agree_and_shows_where_they_differ() -> None:
    # The mask is the difference to the background: swap in a place that is nowhere the same.
    for spec in specs(8, seed=3):
        scene = compose(spec, 128)
        inverse = replace(scene, background=(scene.background + 128) % 256)
        moved = np.abs(scene.picture().astype(int) - inverse.picture()).sum(2)
        assert (moved[scene.alpha == 1] == 0).all()
        assert (moved[scene.alpha == 0] > 30).all()


def test_the_mask_covers_the_wanted_share_of_the_picture() -> None:
    for wanted in (0.05, 0.1, 0.2, 0.27):
        for spec in specs(10, seed=4, foreground=wanted, pose="sit", facing="left"):
            assert render(spec, 160)[1].mean() == pytest.approx(wanted, abs=0.03)
    for spec in specs(16, seed=5, foreground=0.48, pose="head", facing="front"):
        assert render(spec, 160)[1].mean() == pytest.approx(0.48, abs=0.05)


def test_a_whole_dog_stays_inside_the_frame() -> None:
    for pose in ("stand", "sit"):
        for spec in specs(16, seed=6, pose=pose, facing="right"):
            mask = render(spec, 128)[1]
            assert not mask[0].any() and not mask[:, 0].any() and not mask[:, -1].any() and not mask[-1].any()


def test_the_picture_shows_the_same_scene_at_every_size() -> None:
    for spec in specs(6, seed=7):
        small, large = render(spec, 80)[1], render(spec, 160)[1]
        halved = large.reshape(80, 2, 80, 2).mean((1, 3)) >= 0.5
        assert (small & halved).sum() / (small | halved).sum() > 0.95


def test_short_legged_dogs_are_lower_than_long_legged_ones() -> None:
    def tallness(mask: np.ndarray) -> float:
        rows, columns = mask.any(1).sum(), mask.any(0).sum()
        return rows / columns

    def mean_tallness(legs: str) -> float:
        chosen = specs(20, seed=8, pose="stand", facing="right", legs=legs, tail="docked", ears="drop")
        return float(np.mean([tallness(render(spec, 96)[1]) for spec in chosen]))

    assert mean_tallness("long") > mean_tallness("short") + 0.15


def test_a_plume_tail_rises_above_the_rump_and_a_docked_one_does_not() -> None:
    def above_rump(tail: str) -> float:
        shares = []
        for spec in specs(16, seed=9, pose="stand", facing="right", tail=tail, legs="long"):
            mask = render(spec, 96)[1]
            mask = mask[mask.any(1)][:, mask.any(0)]
            height, width = mask.shape
            shares.append(mask[: int(height * 0.3), : int(width * 0.3)].mean())
        return float(np.mean(shares))

    assert above_rump("plume") > above_rump("docked") + 0.15


def test_a_dog_that_faces_left_has_its_head_on_the_left() -> None:
    def eye_column(spec: DogSpec) -> float:
        # The eye and nose are the darkest pixels of a white dog.
        picture, mask = render(spec, 128)
        dark = (picture.max(2) < 70) & mask
        return float(np.nonzero(dark)[1].mean() / 128)

    for seed in range(4):
        rng = np.random.default_rng(seed)
        spec = breed_spec("samoyed", rng, pose="stand", facing="left")
        assert eye_column(spec) < 0.5 < eye_column(replace(spec, facing="right"))

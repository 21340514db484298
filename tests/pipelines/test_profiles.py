"""Profiles hold only options that exist, with possible values, for pipelines that have them."""

import pytest

from pipelines.compile import load
from pipelines.profiles import DEMO_PAIRS, PROFILES
from pipelines.values import resolve


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("pipeline", ["curation", "training", "dog_breed"])
def test_every_profile_resolves_for_every_pipeline(profile, pipeline):
    loaded = load(pipeline)
    values = resolve(loaded, profile=profile)
    mentioned = {use.prefix for use in loaded.uses} & set(PROFILES[profile])
    assert ("profile" in values.sources.values()) == bool(mentioned)


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_every_entry_of_a_profile_is_used_by_a_pipeline(profile):
    used = {use.prefix for name in ("curation", "training", "dog_breed") for use in load(name).uses}
    assert set(PROFILES[profile]) <= used


def test_strict_keeps_the_thresholds_of_the_recipe():
    options = resolve(load("curation"), profile="strict").options["selection"]
    assert options["min_side_px"] == 1024
    assert options["laplacian_variance"] == 100
    assert options["color_shift"] == 0.35
    assert options["clip_similarity"] == 0.28
    assert options["foreground_ratio"] == 0.65
    assert (options["caption_words_min"], options["caption_words_max"]) == (8, 35)


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_scopes_are_not_tighter_than_the_thresholds_of_their_own_profile(profile):
    values = resolve(load("dog_breed"), profile=profile).options
    for step in ("similarity", "foreground"):
        for selection in ("selection", "general_selection"):
            if step == "foreground" and values[selection]["foreground_ratio"] == 0:
                continue
            for name, bound in values[step].items():
                if not name.startswith("scope_"):
                    continue
                threshold = values[selection][name.removeprefix("scope_")]
                looser = bound >= threshold if name == "scope_color_shift" else bound <= threshold
                assert looser, (profile, step, selection, name, bound, threshold)


def test_the_demo_has_at_least_two_pairs_of_one_palette():
    assert len(DEMO_PAIRS) >= 2

"""Whether a preset works on what a dataset holds."""

import pytest

from components.initialization.fresh import _check_samples
from components.model.network import PRESETS

PIXELS = {"shape": [32, 32, 3]}
LATENTS = {"shape": [512, 512, 3], "latents": {"shape": [4, 64, 64]}}


@pytest.mark.parametrize(
    ("name", "policy"), [("demo", PIXELS), ("sd15-512", LATENTS), ("unet-1b", LATENTS), ("dit-b", LATENTS)]
)
def test_a_preset_takes_the_samples_it_is_made_for(name, policy):
    _check_samples(policy, PRESETS[name])


@pytest.mark.parametrize(
    ("name", "policy", "message"),
    [
        ("sd15-1024", LATENTS, r"sd15-1024 draws 1024 px .*encoding\.size_px=512; make the two equal"),
        ("sd15-512", {"shape": [512, 512, 3]}, r"works on latents.*set encoding\.autoencoder"),
        (
            "sd15-512",
            {"shape": [512, 512, 3], "latents": {"shape": [16, 64, 64]}},
            r"\[4, 64, 64\], but encoding\.autoencoder gives latents of shape \[16, 64, 64\]",
        ),
        ("demo", {**PIXELS, "latents": {"shape": [4, 4, 4]}}, r"\[3, 32, 32\], but .*\[4, 4, 4\].*none"),
    ],
)
def test_other_samples_are_refused_with_the_option_to_change(name, policy, message):
    with pytest.raises(ValueError, match=message):
        _check_samples(policy, PRESETS[name])

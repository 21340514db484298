"""Prompt strategies: which prompts a picture gets, and where they lie."""

import pytest

from components.foreground.prompts import BoxPrompt, GridPrompt, PointPrompt, centred_box, prompts_for


def test_a_centred_box_leaves_its_margin_on_every_side():
    assert centred_box(200, 100, 0.1) == BoxPrompt((20.0, 10.0, 180.0, 90.0))
    assert centred_box(200, 100, 0.0) == BoxPrompt((0.0, 0.0, 200.0, 100.0))


@pytest.mark.parametrize("strategy", ["box", "centre_point", "automatic"])
def test_the_strategys_own_prompt_comes_first_and_box_and_point_are_always_asked(strategy):
    prompts = prompts_for(strategy, 200, 100)
    assert next(iter(prompts)) == strategy
    assert prompts["centre_point"] == PointPrompt(((100.0, 50.0),))
    assert isinstance(prompts["box"], BoxPrompt)
    assert ("automatic" in prompts) == (strategy == "automatic")


def test_a_given_box_replaces_the_centred_one_and_the_grid_takes_its_side():
    assert prompts_for("box", 200, 100, box=(1, 2, 3, 4))["box"] == BoxPrompt((1, 2, 3, 4))
    assert prompts_for("automatic", 200, 100, points_per_side=8)["automatic"] == GridPrompt(8)


def test_unknown_strategies_and_margins_are_refused():
    with pytest.raises(ValueError, match="choose one of box, centre_point, automatic"):
        prompts_for("magic", 10, 10)
    with pytest.raises(ValueError, match=r"below 0\.5"):
        centred_box(10, 10, 0.5)

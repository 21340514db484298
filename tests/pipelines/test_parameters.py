"""Parameters are what the option models say, and nothing else."""

import inspect
from typing import Literal

import pytest

from components.data.options import OptionError, StepOptions, option
from pipelines.parameters import Use, docstring, find_parameter, kfp_type, parameters_of, signature


class SieveOptions(StepOptions):
    min_side_px: int = option(1024, "Shortest side.", ge=1)
    words: list[str] = option(["maybe"], "Vague words.")
    strategy: Literal["box", "centre"] = option("box", "Where to look.")
    workers: int = option(0, "Threads.", identity=False)


def use(prefix="sieve", defaults=None, fixed=None, model=SieveOptions):
    return Use("sieve", prefix, model, defaults or {}, fixed or {})


def test_every_option_is_a_parameter_with_its_type_default_and_help():
    found = parameters_of([use()])
    assert list(found) == ["data_root", "sieve_min_side_px", "sieve_words", "sieve_strategy", "sieve_workers"]
    side = found["sieve_min_side_px"]
    assert (side.key, side.type, side.default, side.help) == (
        "sieve.min_side_px",
        int,
        1024,
        "Shortest side.",
    )
    assert found["sieve_words"].type is list
    assert found["sieve_strategy"].type is str
    assert side.identity and not found["sieve_workers"].identity


def test_a_use_replaces_defaults_and_takes_fixed_options_out():
    found = parameters_of([use(defaults={"min_side_px": 128}, fixed={"strategy": "centre"})])
    assert found["sieve_min_side_px"].default == 128
    assert "sieve_strategy" not in found


def test_two_uses_with_prefixes_have_parameters_of_their_own():
    found = parameters_of([use("coarse", {"min_side_px": 64}), use("fine")])
    assert (found["coarse_min_side_px"].default, found["fine_min_side_px"].default) == (64, 1024)


def test_two_uses_of_one_prefix_share_parameters_unless_they_disagree():
    assert len(parameters_of([use(), use()])) == 5
    with pytest.raises(ValueError, match="'sieve'"):
        parameters_of([use(), use(defaults={"min_side_px": 64})])


def test_two_options_that_make_one_name_are_refused():
    class Sides(StepOptions):
        px: int = option(1, "Pixels.")

    with pytest.raises(ValueError, match="sieve_min_side_px"):
        parameters_of([use(), Use("x", "sieve_min_side", Sides, {}, {})])


def test_a_default_of_none_is_refused():
    class Optionals(StepOptions):
        limit: int = option(None, "Limit.")

    with pytest.raises(ValueError, match=r"sieve\.limit has the default None"):
        parameters_of([use(model=Optionals)])


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (bool, bool),
        (int, int),
        (float, float),
        (str, str),
        (list[float], list),
        (tuple[str, ...], list),
        (dict[str, float], dict),
        (Literal[1, 2], int),
    ],
)
def test_option_types_map_to_kfp_types(annotation, kind):
    assert kfp_type(annotation) is kind


@pytest.mark.parametrize("annotation", [int | None, Literal["a", 1], object, bytes])
def test_types_that_kfp_cannot_carry_are_refused(annotation):
    with pytest.raises(ValueError, match="cannot be a KFP parameter"):
        kfp_type(annotation)


def test_signature_and_docstring_carry_types_defaults_and_help():
    found = parameters_of([use()])
    made = signature(found.values(), {"sieve_workers": 2})
    assert made.parameters["sieve_workers"].default == 2
    assert made.parameters["sieve_min_side_px"].annotation is int
    assert all(p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for p in made.parameters.values())
    assert "    sieve_words: Vague words." in docstring("Sieve.", found.values()).splitlines()


def test_both_spellings_find_a_parameter():
    found = parameters_of([use()])
    assert find_parameter("sieve.words", found) is find_parameter("sieve_words", found)


def test_an_unknown_key_names_the_nearest():
    with pytest.raises(OptionError, match=r"no option sieve\.min_sid_px; did you mean sieve\.min_side_px\?"):
        find_parameter("sieve.min_sid_px", parameters_of([use()]))

"""Step options: validation that names the fix, and which options are identity."""

import pytest

from components.data.options import OptionError, StepOptions, identity_options, option, parse_options


class Blur(StepOptions):
    threshold: float = option(100.0, "sharpness, at least", ge=0)
    workers: int = option(0, "threads", identity=False, ge=0)


def test_only_identity_options_take_part_in_ids():
    assert identity_options(parse_options(Blur, {"workers": 3})) == {"threshold": 100.0}


def test_text_from_a_command_line_becomes_the_option_type():
    assert parse_options(Blur, {"threshold": "80.5"}).threshold == 80.5


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"treshold": 3}, "did you mean quality.threshold?"),
        ({"zzz": 3}, "known: threshold, workers."),
        ({"threshold": -1}, "quality.threshold=-1 is not valid: input should be greater than or equal to 0"),
        ({"threshold": float("nan")}, "finite number"),
        ({"threshold": "much"}, "(sharpness, at least)"),
    ],
)
def test_impossible_values_are_errors_that_name_the_option_and_the_fix(values, said):
    with pytest.raises(OptionError) as error:
        parse_options(Blur, values, step="quality")
    assert said in str(error.value)


def test_every_wrong_option_is_named_at_once():
    with pytest.raises(OptionError) as error:
        parse_options(Blur, {"threshold": -1, "workers": -1})
    assert "threshold=-1" in str(error.value)
    assert "workers=-1" in str(error.value)

import pytest

from components.report.wording import duration, number, option_value, percent, precise, printable

NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (0, "0"),
        (35.0, "35"),
        (0.28312, "0.283"),
        (1234.5, "1,234"),
        (float("nan"), "nan"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


def test_scores_beside_a_threshold_keep_four_digits():
    assert (precise(0.27968), precise(0.28), precise(1024)) == ("0.2797", "0.28", "1,024")


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0.0%"), (1, "100.0%"), (1e-6, "<0.1%"), (0.99999, ">99.9%"), (0.1234, "12.3%")]
)
def test_a_share_never_rounds_to_all_or_nothing(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.42, "0.4 s"), (75, "1 min 15 s"), (7322, "2 h 2 min"), (3599.9, "59 min 59 s")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_options_read_as_they_are_written():
    assert [option_value(v) for v in ("", "vit_b", [], ["a"], True, 0.65)] == [
        "∅",
        "vit_b",
        "[]",
        '["a"]',
        "true",
        "0.65",
    ]


def test_control_and_direction_characters_do_not_reach_the_page():
    assert printable("a\x00b\u202ec\u2066d\ne") == "a bcd e"
    assert printable("कुत्ता 👩‍👧 كلب 犬") == "कुत्ता 👩‍👧 كلب 犬"

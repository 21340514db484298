"""Cost forecasts are plain arithmetic, and honest about the first picture."""

import pytest

from components.foreground.forecast import duration, forecast, seconds_per_image


def test_rows_times_seconds_over_workers():
    assert forecast(1000, 6.0, 2).seconds == 3000
    assert str(forecast(1000, 6.0, 2)) == "1000 images, about 50 min (6.00 s an image, 2 workers)"
    assert str(forecast(3, 0.5)) == "3 images, about 2 s (0.50 s an image, 1 worker)"
    assert str(forecast(0, 6.0)) == "nothing to score"


def test_the_first_picture_does_not_count_unless_it_is_alone():
    assert seconds_per_image([30.0, 5.0, 6.0, 7.0]) == 6.0
    assert seconds_per_image([30.0]) == 30.0
    with pytest.raises(ValueError, match="timed"):
        seconds_per_image([])


@pytest.mark.parametrize(
    ("seconds", "words"), [(45, "45 s"), (720, "12 min"), (12_600, "3.5 h"), (181_440, "2.1 days")]
)
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words


def test_impossible_inputs_are_refused():
    with pytest.raises(ValueError, match="makes no sense"):
        forecast(10, 1.0, 0)

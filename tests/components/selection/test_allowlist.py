"""The source allow-list."""

import pytest

from components.selection.allowlist import is_allowed


@pytest.mark.parametrize(
    ("source", "allowed", "taken"),
    [
        ("flickr", [], True),
        ("", [], True),
        ("flickr", ["flickr"], True),
        ("Flickr", [" flickr "], True),
        ("flickr_2019", ["flickr"], False),
        ("flickr_2019", ["kennel", "flickr_*"], True),
        ("", ["flickr"], False),
        ("", ["*"], True),
    ],
)
def test_a_source_is_taken_when_a_name_or_pattern_fits(source: str, allowed: list[str], taken: bool) -> None:
    assert is_allowed(source, allowed) is taken

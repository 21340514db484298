"""Licence texts become the key people mean, and a key is on a list or not."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.data.licenses import is_permitted, normalise_license

KNOWN = {
    "CC0": "CC0-1.0",
    "CC0 Public Domain": "CC0-1.0",
    "cc0-1.0": "CC0-1.0",
    "CC BY 2.0": "CC-BY-2.0",
    "CC BY": "CC-BY",
    "CC BY-SA 2.0 FR": "CC-BY-SA-2.0-FR",
    "CC BY-SA 3.0 de": "CC-BY-SA-3.0-DE",
    "CC BY-ND 2.0": "CC-BY-ND-2.0",
    "cc-by-nc-sa-4.0": "CC-BY-NC-SA-4.0",
    "CC_BY_4": "CC-BY-4.0",
    "Attribution (CC BY 4.0)": "CC-BY-4.0",
    "Attribution-NonCommercial 4.0 International": "CC-BY-NC-4.0",
    "Creative Commons Attribution-ShareAlike 3.0 Unported": "CC-BY-SA-3.0",
    "CC SA 1.0": "CC-SA-1.0",
    "https://creativecommons.org/licenses/by-sa/2.0/fr/deed.en": "CC-BY-SA-2.0-FR",
    "http://creativecommons.org/licenses/by-nc-nd/2.0/": "CC-BY-NC-ND-2.0",
    "https://creativecommons.org/publicdomain/zero/1.0/": "CC0-1.0",
    "https://creativecommons.org/publicdomain/mark/1.0/": "PDM-1.0",
    "Public Domain": "LicenseRef-Public-Domain",
    "Unsplash License": "LicenseRef-Unsplash",
    "Pixabay Content License": "LicenseRef-Pixabay",
    "All rights reserved.": "LicenseRef-All-Rights-Reserved",
    "Apache License 2.0": "Apache-2.0",
    "The MIT License": "MIT",
    "GPL-3.0-only": "GPL-3.0-only",
    "Kennel club terms, 2019": "LicenseRef-Kennel-club-terms-2019",
    "royalty free: no attribution required": "LicenseRef-royalty-free-no-attribution-required",
    "Accredited": "LicenseRef-Accredited",
    "": "",
    "  ": "",
    "unknown": "",
    "N/A": "",
}


@pytest.mark.parametrize(("text", "key"), KNOWN.items())
def test_texts_become_the_key_they_mean(text: str, key: str) -> None:
    assert normalise_license(text) == key


@given(st.text(max_size=60) | st.sampled_from(sorted(KNOWN)))
def test_normalising_a_key_changes_nothing(text: str) -> None:
    key = normalise_license(text)
    assert normalise_license(key) == key


def test_real_attributions_all_become_creative_commons_keys(shared_data: Path) -> None:
    with (shared_data / "watson_dogs_cc/attributions.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        key = normalise_license(row["license"])
        assert key.startswith(("CC0-1.0", "CC-BY")), row
        # The URL beside it names the same licence, but for versions that only one of the two states.
        from_url = normalise_license(row["license_url"])
        family = "CC0" if key == "CC0-1.0" else key.rstrip("0123456789.-FR")
        assert from_url.startswith(family) or not from_url.startswith("CC"), row


@pytest.mark.parametrize(
    ("key", "allowed", "taken"),
    [
        ("CC-BY-2.0-FR", ["CC-BY"], True),
        ("CC-BY-2.0-FR", ["CC BY 2.0"], True),
        ("CC-BY-2.0-FR", ["CC-BY-4.0"], False),
        ("CC-BY-NC-2.0", ["CC-BY"], False),
        ("CC-BY-SA-2.0", ["CC-BY"], False),
        ("CC-BY-NC-2.0", ["CC-BY*"], True),
        ("CC0-1.0", ["CC0", "CC-BY"], True),
        ("LicenseRef-Unsplash", ["Unsplash License"], True),
        ("LicenseRef-All-Rights-Reserved", ["CC0", "CC-BY"], False),
        ("MIT", [], True),
        ("", [], True),
    ],
)
def test_a_family_takes_its_versions_and_not_its_restricted_siblings(
    key: str, allowed: list[str], taken: bool
) -> None:
    assert is_permitted(key, allowed) is taken


def test_rows_without_licence_follow_the_policy_even_under_a_star() -> None:
    assert not is_permitted("", ["*"])
    assert is_permitted("", ["CC0"], unknown="allow")
    with pytest.raises(ValueError, match="reject or allow"):
        is_permitted("", ["CC0"], unknown="maybe")

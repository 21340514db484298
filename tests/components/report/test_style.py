import re
from pathlib import Path

import pytest

from components.report import page

CSS = (Path(page.__file__).with_name("templates") / "style.css").read_text(encoding="utf-8")
PAIRS = [
    *((ink, ground) for ink in ("ink", "soft", "proposed") for ground in ("page", "card")),
    ("kept-ink", "card"),
    ("kept-ink", "kept-soft"),
    ("failing-ink", "card"),
    ("failing-ink", "failing-soft"),
    ("warn", "warn-soft"),
    ("soft", "track"),
]


def scheme(index):
    block = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)[index]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))


def luminance(color):
    """Relative luminance of WCAG 2."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("index", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), PAIRS)
def test_text_has_the_contrast_of_wcag_aa(index, ink, ground):
    colors = scheme(index)
    light, dark = sorted((luminance(colors[ink]), luminance(colors[ground])), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_the_style_loads_nothing():
    assert "url(" not in CSS and "@import" not in CSS and "</style" not in CSS

"""The script a caption is written in, so that a report can show what the rules do to each."""

from collections import Counter
from functools import lru_cache

import regex

from components.captions.words import clean

# Unicode script names (UAX #24), by how often captions come in them. Kana and Han together are "Japanese".
SCRIPTS: tuple[str, ...] = (
    *("Latin", "Han", "Cyrillic", "Arabic", "Hiragana", "Katakana", "Hangul", "Thai", "Devanagari", "Greek"),
    *("Hebrew", "Bengali", "Tamil", "Telugu", "Gujarati", "Kannada", "Malayalam", "Gurmukhi", "Sinhala"),
    *("Khmer", "Lao", "Myanmar", "Tibetan", "Georgian", "Armenian", "Ethiopic", "Bopomofo"),
)
JAPANESE, OTHER, NONE = "Japanese", "Other", "None"
_LETTER = regex.compile(r"\p{L}")
_BY_SCRIPT = {script: regex.compile(rf"(?=\p{{L}})\p{{Script={script}}}") for script in SCRIPTS}


def dominant_script(caption: str) -> str:
    """Name of the script with the most letters: one of SCRIPTS, "Japanese", "Other" or "None".

    "None" means no letter at all: an empty caption, digits, emoji. A tie goes to the earlier in SCRIPTS.
    """
    found = Counter(script for script in map(_script, clean(caption)) if script)
    if not found:
        return NONE
    counts = {script: found[script] for script in SCRIPTS}
    kana = counts.pop("Hiragana") + counts.pop("Katakana")
    if kana:
        counts[JAPANESE] = kana + counts.pop("Han")
    counts[OTHER] = found[OTHER]
    return max(counts, key=lambda script: counts[script])


@lru_cache(maxsize=65_536)
def _script(character: str) -> str | None:
    """Script of one letter, OTHER for a letter of none of SCRIPTS, None for what is no letter."""
    if not _LETTER.match(character):
        return None
    return next((script for script, pattern in _BY_SCRIPT.items() if pattern.match(character)), OTHER)

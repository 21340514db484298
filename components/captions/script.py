"""The script a caption is written in, so that a report can show what the rules do to each."""

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
    text = clean(caption)
    letters = len(_LETTER.findall(text))
    if not letters:
        return NONE
    counts = {script: len(pattern.findall(text)) for script, pattern in _BY_SCRIPT.items()}
    kana = counts.pop("Hiragana") + counts.pop("Katakana")
    if kana:
        counts[JAPANESE] = kana + counts.pop("Han")
    counts[OTHER] = letters - sum(counts.values())
    return max(counts, key=lambda script: counts[script])

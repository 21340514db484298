"""Words of a caption in any script, by ICU's dictionaries and rules."""

import html
import unicodedata

import icu4py
from icu4py.breakers import WordBreaker

# ICU's root rules: no language is known, and its dictionaries for Han, kana, Thai, Lao, Khmer and Burmese
# apply whatever the locale is.
_LOCALE = "root"


def clean(caption: str) -> str:
    """What every caption rule reads: HTML entities decoded (twice-escaped ones too), NFC, single spaces."""
    plain = html.unescape(html.unescape(caption))
    return " ".join(unicodedata.normalize("NFC", plain).split())


def words(caption: str) -> list[str]:
    """The words of a caption, in order: UAX #29 segments that hold a letter or a digit.

    So a Chinese or Thai sentence is split into its words; "dog's" and "3.5" are one word, "tri-colored" is
    two; punctuation, emoji and symbols are none.
    """
    return [part for part in WordBreaker(clean(caption), _LOCALE) if any(c.isalnum() for c in part)]


def word_count(caption: str) -> int:
    """The column caption_words."""
    return len(words(caption))


def words_policy() -> str:
    """What a word count depends on; counts of different policies may not be mixed in one selection."""
    return f"ICU {icu4py.icu_version} word break, root locale; html-unescape, NFC; with a letter or digit"

"""Lists of words and phrases, found as whole words in any script."""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import regex

from components.captions.words import clean

# Scripts that put no space between words: there a phrase is found anywhere, elsewhere only as whole words.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_STARTS_UNSPACED = regex.compile(rf"[{_UNSPACED}]")
_ENDS_UNSPACED = regex.compile(rf"[{_UNSPACED}]\p{{M}}*$")


def fold(text: str) -> str:
    """Caption or phrase as they are compared: cleaned, case folded, with straight apostrophes."""
    return unicodedata.normalize("NFC", clean(text).replace("’", "'").casefold())


def find_phrases(caption: str, phrases: Iterable[str]) -> list[str]:
    """The folded phrases that stand in a caption, in order of appearance, longest first at one place."""
    text = fold(caption)
    # A plain search of each phrase is far cheaper than one pattern of hundreds of alternatives, and most
    # captions hold none of them.
    present = tuple(phrase for phrase in _folded(tuple(phrases)) if phrase in text)
    return _pattern(present).findall(text) if present else []


def has_phrase(caption: str, phrases: Iterable[str]) -> bool:
    """Whether any of the phrases stands in the caption."""
    return bool(find_phrases(caption, phrases))


@lru_cache(maxsize=32)
def _folded(phrases: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({fold(phrase) for phrase in phrases} - {""}, key=lambda p: (-len(p), p)))


@lru_cache(maxsize=1024)
def _pattern(folded: tuple[str, ...]) -> "regex.Pattern[str]":
    return regex.compile("|".join(_whole(phrase) for phrase in folded))


def _whole(phrase: str) -> str:
    before = "" if _STARTS_UNSPACED.match(phrase) else r"(?<!\w)"
    after = "" if _ENDS_UNSPACED.search(phrase) else r"(?!\w)"
    return before + regex.escape(phrase, literal_spaces=True) + after

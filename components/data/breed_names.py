"""Breed names as people write them -> one comparable form, for labels and for running text.

The comparable form is NFKC, casefolded, without Latin accents, with every separator turned into one space:
`"n02085620-Chihuahua"`, `"chihuahua"` and `"Chihuahua_12"` all become `"chihuahua"`. Chinese and Japanese
write without spaces, so a run of those characters stays one token, apart from Latin words beside it.
"""

import re
import unicodedata

# Han, kana and their marks. Hangul is left out: Korean separates words by spaces.
_CJK = "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CJK_RUN = re.compile(f"[{_CJK}]+")
_LATIN_ACCENTS = re.compile("[\u0300-\u036f]")
_SEPARATORS = re.compile(r"[\W_]+")
_MIDDLE_DOT = re.compile(f"(?<=[{_CJK}])[\u30fb\u00b7](?=[{_CJK}])")
_SYNSET = re.compile(r"^n\d{8}[-_ ]+", re.IGNORECASE)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


def normalise(text: str) -> str:
    """The comparable form of a text: casefolded tokens separated by single spaces; "" for none."""
    text = _MIDDLE_DOT.sub("", unicodedata.normalize("NFKC", text))
    decomposed = unicodedata.normalize("NFD", text.casefold())
    text = unicodedata.normalize("NFC", _LATIN_ACCENTS.sub("", decomposed))
    text = _CJK_RUN.sub(lambda run: f" {run.group()} ", text)
    return _SEPARATORS.sub(" ", text).strip()


def normalise_label(text: str) -> str:
    """The comparable form of a folder or file stem: without a WordNet synset in front and numbers behind."""
    tokens = normalise(_SYNSET.sub("", text.strip())).split(" ")
    while len(tokens) > 1 and tokens[-1].isdecimal():
        tokens.pop()
    return " ".join(tokens)


def is_cjk(token: str) -> bool:
    """Whether a token is written without word boundaries (Han or kana)."""
    return bool(_CJK_RUN.fullmatch(token))


def spellings(alias: str) -> set[str]:
    """Comparable forms of an alias: itself, and for German umlauts also ae, oe, ue."""
    return {normalise(alias), normalise(alias.translate(_UMLAUTS))} - {""}


def plurals(words: str) -> set[str]:
    """English plurals of a comparable form; empty for scripts without them."""
    if is_cjk(words[-1]):
        return set()
    if words[-1] == "y" and words[-2:-1] not in tuple("aeiou"):
        return {words[:-1] + "ies", words + "s"}
    if words.endswith(("s", "x", "ch", "sh", "z")):
        return {words + "es"}
    return {words + "s"}

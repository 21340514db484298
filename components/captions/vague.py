"""Hedging words: a caption that guesses teaches a model the guess."""

from collections.abc import Sequence

from components.captions.phrases import find_phrases, has_phrase

# The default of the option `vague_phrases`: "maybe", "possibly" and "looks like" with their close relatives,
# and the same in the languages that photo captions most often come in.
VAGUE_PHRASES: tuple[str, ...] = (
    *("maybe", "possibly", "perhaps", "probably", "presumably", "supposedly", "apparently", "allegedly"),
    *("looks like", "look like", "looked like", "looking like", "seems to be", "seem to be", "seems like"),
    *("appears to be", "appear to be", "might be", "may be", "could be", "must be"),
    *("some kind of", "some sort of", "kind of", "sort of", "not sure", "i think", "i guess"),
    *("可能", "也许", "也許", "或许", "或許", "大概", "好像", "看起来像", "看起來像"),
    *("たぶん", "多分", "かもしれない", "かもしれません", "ようです", "みたいです"),
    *("아마", "아마도", "것 같다", "것 같습니다"),
    *("quizás", "quizá", "tal vez", "posiblemente", "probablemente", "parece ser"),
    *("peut-être", "probablement", "il semble", "on dirait", "ressemble à"),
    *("vielleicht", "möglicherweise", "vermutlich", "wahrscheinlich", "sieht aus wie"),
    *("talvez", "possivelmente", "provavelmente", "forse", "probabilmente", "sembra"),
    *("возможно", "может быть", "вероятно", "наверное", "похоже на"),
    *("ربما", "يبدو", "أعتقد", "อาจจะ", "น่าจะ", "ดูเหมือน"),
)


def vague_phrases(caption: str, phrases: Sequence[str] = VAGUE_PHRASES) -> list[str]:
    """The hedging phrases of a caption, folded, in order; for the report."""
    return find_phrases(caption, phrases)


def is_vague(caption: str, phrases: Sequence[str] = VAGUE_PHRASES) -> bool:
    """The column caption_vague: whether any phrase stands in the caption, whatever its case."""
    return has_phrase(caption, phrases)

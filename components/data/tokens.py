"""CLIP tokens of a caption: how many there are, and whether the text encoder sees all of it.

The same tokens as open_clip's SimpleTokenizer (lower-cased byte-level BPE with 49,408 entries, Radford et al.
2021, 2.4), from the merge list that open_clip ships, but without importing torch.
"""

import gzip
import html
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import ftfy
import regex
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers.models import BPE

CONTEXT_LENGTH = 77
START, END = "<start_of_text>", "<end_of_text>"
_MERGES_FILE = "bpe_simple_vocab_16e6.txt.gz"
_VOCABULARY = 49_408
# English clitics, runs of letters, single digits, runs of anything else.
_PIECES = regex.compile(
    rf"{START}|{END}|'s|'t|'re|'ve|'m|'ll|'d|\p{{L}}+|\p{{N}}|[^\s\p{{L}}\p{{N}}]+", regex.IGNORECASE
)


def token_ids(caption: str) -> list[int]:
    """Token ids of a caption including the start and end tokens, not cut to the context length."""
    # ftfy repairs mis-decoded text and costs more than all the rest; printable ASCII has nothing to repair.
    plain = caption.isascii() and caption.isprintable() and "&" not in caption
    text = caption if plain else html.unescape(html.unescape(ftfy.fix_text(caption)))
    pieces = _PIECES.findall(" ".join(text.split()).lower())
    tokenizer = _tokenizer()
    ids = tokenizer.encode(pieces, is_pretokenized=True, add_special_tokens=False).ids
    return [_VOCABULARY - 2, *ids, _VOCABULARY - 1]


def token_count(caption: str) -> int:
    """The column caption_tokens, with the start and end tokens: an empty caption has 2."""
    return len(token_ids(caption))


def is_truncated(tokens: int) -> bool:
    """The column caption_truncated: more tokens than the 77 that CLIP's text encoder reads."""
    return tokens > CONTEXT_LENGTH


def tokens_policy() -> str:
    """What a token count depends on."""
    return f"CLIP BPE 49408, open-clip-torch {version('open-clip-torch')}, ftfy {version('ftfy')}"


@lru_cache(maxsize=1)
def _tokenizer() -> Tokenizer:
    merges = _merges()
    symbols = _byte_symbols()
    entries = [*symbols, *(s + "</w>" for s in symbols), *(a + b for a, b in merges), START, END]
    model = BPE({entry: i for i, entry in enumerate(entries)}, merges, end_of_word_suffix="</w>")
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.add_special_tokens([START, END])
    return tokenizer


def _merges() -> list[tuple[str, str]]:
    """The merges that fill the vocabulary up to 49,408; the first line is a header, the tail unused."""
    spec = find_spec("open_clip")  # finds the folder without running the package, which would import torch
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("CLIP's merge list comes with open_clip: pip install open-clip-torch.")
    packed = (Path(spec.origin).parent / _MERGES_FILE).read_bytes()
    lines = gzip.decompress(packed).decode().split("\n")[1 : _VOCABULARY - 2 * 256 - 2 + 1]
    return [(first, second) for first, second in (line.split() for line in lines)]


def _byte_symbols() -> list[str]:
    """A visible character for each byte, in vocabulary order: printable Latin-1, the rest from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return [chr(b) for b in printable] + [chr(0x100 + i) for i in range(256 - len(printable))]

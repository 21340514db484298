"""Measure every caption: words, tokens, script, hedging, and whether it speaks of a dog."""

from collections.abc import Callable, Iterator
from typing import Any

from components.captions.dog_words import DOG_WORDS, has_dog_word
from components.captions.options import CaptionsOptions
from components.captions.script import dominant_script
from components.captions.vague import VAGUE_PHRASES, is_vague
from components.captions.words import word_count, words_policy
from components.data.manifest import DatasetManifest
from components.data.task import Batches, Task, add_group
from components.data.tokens import is_truncated, token_count, tokens_policy

INPUTS = ("dataset",)
SCORES = [
    "caption_words",
    "caption_vague",
    "caption_tokens",
    "caption_truncated",
    "caption_has_dog_word",
    "caption_script",
]
# Words of a caption of this length are counted in seconds; nobody describes a photo at such length.
MAX_CHARACTERS = 20_000


def run(task: Task, dataset: DatasetManifest, *, options: CaptionsOptions) -> DatasetManifest:
    """Score every caption. One that cannot be read gets a captions_error."""
    vague = tuple(options.vague_phrases) or VAGUE_PHRASES
    dog_words = tuple(options.dog_words) or DOG_WORDS
    return add_group(
        task,
        dataset,
        step="captions",
        options=options,
        columns=[*SCORES, "captions_error"],
        reads=["caption"],
        score=_scorer(vague, dog_words),
        policy={
            "words": words_policy(),
            "tokens": tokens_policy(),
            "vague_phrases": list(vague),
            "dog_words": list(dog_words),
        },
    )


def _scorer(
    vague: tuple[str, ...], dog_words: tuple[str, ...]
) -> Callable[[Batches], Iterator[dict[str, list[Any]]]]:
    def score_caption(caption: str) -> dict[str, Any]:
        if len(caption) > MAX_CHARACTERS:
            return {"captions_error": f"the caption has {len(caption):,} characters; it is no caption"}
        tokens = token_count(caption)
        return {
            "caption_words": word_count(caption),
            "caption_vague": is_vague(caption, vague),
            "caption_tokens": tokens,
            "caption_truncated": is_truncated(tokens),
            "caption_has_dog_word": has_dog_word(caption, dog_words),
            "caption_script": dominant_script(caption),
        }

    def score(batches: Batches) -> Iterator[dict[str, list[Any]]]:
        for batch in batches:
            rows = [score_caption(caption or "") for caption in batch.column("caption").to_pylist()]
            values = {name: [row.get(name) for row in rows] for name in [*SCORES, "captions_error"]}
            yield {"image_id": batch.column("image_id").to_pylist(), **values}

    return score

"""Training text of stages 1 and 2: "a purebred [BREED], [FEATURE_1], ..., [measured environment]".

The text names only what is known of this very photo or of its breed: the breed label, facts of the feature
table, and an environment clause where the foreground step measured it.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

ALL_FEATURES = -1


class PromptError(ValueError):
    """A prompt that cannot be made; the message says why."""


@dataclass(frozen=True)
class Template:
    """How a prompt is put together.

    opening: text with `{breed}`. background_clause: said where the background was measured as plain.
    n_features: features per prompt; -1 says all that are known. max_tokens: with start and end token.
    """

    opening: str = "a purebred {breed}"
    background_clause: str = "plain gray background"
    n_features: int = 3
    max_tokens: int = 77

    def __post_init__(self) -> None:
        if "{breed}" not in self.opening:
            raise PromptError(f"The prompt opening {self.opening!r} must hold {{breed}}.")


@dataclass(frozen=True)
class Prompt:
    """text: None for a photo without a breed label, which then serves stage 0 only. features: those named."""

    text: str | None
    features: tuple[str, ...] = ()


def build_prompt(
    template: Template,
    *,
    image_id: str,
    breed_name: str | None,
    phrases: Sequence[tuple[str, str]],
    background_plain: bool | None,
    count_tokens: Callable[[str], int],
) -> Prompt:
    """The prompt of one photo.

    phrases: (feature, phrase) of the breed, in the order to say them (`FeatureTable.phrases`).
    background_plain: True adds the clause; False and None (not measured) do not.
    count_tokens: tokens of a text with start and end token. A prompt that is too long loses features from
    the end, then the clause. Raises PromptError if the opening alone is too long.
    """
    if breed_name is None:
        return Prompt(None)
    opening = template.opening.replace("{breed}", breed_name)
    chosen = choose_features(image_id, phrases, template.n_features)
    clause = [template.background_clause] if background_plain and template.background_clause else []
    while True:
        text = ", ".join([opening, *(phrase for _, phrase in chosen), *clause])
        if count_tokens(text) <= template.max_tokens:
            return Prompt(text, tuple(name for name, _ in chosen))
        if chosen:
            chosen = chosen[:-1]
        elif clause:
            clause = []
        else:
            raise PromptError(f"{text!r} alone takes more than {template.max_tokens} tokens; shorten it.")


def choose_features(
    image_id: str, phrases: Sequence[tuple[str, str]], n_features: int
) -> list[tuple[str, str]]:
    """`n_features` of the phrases, drawn by hash of the image id, in their given order.

    The same photo always gets the same features, whatever its shard or run; over many photos each feature
    comes equally often. The given order keeps the number of distinct prompts small: text states are cached
    once per distinct text.
    """
    if n_features == ALL_FEATURES or n_features >= len(phrases):
        return list(phrases)

    def rank(phrase: tuple[str, str]) -> bytes:
        return hashlib.sha256(f"{image_id}\0{phrase[0]}".encode()).digest()

    drawn = sorted(phrases, key=rank)[:n_features]
    return [phrase for phrase in phrases if phrase in drawn]

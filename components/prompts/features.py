"""Morphological features of easily confused breeds: what can be said in a prompt, and who vouches for it.

`features.json` holds the shipped table: ten features with their levels and the phrase for each level, and one
fact per breed and feature. No breed standard was opened for the shipped facts, so all of them are
`reviewed: false` with an empty source; `reviewed_only` leaves such facts out of prompts.
"""

import difflib
import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError


class FeaturesError(ValueError):
    """A features file or an annotators' CSV that cannot be used; the message names the place and the fix."""


class Feature(BaseModel):
    """One feature. `unit` is "level" for named levels; `levels` maps a level to its phrase in a prompt."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    help: str = ""
    unit: str = "level"
    levels: dict[str, str]


class Fact(BaseModel):
    """The level of one feature in one breed. `reviewed` only if people agreed or the source was opened."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    value: str
    reviewed: bool = False
    source: str = ""


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    features: dict[str, Feature]
    confused: list[tuple[str, str]] = []
    breeds: dict[str, dict[str, Fact]]


@dataclass(frozen=True)
class FeatureTable:
    """Features by name in prompt order, facts by breed and feature, and the pairs that are confused."""

    features: dict[str, Feature]
    facts: dict[str, dict[str, Fact]]
    confused: tuple[tuple[str, str], ...] = field(default=())

    def phrases(self, breed: str, *, reviewed_only: bool) -> list[tuple[str, str]]:
        """(feature, phrase) of every fact about a breed, in table order; [] for a breed without facts."""
        facts = self.facts.get(breed, {})
        return [
            (name, feature.levels[facts[name].value])
            for name, feature in self.features.items()
            if name in facts and (facts[name].reviewed or not reviewed_only)
        ]

    def with_facts(self, merged: dict[tuple[str, str], Fact | None]) -> "FeatureTable":
        """The table with facts of (breed, feature) replaced; None takes the fact out."""
        facts = {breed: dict(by_feature) for breed, by_feature in self.facts.items()}
        for (breed, feature), fact in merged.items():
            by_feature = facts.setdefault(breed, {})
            by_feature.pop(feature, None)
            if fact is not None:
                by_feature[feature] = fact
        return replace(self, facts=facts)

    @property
    def digest(self) -> str:
        """Hash of everything that can reach a prompt, for identities (16 hex digits)."""
        content = {
            "features": {name: feature.model_dump() for name, feature in self.features.items()},
            "order": list(self.features),
            "facts": {b: {f: fact.model_dump() for f, fact in fs.items()} for b, fs in self.facts.items()},
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def load_features(text: str = "", *, breeds: Collection[str]) -> FeatureTable:
    """The shipped features, or those of a JSON text in the same form as features.json.

    breeds: the keys that may occur. Raises FeaturesError for a file that is not of that form, an unknown
    breed or feature, or a value that is not a level of its feature.
    """
    text = text or Path(__file__).with_name("features.json").read_text(encoding="utf-8")
    try:
        parsed = _File.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the top level"
        raise FeaturesError(f"The features file is wrong at {place}: {first['msg']}.") from None
    for breed, facts in parsed.breeds.items():
        if breed not in breeds:
            raise FeaturesError(f"The features file names the breed {breed!r}; {_closest(breed, breeds)}")
        for name, fact in facts.items():
            check_level(parsed.features, name, fact.value, where=f"The features file, breed {breed!r}")
    return FeatureTable(parsed.features, parsed.breeds, tuple(parsed.confused))


def check_level(features: dict[str, Feature], name: str, value: str, *, where: str) -> None:
    """Raises FeaturesError, opened by `where`, if `name` is no feature or `value` none of its levels."""
    if name not in features:
        raise FeaturesError(f"{where} names the feature {name!r}; {_closest(name, features)}")
    levels = features[name].levels
    if value not in levels:
        raise FeaturesError(f"{where} gives {name} the value {value!r}; its levels are {', '.join(levels)}.")


def _closest(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"it takes {', '.join(sorted(known)[:12])} ..."

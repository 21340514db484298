"""Captions say true things of the right length, and a swap makes exactly one of them false."""

import numpy as np
import pytest

from pipelines.demo.breeds import BREEDS
from pipelines.demo.captions import PHRASES, caption, caption_of_length, swapped_caption
from pipelines.demo.spec import ATTRIBUTES, BACKGROUNDS, DogSpec, breed_spec, free_spec


def specs(count: int, seed: int = 0) -> list[DogSpec]:
    rng = np.random.default_rng(seed)
    keys = list(BREEDS)
    return [breed_spec(keys[i % 8], rng) if i % 2 else free_spec(rng) for i in range(count)]


def names_of(attribute: str, value: str) -> tuple[str, ...]:
    return BREEDS[value].names if attribute == "breed" else PHRASES[attribute][value]


def says(text: str, attribute: str, value: str) -> bool:
    return any(phrase.lower() in text.lower() for phrase in names_of(attribute, value))


def test_every_caption_has_8_to_35_words_and_no_hyphen() -> None:
    for index, spec in enumerate(specs(800)):
        text = caption(spec, index).text
        assert 8 <= len(text.split()) <= 35, text
        assert "-" not in text and "  " not in text and " ," not in text


def test_a_caption_states_the_attributes_of_its_spec_and_nothing_hidden() -> None:
    for index, spec in enumerate(specs(400, seed=1)):
        told = caption(spec, index)
        assert len(told.mentions) >= 5
        for attribute, value in told.mentions.items():
            assert getattr(spec, attribute) == value
            assert says(told.text, attribute, value), (told.text, attribute)
        if spec.pose == "head":
            assert not {"legs", "tail"} & set(told.mentions)
        assert ("breed" in told.mentions) == bool(spec.breed)


def test_a_caption_names_no_other_value_of_a_stated_attribute() -> None:
    for index, spec in enumerate(specs(300, seed=2)):
        told = caption(spec, index)
        for attribute in ("ears", "muzzle", "legs", "background"):
            for value in ATTRIBUTES[attribute]:
                if value != getattr(spec, attribute):
                    assert not says(told.text, attribute, value), (told.text, attribute, value)


def test_a_swap_changes_one_statement_and_leaves_the_other_words() -> None:
    rng = np.random.default_rng(3)
    seen = set()
    for index, spec in enumerate(specs(400, seed=3)):
        told = caption(spec, index)
        wrong, attribute = swapped_caption(spec, index, rng)
        seen.add(attribute)
        different = {name for name in told.mentions if told.mentions[name] != wrong.mentions.get(name)}
        assert different == {attribute}
        assert wrong.text != told.text
    assert seen == {*ATTRIBUTES, "breed"}


def test_wording_varies_for_one_dog() -> None:
    spec = specs(1, seed=4)[0]
    assert len({caption(spec, seed).text for seed in range(60)}) >= 50


@pytest.mark.parametrize("words", [3, 5, 7, 8, 9, 20, 34, 35, 36, 40, 48, 55])
def test_a_caption_of_a_wanted_length_has_exactly_that_many_words(words: int) -> None:
    for index, spec in enumerate(specs(40, seed=5)):
        told = caption_of_length(spec, index, words)
        assert len(told.text.split()) == words, told.text
        assert all(says(told.text, name, value) for name, value in told.mentions.items())


def test_an_impossible_length_is_an_error_that_names_the_range() -> None:
    with pytest.raises(ValueError, match="3 to 55"):
        caption_of_length(specs(1)[0], 0, 200)


def test_every_place_of_the_demo_set_has_words() -> None:
    assert set(PHRASES["background"]) == set(BACKGROUNDS)
    assert all(set(PHRASES[name]) == set(values) for name, values in ATTRIBUTES.items())

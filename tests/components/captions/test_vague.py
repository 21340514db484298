"""Hedging is found, and plain captions pass."""

from pathlib import Path

import pytest

from components.captions.vague import is_vague, vague_phrases


@pytest.mark.parametrize(
    "caption",
    [
        "Maybe a beagle in the park",
        "This is possibly a puppy.",
        "A dog that LOOKS LIKE a wolf",
        "perhaps a husky",
        "这可能是一只金毛犬",
        "たぶん柴犬です",
        "vielleicht ein Dackel",
        "Quizás un perro",
        "น่าจะเป็นสุนัข",
    ],
)
def test_a_guess_is_vague(caption: str):
    assert is_vague(caption)
    assert len(vague_phrases(caption)) == 1


@pytest.mark.parametrize(
    "caption",
    ["", "A black dog looks at the camera", "The likely winner of the show", "May, a beagle, is kind"],
)
def test_a_plain_statement_is_not(caption: str):
    assert not is_vague(caption)


def test_the_list_is_an_option():
    assert is_vague("a doggo", ["doggo"])
    assert not is_vague("maybe a dog", ["doggo"])


def test_few_human_captions_hedge_and_those_that_do_hold_the_phrase(shared_data: Path):
    lines = (shared_data / "flickr8k_dog_captions" / "dog_captions.tsv").read_text().splitlines()
    captions = [line.split("\t")[1] for line in lines]
    vague = [c for c in captions if is_vague(c)]
    assert 0 < len(vague) < 0.01 * len(captions)
    assert all(any(p in c.lower() for p in vague_phrases(c)) for c in vague)

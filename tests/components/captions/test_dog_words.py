"""Dog words in many languages, and the dogs that are none."""

from pathlib import Path

import pytest

from components.captions.dog_words import dog_words, has_dog_word


@pytest.mark.parametrize(
    "caption",
    [
        "Two DOGS play",
        "a puppy&#39;s first day, the dog's bone",
        "一只棕色的狗",
        "柴犬がいる",
        "สุนัขวิ่ง",
        "Ein Hund im Schnee",
        "un chien noir",
        "el perro corre",
        "собака бежит",
        "الكلب يجري",
        "कुत्ता दौड़ता है",
        "강아지가 잔다",
        "one dog eats a hot dog",
        "a dog tags along",
        "a German Shepherd runs",
    ],
)
def test_a_dog_is_found(caption: str):
    assert has_dog_word(caption)
    assert dog_words(caption)


@pytest.mark.parametrize(
    "caption",
    [
        "",
        "a cat",
        "dogma",
        "a man eats a hot dog",
        "热狗",
        "prairie dogs",
        "a cane",
        "apple pies",
        "사과 두 개",
    ],
)
def test_what_is_no_dog_is_not(caption: str):
    assert not has_dog_word(caption)
    assert dog_words(caption) == []


def test_the_list_is_an_option():
    assert has_dog_word("a borzoi", ["borzoi"])
    assert not has_dog_word("a dog", ["borzoi"])


def test_the_dog_captions_of_flickr_hold_a_dog_word(shared_data: Path):
    lines = (shared_data / "flickr8k_dog_captions" / "dog_captions.tsv").read_text().splitlines()
    captions = [line.split("\t")[1] for line in lines]
    share = sum(map(has_dog_word, captions)) / len(captions)
    assert share > 0.97

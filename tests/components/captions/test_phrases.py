"""Phrases are found as whole words, in any case and script."""

import pytest

from components.captions.phrases import find_phrases, fold, has_phrase


@pytest.mark.parametrize(
    ("caption", "phrase", "found"),
    [
        ("Maybe a dog", "maybe", True),
        ("MAYBE", "Maybe", True),
        ("a dogma", "dog", False),
        ("hotdog", "dog", False),
        ("dog_1", "dog", False),
        ("a dog, sitting", "dog", True),
        ("it looks\n like  a dog", "looks like", True),
        ("looks likely", "looks like", False),
        ("PEUT-ÊTRE un chien", "peut-être", True),
        ("peut-e\u0302tre", "peut-être", True),
        ("STRASSE", "straße", True),
        ("这可能是一只狗", "可能", True),
        ("ใช่หมาตัวใหญ่", "หมา", True),
        ("कुत्ते", "कुत्त", False),
        ("i don&#39;t know", "don’t", True),
        ("c.t", "cat", False),
        ("cat", "c.t", False),
        ("anything", "", False),
    ],
)
def test_only_whole_phrases_count(caption: str, phrase: str, found: bool):
    assert has_phrase(caption, [phrase]) is found
    assert find_phrases(caption, [phrase]) == ([fold(phrase)] if found else [])


def test_the_longest_phrase_wins_and_order_is_that_of_the_caption():
    assert find_phrases("a hot dog and a dog", ["dog", "hot dog"]) == ["hot dog", "dog"]


def test_no_phrases_find_nothing():
    assert not has_phrase("maybe", [])
    assert find_phrases("maybe", []) == []

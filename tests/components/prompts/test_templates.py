import collections

import pytest

from components.prompts.templates import ALL_FEATURES, PromptError, Template, build_prompt, choose_features

PHRASES = [(f"feature_{i}", f"phrase {i}") for i in range(10)]


def count_words(text):
    return len(text.split()) + 2


def build(template=Template(), **changes):  # noqa: B008 - a frozen value
    arguments = {
        "image_id": "a" * 32,
        "breed_name": "golden retriever",
        "phrases": PHRASES[:2],
        "background_plain": None,
        "count_tokens": count_words,
    }
    return build_prompt(template, **{**arguments, **changes})


def test_a_prompt_names_breed_then_features_then_the_measured_background():
    prompt = build(background_plain=True)
    assert prompt.text == "a purebred golden retriever, phrase 0, phrase 1, plain gray background"
    assert prompt.features == ("feature_0", "feature_1")


@pytest.mark.parametrize("background_plain", [False, None])
def test_a_background_that_was_not_measured_as_plain_is_not_said(background_plain):
    assert build(background_plain=background_plain).text == "a purebred golden retriever, phrase 0, phrase 1"


def test_a_photo_without_a_breed_has_no_prompt():
    prompt = build(breed_name=None, background_plain=True)
    assert (prompt.text, prompt.features) == (None, ())


def test_a_breed_without_known_features_still_has_a_prompt():
    assert build(phrases=[]).text == "a purebred golden retriever"


@pytest.mark.parametrize(
    ("max_tokens", "text"),
    [
        (13, "a purebred golden retriever, phrase 0, phrase 1, plain gray background"),
        (12, "a purebred golden retriever, phrase 0, plain gray background"),
        (9, "a purebred golden retriever, plain gray background"),
        (8, "a purebred golden retriever"),
        (6, "a purebred golden retriever"),
    ],
)
def test_a_long_prompt_loses_features_from_the_end_and_then_the_clause(max_tokens, text):
    prompt = build(Template(max_tokens=max_tokens), background_plain=True)
    assert prompt.text == text
    assert len(prompt.features) == text.count("phrase")


def test_an_opening_over_the_limit_is_an_error():
    with pytest.raises(PromptError, match="5 tokens"):
        build(Template(max_tokens=5))


def test_an_opening_without_the_breed_is_refused():
    with pytest.raises(PromptError, match=r"\{breed\}"):
        Template(opening="a dog")


def test_features_depend_on_the_image_alone_and_keep_their_order():
    for image_id in ("x", "y", "z"):
        chosen = choose_features(image_id, PHRASES, 3)
        assert chosen == choose_features(image_id, PHRASES, 3)
        assert chosen == sorted(chosen)
        assert len(set(chosen)) == 3
    reversed_choice = choose_features("x", PHRASES[::-1], 3)
    assert sorted(reversed_choice) == choose_features("x", PHRASES, 3)


def test_each_feature_is_chosen_equally_often_over_many_images():
    images = 6000
    counts = collections.Counter(
        name for i in range(images) for name, _ in choose_features(f"{i:032x}", PHRASES, 3)
    )
    # Binomial(6000, .3): sd 35.5; five of them
    assert all(abs(counts[name] - images * 0.3) < 178 for name, _ in PHRASES)


@pytest.mark.parametrize(("n_features", "length"), [(0, 0), (3, 3), (10, 10), (25, 10), (ALL_FEATURES, 10)])
def test_the_number_of_features_is_as_asked(n_features, length):
    assert len(choose_features("x", PHRASES, n_features)) == length

import numpy as np
import pytest

from components.data.breeds import default_breeds
from components.prompts.annotators import (
    Annotation,
    fleiss_kappa,
    merge_annotations,
    observed_and_chance,
    parse_annotations,
    pooled_kappa,
)
from components.prompts.features import FeaturesError, load_features

# Fleiss (1971), Psychological Bulletin 76(5), table 1: 30 patients, 6 psychiatrists each, 5 diagnoses.
FLEISS_1971 = np.array(
    [
        [0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0],
        [2, 0, 4, 0, 0], [0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6],
        [1, 0, 0, 5, 0], [1, 1, 0, 4, 0], [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1],
        [0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0], [0, 2, 0, 4, 0], [1, 0, 2, 0, 3],
        [0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0], [1, 0, 0, 4, 1],
        [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6],
    ]
)  # fmt: skip


def test_kappa_of_the_published_example_is_430():
    observed, chance = observed_and_chance(FLEISS_1971)
    assert observed == pytest.approx(0.556, abs=5e-4)
    assert chance == pytest.approx(0.220, abs=5e-4)
    assert fleiss_kappa(FLEISS_1971) == pytest.approx(0.430, abs=5e-4)


def test_kappa_is_one_for_full_agreement_and_minus_one_for_two_who_never_agree():
    assert fleiss_kappa(np.array([[3, 0], [0, 3], [3, 0]])) == pytest.approx(1.0)
    assert fleiss_kappa(np.array([[1, 1], [1, 1]])) == pytest.approx(-1.0)


def test_kappa_is_undefined_without_two_judgements_or_two_values():
    assert fleiss_kappa(np.array([[1, 0], [0, 1]])) is None
    assert fleiss_kappa(np.array([[3, 0], [3, 0]])) is None


def test_kappa_of_unequal_judgements_leaves_out_items_judged_once():
    lone = np.array([[1, 0, 0, 0, 0]])
    assert fleiss_kappa(np.vstack([FLEISS_1971, lone])) == pytest.approx(fleiss_kappa(FLEISS_1971))


def test_kappa_of_random_judgements_is_near_zero():
    generator = np.random.default_rng(5)
    counts = generator.multinomial(3, [0.5, 0.3, 0.2], size=20_000)
    assert abs(fleiss_kappa(counts)) < 0.01


def test_pooling_equal_features_keeps_their_kappa_though_their_values_differ():
    assert pooled_kappa([FLEISS_1971, FLEISS_1971[:, ::-1]]) == pytest.approx(fleiss_kappa(FLEISS_1971))
    assert pooled_kappa([]) is None


def judge(breed, feature, *values):
    return [Annotation(breed, feature, f"trainer {i}", value) for i, value in enumerate(values)]


def test_the_majority_becomes_a_reviewed_fact_and_a_tie_takes_the_fact_out():
    merge = merge_annotations(
        judge("beagle", "stop", "slight", "moderate", "moderate")
        + judge("pug", "stop", "slight", "moderate", "pronounced")
        + judge("pug", "ear_set", "low", "high")
        + judge("akita", "stop", "slight", "slight", "moderate", "moderate")
        + judge("boxer", "stop", "slight")
    )
    fact = merge.facts["beagle", "stop"]
    assert (fact.value, fact.reviewed, fact.source) == ("moderate", True, "2 of 3 annotators")
    assert merge.disputed == (("pug", "stop"), ("pug", "ear_set"), ("akita", "stop"))
    assert merge.too_few == (("boxer", "stop"),)
    assert ("boxer", "stop") not in merge.facts
    table = load_features(breeds=default_breeds().breeds).with_facts(merge.facts)
    assert "stop" not in table.facts["akita"]
    assert table.phrases("beagle", reviewed_only=True) == [("stop", "a moderate stop")]


def test_agreement_is_given_per_feature_and_overall():
    unanimous = judge("beagle", "ear_set", *["low"] * 3) + judge("pug", "ear_set", *["high"] * 3)
    split = judge("beagle", "stop", "slight", "moderate") + judge("pug", "stop", "moderate", "slight")
    merge = merge_annotations(unanimous + split)
    assert merge.by_feature["ear_set"].kappa == pytest.approx(1.0)
    assert merge.by_feature["stop"].kappa == pytest.approx(-1.0)
    # observed (1 + 1 + 0 + 0) / 4, chance 1/2 everywhere
    assert merge.overall.kappa == pytest.approx(0.0)
    assert merge.overall.items == 4


def parse(text):
    breeds = default_breeds()
    return parse_annotations(text, breeds, load_features(breeds=breeds.breeds).features)


def test_rows_are_read_with_any_spelling_of_the_breed():
    text = "\ufeffbreed,feature,annotator,value\nWelsh Corgi Pembroke,tail_set,ann, low \n"
    assert parse(text) == [Annotation("pembroke", "tail_set", "ann", "low")]


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ("cat,stop,ann,slight", "Row 3 of the annotators' CSV names the breed 'cat'"),
        ("corgi,stop,ann,slight", "write one of pembroke, cardigan"),
        ("pug,stp,ann,slight", "Row 3 of the annotators' CSV names the feature 'stp'; did you mean 'stop'"),
        ("pug,stop,ann,deep", "Row 3 of the annotators' CSV gives stop the value 'deep'"),
        ("pug,stop,,slight", "Row 3 of the annotators' CSV has an empty annotator"),
        ("beagle,stop,ann,slight", "Row 3 of the annotators' CSV repeats row 2"),
    ],
)
def test_a_row_that_does_not_fit_is_named_with_its_number(rows, named):
    with pytest.raises(FeaturesError) as caught:
        parse(f"breed,feature,annotator,value\nbeagle,stop,ann,moderate\n{rows}\n")
    assert named in str(caught.value)


def test_a_missing_column_is_named():
    with pytest.raises(FeaturesError, match="lacks the column 'annotator'"):
        parse("breed,feature,value\n")

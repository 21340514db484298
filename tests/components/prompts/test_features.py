import json

import pytest

from components.data.breeds import STANFORD_DOGS, default_breeds
from components.prompts.features import Fact, FeaturesError, load_features


@pytest.fixture(scope="module")
def table():
    return load_features(breeds=default_breeds().breeds)


def test_six_confused_pairs_of_stanford_breeds_and_the_recipes_own_have_all_ten_features(table):
    assert len(table.features) == 10
    stanford = [
        breed
        for pair in table.confused
        for breed in pair
        if default_breeds()[breed].collection == STANFORD_DOGS
    ]
    assert len(set(stanford)) == 12
    assert ("shiba_inu", "akita") in table.confused
    assert ("golden_retriever", "labrador_retriever") in table.confused
    assert set(table.facts) == {breed for pair in table.confused for breed in pair}
    assert all(set(facts) == set(table.features) for facts in table.facts.values())


def test_the_breeds_of_a_confused_pair_differ_in_two_features_or_more(table):
    for left, right in table.confused:
        apart = [
            name for name in table.features if table.facts[left][name].value != table.facts[right][name].value
        ]
        assert len(apart) >= 2, (left, right)


def test_no_shipped_fact_claims_a_review_or_a_source(table):
    facts = [fact for by_feature in table.facts.values() for fact in by_feature.values()]
    assert facts and not any(fact.reviewed or fact.source for fact in facts)
    assert table.phrases("pembroke", reviewed_only=True) == []


def test_phrases_come_in_table_order_and_only_reviewed_ones_on_request(table):
    changed = table.with_facts(
        {
            ("beagle", "stop"): Fact(value="moderate", reviewed=True, source="3 of 3 annotators"),
            ("beagle", "ear_set"): Fact(value="low"),
        }
    )
    both = [("ear_set", "low-set ears"), ("stop", "a moderate stop")]
    assert changed.phrases("beagle", reviewed_only=False) == both
    assert changed.phrases("beagle", reviewed_only=True) == both[1:]
    assert table.phrases("beagle", reviewed_only=False) == []


def test_a_changed_fact_changes_the_digest_and_none_takes_it_out(table):
    changed = table.with_facts({("pembroke", "tail_set"): None})
    assert "tail_set" not in changed.facts["pembroke"]
    assert "tail_set" in table.facts["pembroke"]
    assert changed.digest != table.digest == load_features(breeds=default_breeds().breeds).digest


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda d: d["breeds"].update({"pembrok": {}}), "did you mean 'pembroke'"),
        (lambda d: d["breeds"]["akita"].update(ears={"value": "x"}), "'ears'"),
        (lambda d: d["breeds"]["akita"]["stop"].update(value="deep"), "slight, moderate, pronounced"),
        (lambda d: d["breeds"]["akita"]["stop"].update(sorce=""), "breeds.akita.stop.sorce"),
    ],
)
def test_a_wrong_features_file_is_an_error_that_names_the_place(change, named):
    from pathlib import Path

    from components.prompts import features

    document = json.loads(Path(features.__file__).with_name("features.json").read_text(encoding="utf-8"))
    change(document)
    with pytest.raises(FeaturesError) as caught:
        load_features(json.dumps(document), breeds=default_breeds().breeds)
    assert named in str(caught.value)

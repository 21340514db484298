import collections
import csv
import re
from pathlib import Path

import pytest

from components.data import breeds
from components.data.breeds import (
    STANFORD_DOGS,
    BreedTableError,
    breed_key,
    default_breeds,
    find_breeds,
    load_breeds,
)

OXFORD_PET_DOGS = [
    "american_bulldog",
    "american_pit_bull_terrier",
    "basset_hound",
    "beagle",
    "boxer",
    "chihuahua",
    "english_cocker_spaniel",
    "english_setter",
    "german_shorthaired",
    "great_pyrenees",
    "havanese",
    "japanese_chin",
    "keeshond",
    "leonberger",
    "miniature_pinscher",
    "newfoundland",
    "pomeranian",
    "pug",
    "saint_bernard",
    "samoyed",
    "scottish_terrier",
    "shiba_inu",
    "staffordshire_bull_terrier",
    "wheaten_terrier",
    "yorkshire_terrier",
]


def test_the_table_holds_the_120_stanford_breeds_in_synset_order():
    stanford = [breed for breed in default_breeds().breeds.values() if breed.collection == STANFORD_DOGS]
    folders = [breed.folder for breed in stanford]
    assert len(folders) == len(set(folders)) == 120
    assert folders == sorted(folders)
    assert all(re.fullmatch(r"n02\d{6}-[A-Za-z][A-Za-z_-]+", folder) for folder in folders)
    assert (folders[0], folders[-1]) == ("n02085620-Chihuahua", "n02116738-African_hunting_dog")


def test_every_folder_key_name_and_alias_names_its_own_breed():
    table = default_breeds()
    for breed in table.breeds.values():
        written = [breed.key, breed.name, breed.folder, *(alias.lstrip("~") for alias in breed.aliases)]
        for label in filter(None, written):
            assert table.key(label) == breed.key, label
            assert table.key(label.upper()) == breed.key, label


@pytest.mark.parametrize(
    ("label", "key"),
    [
        ("n02085620-Chihuahua", "chihuahua"),
        ("n02113186-Cardigan", "cardigan"),
        ("american_bulldog_12", "american_bulldog"),
        ("  Golden   Retriever ", "golden_retriever"),
        ("goldenretriever", "golden_retriever"),
        ("St. Bernard", "saint_bernard"),
        ("Brabancon Griffon", "brabancon_griffon"),
        ("Brabançon griffon", "brabancon_griffon"),
        ("Deutscher Schäferhund", "german_shepherd"),
        ("deutscher-schaeferhund", "german_shepherd"),
        ("Beagles", "beagle"),
        ("beagle dogs", "beagle"),
        ("ゴールデンレトリバー", "golden_retriever"),
        ("ゴールデン・レトリバー", "golden_retriever"),
        (
            "\uff7a\uff9e\uff70\uff99\uff83\uff9e\uff9d\uff9a\uff84\uff98\uff8a\uff9e\uff70",
            "golden_retriever",
        ),
        ("金毛寻回犬", "golden_retriever"),
    ],
)
def test_spelling_case_accents_and_separators_do_not_matter(label, key):
    assert breed_key(label) == key


@pytest.mark.parametrize("label", ["", " ", "cat", "n02123045-tabby", "12", "dog", "golden", "🐶"])
def test_what_names_no_breed_is_none(label):
    assert breed_key(label) is None
    assert default_breeds().candidates(label) == ()


def test_every_dog_folder_of_oxford_pets_has_its_own_key():
    keys = [breed_key(name) for name in OXFORD_PET_DOGS]
    assert None not in keys
    assert len(set(keys)) == 25


def test_a_word_for_several_breeds_is_no_label_but_names_its_candidates():
    assert breed_key("husky") is None
    assert default_breeds().candidates("Husky")[0] == "siberian_husky"
    assert set(default_breeds().candidates("corgi")) == {"pembroke", "cardigan"}


def test_group_members_are_breeds_of_the_table():
    table = default_breeds()
    for term, members in table._groups.items():
        assert all(member in table for member in members), term


@pytest.mark.parametrize(
    ("caption", "keys"),
    [
        ("Two Boston terriers biting at each other .", ["boston_bull"]),
        ("A border collie meets a collie", ["border_collie", "collie"]),
        ("a beagle, a pug and the beagle", ["beagle", "pug"]),
        ("A doberman mix takes a break", []),
        ("a labrador-cross asleep", []),
        ("A trainer giving water to a boxer in the corner .", []),
        ("A boxer dog leaps in the snow", ["boxer"]),
        ("a woman in a cardigan", []),
        ("a pembroke corgi beside a cardigan", ["pembroke", "cardigan"]),
        ("the beaglesque thing", []),
        ("一只金毛寻回犬在草地上", ["golden_retriever"]),
        ("ゴールデン・レトリバーと柴犬", ["golden_retriever", "shiba_inu"]),
        ("Ein Deutscher Schäferhund am Meer", ["german_shepherd"]),
        ("", []),
    ],
)
def test_mentions_are_longest_aliases_on_word_boundaries(caption, keys):
    assert find_breeds(caption) == keys


def test_breed_mentions_of_flickr8k_are_found(shared_data):
    path = shared_data / "flickr8k_dog_captions" / "breed_mention_captions.tsv"
    captions = [line.split("\t")[1] for line in path.read_text(encoding="utf-8").splitlines()]
    counts = collections.Counter(key for caption in captions for key in find_breeds(caption))

    def said(pattern):
        return sum(bool(re.search(pattern, caption, re.IGNORECASE)) for caption in captions)

    assert counts["greyhound"] == said(r"\bgreyhounds?\b")
    assert counts["german_shepherd"] == said(r"\bgerman shep[he]*[ar]+ds?\b")
    assert counts["golden_retriever"] == said(r"\bgolden retrievers?\b")
    assert counts["border_collie"] == said(r"\bborder collies?\b")
    assert counts["collie"] == said(r"(?<!border )\bcollies?\b")
    assert counts["doberman"] == said(r"\bdobermans?\b(?! mix)")
    unnamed = [caption for caption in captions if not find_breeds(caption)]
    group = r"terrier|poodle|husky|corgi|bulldog|retriever|spaniel|sheep ?dog|boxer|mix|schnauzer|shepherd"
    assert not [caption for caption in unnamed if not re.search(group, caption, re.IGNORECASE)]


def test_a_users_csv_adds_breeds_and_gives_group_words_a_meaning():
    table = load_breeds("key,name,aliases\nsiberian_husky,,husky\nkai_ken,Kai Ken,甲斐犬|tora inu\n")
    assert table.key("Husky") == "siberian_husky"
    assert table.find("Huskies pull a sled") == ["siberian_husky"]
    assert table["siberian_husky"].name == "Siberian husky"
    assert (table.key("tora_inu"), table["kai_ken"].collection) == ("kai_ken", "user")
    assert breed_key("husky") is None
    assert table.digest != default_breeds().digest == load_breeds().digest


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("key,aliases\nkai_ken,beagle\n", "'beagle'"),
        ("key\nKai Ken\n", "Row 2"),
        ("key,aliases\nok_dog,a\nkai_ken,tiger, dog\n", "Row 3"),
        ("breed,name\nkai_ken,Kai\n", "`key`"),
    ],
)
def test_a_bad_breeds_csv_is_an_error_that_names_the_place(text, named):
    with pytest.raises(BreedTableError, match=re.escape(named)):
        load_breeds(text)


def test_the_csv_parses_with_five_fields_a_row_and_unique_keys():
    path = Path(breeds.__file__).with_name("breeds.csv")
    rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    assert {len(row) for row in rows} == {5}
    assert len({row[0] for row in rows}) == len(rows)

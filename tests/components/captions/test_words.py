"""Word counts against counts made by hand, in scripts with and without spaces."""

from pathlib import Path

import pytest

from components.captions.words import clean, word_count, words, words_policy

BY_HAND = [
    ("A brown dog runs across the green grass.", 8),
    ("  A   dog \n", 2),
    ("", 0),
    ("... !? — ·", 0),
    ("一只棕色的狗在草地上奔跑", ["一只", "棕色", "的", "狗", "在", "草地", "上", "奔跑"]),
    ("สุนัขสีน้ำตาลวิ่งเล่นในสนามหญ้า", ["สุนัข", "สี", "น้ำตาล", "วิ่ง", "เล่น", "ใน", "สนาม", "หญ้า"]),
    ("犬が公園で遊ぶ", ["犬", "が", "公園", "で", "遊ぶ"]),
    ("كلب بني يجري على العشب", 5),
    ("갈색 개가 잔디밭에서 뛰고 있다", 5),
    ("कुत्ता घास पर दौड़ रहा है", 6),
    ("Собака бежит по траве", 4),
    ("🐕 🐕‍🦺 dog 🐶!", ["dog"]),
    ("👩🏽‍🦰❤️", 0),
    ("dog&amp;cat &lt;3 &#128054;", ["dog", "cat", "3"]),
    ("Tom &amp;amp; Jerry", ["Tom", "Jerry"]),
    ("a dog&#39;s bone", ["a", "dog's", "bone"]),
    ("can't won’t", ["can't", "won’t"]),
    ("a tri-colored dog, 3.5 kg", ["a", "tri", "colored", "dog", "3.5", "kg"]),
]


@pytest.mark.parametrize(("caption", "wanted"), BY_HAND)
def test_words_are_those_counted_by_hand(caption: str, wanted: int | list[str]):
    if isinstance(wanted, list):
        assert words(caption) == wanted
        assert word_count(caption) == len(wanted)
    else:
        assert word_count(caption) == wanted


def test_composed_and_decomposed_letters_count_the_same():
    assert words("cafe\u0301 nin\u0303o") == words("café niño") == ["café", "niño"]


def test_clean_is_idempotent():
    for caption, _ in BY_HAND:
        assert clean(clean(caption)) == clean(caption)


def test_english_captions_agree_with_spaces_where_there_is_only_plain_text(shared_data: Path):
    lines = (shared_data / "flickr8k_dog_captions" / "dog_captions.tsv").read_text().splitlines()
    captions = [line.split("\t")[1] for line in lines]
    plain = [c for c in captions if all(p.isalpha() and p.isascii() for p in c.rstrip(" .").split())]
    assert len(plain) > 0.6 * len(captions)
    for caption in plain[:3000]:
        assert word_count(caption) == len(caption.rstrip(" .").split()), caption


def test_the_policy_names_the_version_of_the_segmenter():
    assert words_policy().startswith("ICU 7")

"""Token ids equal open_clip's, caption by caption, without importing torch."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.data.tokens import is_truncated, token_count, token_ids, tokens_policy

CAPTIONS = [
    "",
    " ",
    "a photo of a dog",
    "It's a DOG's life; they'll've 12 dogs!!!",
    "一只棕色的狗在草地上奔跑",
    "สุนัขสีน้ำตาลวิ่งเล่นในสนามหญ้า",
    "犬が公園で遊ぶ ゴールデン・レトリバー",
    "كلب بني يجري على العشب",
    "🐕‍🦺 dog 🐶 naïve café ½ ² ⅷ",
    "dog&amp;amp;cat &lt;b&gt; schÃ¶n",
    "<start_of_text>dog<end_of_text>",
    "x" * 500,
    "_underscore_ ʻokina İstanbul ﬁ",
]


@pytest.fixture(scope="module")
def reference():
    from open_clip.tokenizer import SimpleTokenizer

    tokenizer = SimpleTokenizer()
    return lambda text: [tokenizer.sot_token_id, *tokenizer.encode(text), tokenizer.eot_token_id]


@pytest.mark.parametrize("caption", CAPTIONS)
def test_ids_are_those_of_open_clip(caption: str, reference):
    assert token_ids(caption) == reference(caption)


def test_ids_are_those_of_open_clip_on_real_captions(shared_data: Path, reference):
    lines = (shared_data / "flickr8k_dog_captions" / "dog_captions.tsv").read_text().splitlines()
    for line in lines[::10]:
        caption = line.split("\t")[1]
        assert token_ids(caption) == reference(caption), caption


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_ids_are_those_of_open_clip_on_any_text(reference, text: str):
    assert token_ids(text) == reference(text)


def test_known_ids_of_a_short_caption():
    # "a photo of a dog" is 320 1125 539 320 1929 in CLIP's vocabulary.
    assert token_ids("a photo of a dog") == [49406, 320, 1125, 539, 320, 1929, 49407]
    assert token_count("a photo of a dog") == 7
    assert token_count("") == 2


def test_seventy_seven_tokens_fit_and_seventy_eight_do_not():
    assert token_count("dog " * 75) == 77
    assert [is_truncated(token_count("dog " * n)) for n in (75, 76)] == [False, True]


def test_sixty_seven_chinese_characters_are_about_165_tokens():
    text = (
        "一只棕色的小狗在公园的草地上快乐地奔跑追逐一个红色的球旁边有一位穿着蓝色衣服的女"
        "人坐在长椅上微笑着看着它阳光透过树叶洒在地上形成斑驳的影子"
    )
    assert len(text[:67]) == 67
    assert 120 < token_count(text[:67]) < 200
    assert is_truncated(token_count(text[:67]))


def test_counting_tokens_imports_no_torch():
    code = (
        "import sys; from components.data.tokens import token_count as n;"
        "print(n('dog'), 'torch' in sys.modules, 'open_clip' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["3", "False", "False"]


def test_the_policy_names_its_versions():
    assert "open-clip-torch" in tokens_policy()

"""The dominant script of hand-written captions."""

import pytest

from components.captions.script import dominant_script


@pytest.mark.parametrize(
    ("caption", "script"),
    [
        ("A brown dog", "Latin"),
        ("Ein Hündchen — größer", "Latin"),
        ("一只棕色的狗", "Han"),
        ("茶色の犬が走る", "Japanese"),
        ("ゴールデンレトリバー", "Japanese"),
        ("สุนัขสีน้ำตาล", "Thai"),
        ("كلب بني", "Arabic"),
        ("갈색 개", "Hangul"),
        ("Собака", "Cyrillic"),
        ("σκύλος", "Greek"),
        ("כלב", "Hebrew"),
        ("कुत्ता", "Devanagari"),
        ("一只 golden retriever 狗", "Latin"),
        ("金毛寻回犬 dog", "Han"),
        ("", "None"),
        ("🐕 123 !?", "None"),
        ("&#29399;", "Han"),
        ("ᏣᎳᎩ", "Other"),
    ],
)
def test_the_script_with_most_letters_wins(caption: str, script: str):
    assert dominant_script(caption) == script

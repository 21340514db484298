"""Distinct texts are embedded once, in the right order, within the capacity."""

import numpy as np

from components.similarity.embeddings import TextEmbeddings, text_key


class CountingEmbedder:
    """Embeds a text as its length and its first letter's code, and remembers what it was asked for."""

    logit_scale = 1.0

    def __init__(self):
        self.asked: list[str] = []

    def embed_images(self, images):
        raise AssertionError("no pictures here")

    def embed_texts(self, texts):
        self.asked += texts
        return np.array([[len(text), ord(text[0])] for text in texts], np.float32)


def test_repeated_texts_are_embedded_once_and_rows_keep_their_order():
    embedder = CountingEmbedder()
    embed = TextEmbeddings(embedder)
    rows = embed(["beagle", "akita", "beagle", "pug"])
    np.testing.assert_array_equal(rows[:, 0], [6, 5, 6, 3])
    again = embed(["pug", "husky", "akita"])
    np.testing.assert_array_equal(again, [[3, ord("p")], [5, ord("h")], [5, ord("a")]])
    assert embedder.asked == ["beagle", "akita", "pug", "husky"]
    assert embed.computed == 4


def test_a_small_capacity_forgets_the_least_recent_text_and_stays_right():
    embedder = CountingEmbedder()
    embed = TextEmbeddings(embedder, capacity=2)
    assert embed(["aa", "b", "cccc"])[:, 0].tolist() == [2, 1, 4]
    embed(["b"])
    embed(["dd"])
    embedder.asked.clear()
    embed(["b", "dd"])
    assert embedder.asked == []
    embed(["cccc"])
    assert embedder.asked == ["cccc"]


def test_no_texts_give_no_rows():
    assert TextEmbeddings(CountingEmbedder())([]).shape[0] == 0


def test_text_keys_are_equal_only_for_equal_texts():
    keys = {text_key(text) for text in ("", "a", "A", "犬", "a ")}
    assert len(keys) == 5
    assert text_key("a") == "ca978112ca1bbdcafac231b39a23dc4d"  # sha256("a"), a published test value

"""One bad item costs one answer."""

import pytest

from components.data.batches import answers


def halves(items):
    if any(item % 2 for item in items):
        raise ValueError("odd")
    return [item // 2 for item in items]


def test_a_good_batch_is_asked_once():
    calls = []

    def function(items):
        calls.append(list(items))
        return halves(items)

    assert answers(function, [2, 4, 6]) == [1, 2, 3]
    assert calls == [[2, 4, 6]]


def test_a_bad_item_has_its_error_and_the_others_their_answers():
    first, bad, last = answers(halves, [2, 3, 6])
    assert (first, last) == (1, 3)
    assert isinstance(bad, ValueError) and str(bad) == "odd"


def test_faults_that_are_not_an_items_are_raised():
    def function(items):
        raise MemoryError

    with pytest.raises(MemoryError):
        answers(function, [1, 2])


def test_nothing_asks_nothing():
    assert answers(halves, []) == []

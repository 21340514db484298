import pytest

from components.training.stages import stage


def test_without_the_curriculum_all_tiers_of_the_stage_come_from_the_first_epoch_on():
    assert [stage(2).tiers_at(epoch) for epoch in (0, 2, 3)] == [(0,), (0,), (0, 1)]
    assert [stage(2, curriculum=False).tiers_at(epoch) for epoch in (0, 2, 3)] == [(0, 1)] * 3


@pytest.mark.parametrize("number", [0, 1])
def test_stages_without_a_curriculum_are_as_they_were(number):
    assert stage(number, curriculum=False).tiers_at(0) == stage(number).tiers_at(0)


def test_an_unknown_stage_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"stage 3 is unknown; use one of: 0 \(general\), 1 \(breed\)"):
        stage(3)

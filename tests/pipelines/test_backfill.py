"""Backfill widens scopes to the loosest selection and changes nothing else."""

from pipelines.backfill import widened
from pipelines.compile import load
from pipelines.values import resolve


def changes(pipeline, *assignments):
    loaded = load(pipeline)
    before = resolve(loaded, profile="demo", assignments=assignments)
    after = widened(loaded, before)
    return {
        name: value for name, value in after.parameters.items() if value != before.parameters[name]
    }, after


def test_a_looser_selection_widens_the_scopes_that_are_tighter():
    changed, after = changes("curation", "selection.min_side_px=64", "selection.laplacian_variance=10")
    assert changed == {
        "similarity_scope_min_side_px": 64,
        "similarity_scope_laplacian_variance": 10.0,
        "foreground_scope_min_side_px": 64,
        "foreground_scope_laplacian_variance": 10.0,
    }
    assert after.sources["similarity_scope_min_side_px"] == "backfill"
    assert after.options["foreground"]["scope_min_side_px"] == 64


def test_the_loosest_of_two_selections_counts():
    changed, _ = changes("dog_breed", "general_selection.min_side_px=32", "selection.min_side_px=64")
    assert changed["similarity_scope_min_side_px"] == 32


def test_a_selection_inside_the_scope_changes_nothing():
    assert changes("curation", "selection.min_side_px=150")[0] == {}


def test_a_maximum_widens_upwards():
    changed, _ = changes("curation", "similarity.scope_color_shift=0.5", "selection.color_shift=0.9")
    # Both scopes of the profile were tighter than 0.9.
    assert changed == {"similarity_scope_color_shift": 0.9, "foreground_scope_color_shift": 0.9}

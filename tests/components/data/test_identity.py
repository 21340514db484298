"""Ids, code versions and content digests."""

import hashlib
import shutil

import pyarrow as pa
import pytest

from components.data import identity
from components.data.identity import add_digests, code_version, content_digest, derive_id


def test_id_is_the_hash_of_canonical_json():
    expected = hashlib.sha256(b'{"a":[1,2.5],"b":"\xc3\xa9"}').hexdigest()[:16]
    assert derive_id(b="é", a=[1, 2.5]) == expected


def test_nan_in_an_id_is_refused():
    with pytest.raises(ValueError):
        derive_id(threshold=float("nan"))


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A copy of the project in which code versions are computed."""
    root = tmp_path / "project"
    for folder in ("data", "selection"):
        shutil.copytree(identity._ROOT / "components" / folder, root / "components" / folder)
    monkeypatch.setattr(identity, "_ROOT", root)
    code_version.cache_clear()
    yield root
    code_version.cache_clear()


def versions(*steps):
    code_version.cache_clear()
    return [code_version(step) for step in steps]


def test_code_version_changes_with_the_steps_files_and_with_shared_files_it_imports(tree):
    before = versions("selection")
    for name in ("selection/quota.py", "data/scope.py", "data/shards.py"):
        path = tree / "components" / name
        path.write_text(path.read_text() + "\nX = 1\n")
        after = versions("selection")
        assert after != before, name
        before = after


def test_code_version_ignores_the_kfp_wrapper_prose_and_files_the_step_does_not_import(tree):
    before = versions("selection")
    (tree / "components/selection/component.py").write_text("X = 1\n")
    (tree / "components/selection/README.md").write_text("prose\n")
    (tree / "components/data/unrelated.py").write_text("X = 1\n")
    assert versions("selection") == before


def test_code_version_depends_on_the_version_of_a_library_that_affects_results_not_on_its_build(
    tree, monkeypatch
):
    installed = dict.fromkeys(("numpy",), "2.4.6")
    monkeypatch.setattr(identity.metadata, "version", lambda name: installed.get(name, "1"))
    before = versions("selection")
    installed["numpy"] = "2.4.6+cu130"
    assert versions("selection") == before
    installed["numpy"] = "2.5.0"
    assert versions("selection") != before


def test_unknown_step_has_no_code_version():
    with pytest.raises(ValueError, match="no step 'nosuch'"):
        code_version("nosuch")


TABLE = pa.table(
    {
        "image_id": ["a", "b", "c"],
        "words": pa.array([1, None, 3], pa.int32()),
        "score": pa.array([0.1, 0.2, 0.3], pa.float32()),
        "reasons": [["x"], [], None],
    }
)


def test_digest_does_not_depend_on_row_order_or_column_order():
    shuffled = TABLE.take(pa.array([2, 0, 1])).select(["reasons", "score", "words", "image_id"])
    assert content_digest(shuffled) == content_digest(TABLE)


def test_digests_of_shards_add_up_to_the_digest_of_the_whole():
    parts = [content_digest(TABLE.slice(0, 1)), content_digest(TABLE.slice(1))]
    assert add_digests(*parts) == content_digest(TABLE)


def test_digest_covers_exact_values_and_leaves_floats_out():
    changed = {
        "image_id": pa.array(["a", "b", "d"]),
        "words": pa.array([1, 0, 3], pa.int32()),
        "reasons": pa.array([["x"], [], []]),
    }
    for name, array in changed.items():
        other = TABLE.set_column(TABLE.column_names.index(name), name, array)
        assert content_digest(other) != content_digest(TABLE), name
    moved = TABLE.set_column(2, "score", pa.array([9.0, 9.0, 9.0], pa.float32()))
    assert content_digest(moved) == content_digest(TABLE)

"""Ids, code versions and content digests."""

import hashlib
import shutil

import pytest

from components.data import identity
from components.data.identity import code_version, derive_id


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

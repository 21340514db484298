"""Runs and artifacts are found, kept while they do not change, and never read from outside their root."""

import shutil

import pytest
from starlette.testclient import TestClient

from components.data.storage import open_store
from pipelines.lineage.console.app import create_app
from pipelines.lineage.console.catalog import Catalog, Missing, check_inside
from pipelines.lineage.console.security import Access
from pipelines.lineage.graph import LineageError

RUN = "20260101-120000-curation-abcd"  # of the conftest beside


def test_an_artifact_is_found_by_its_whole_id(gallery):
    catalog = Catalog(gallery.home)
    assert catalog.found(gallery.dataset.id).manifest == gallery.dataset
    assert catalog.dataset(gallery.dataset.id)[1].rows == gallery.dataset.rows
    for wrong in (gallery.dataset.id[:8], "", "../" + gallery.dataset.id, "x" * 10_000):
        with pytest.raises(Missing):
            catalog.found(wrong)


def test_a_record_is_read_again_when_it_changes(own_gallery):
    catalog = Catalog(own_gallery.home)
    first = catalog.record(RUN)
    assert catalog.record(RUN) is first
    changed = first.model_copy(update={"profile": "wild"})
    catalog.runs.save(changed)
    assert catalog.record(RUN).profile == "wild"


@pytest.mark.parametrize("run_id", ["", ".", "..", "../home", "a/b", "absent", "x" * 5000, "\0", "latest"])
def test_what_is_no_run_is_missing(gallery, run_id):
    with pytest.raises(Missing):
        Catalog(gallery.home).record(run_id)


def test_a_damaged_record_is_missing_and_leaves_the_others(own_gallery):
    broken = own_gallery.home / "runs" / "20990101-000000-broken-0000"
    broken.mkdir()
    (broken / "run.json").write_text("{")
    catalog = Catalog(own_gallery.home)
    assert [record.run_id for record in catalog.records()] == [RUN]
    with pytest.raises(Missing, match="readable"):
        catalog.record(broken.name)


@pytest.mark.parametrize(
    "path", ["../secret", "/etc/passwd", "a/../../secret", "a//b", ".", "a\\b", "a\0b", ""]
)
def test_a_path_out_of_the_root_is_refused(tmp_path, path):
    with pytest.raises(LineageError):
        check_inside(open_store(str(tmp_path / "data")), path)


def test_a_link_out_of_the_root_is_refused(tmp_path):
    root = tmp_path / "data"
    root.mkdir()
    (tmp_path / "secret").write_text("x")
    (root / "file").symlink_to(tmp_path / "secret")
    (root / "folder").symlink_to(tmp_path)
    (root / "loop").symlink_to(root / "loop")
    (root / "own").write_text("x")
    (root / "inside").symlink_to(root / "own")
    store = open_store(str(root))
    for path in ("file", "folder/secret", "loop"):
        with pytest.raises(LineageError):
            check_inside(store, path)
    check_inside(store, "inside")
    check_inside(store, "not/there/yet")


def test_a_root_that_is_a_link_itself_is_fine(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "real")
    check_inside(open_store(str(tmp_path / "data")), "a/b")


def test_an_artifact_whose_manifest_names_a_file_outside_is_not_opened(tmp_path, own_gallery):
    root = tmp_path / "copy"
    shutil.copytree(own_gallery.folder / "data", root)
    dataset = own_gallery.dataset
    evil = dataset.model_copy(deep=True)
    evil.groups["selection"].merged.path = "../../secret.parquet"
    (root / dataset.path).write_bytes(evil.to_bytes())
    catalog = Catalog(own_gallery.home)
    catalog.runs.save(own_gallery.record_of(own_gallery.made, root.as_uri()))
    with pytest.raises(LineageError, match="secret"):
        catalog.found(dataset.id)
    graph = catalog.graph()
    assert dataset.id not in graph.manifests, "nor does a trace of a photo read it"
    assert any("secret" in problem for problem in graph.problems)
    assert catalog.found(own_gallery.made[0].id).manifest == own_gallery.made[0]
    with TestClient(create_app(own_gallery.home, Access(frozenset({"testserver"})))) as client:
        for url in (f"/artifacts/{dataset.id}/rows", f"/compare?before={RUN}&after={RUN}"):
            answer = client.get(url)
            assert answer.status_code == 404 and "secret" in answer.text, answer.text

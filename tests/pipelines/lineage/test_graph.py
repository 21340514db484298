"""The graph: identity across runs and roots, what is gone, what is foreign, and circles, which cannot be."""

import json

import pytest

from components.data.storage import open_store
from pipelines.lineage.graph import DERIVED_FROM, SOURCE, LineageError, build
from pipelines.lineage.manifests import ManifestReader


@pytest.fixture
def store(store_uri):
    return open_store(store_uri)


def names(nodes):
    return [node.id[-1] for node in nodes]


def chain(making, store, letters="abcd"):
    """a <- b <- c <- d, saved."""
    manifests = []
    for before, letter in zip(["", *letters], letters, strict=False):
        history = [other.record() for other in manifests]
        manifests.append(making.manifest(letter, parents=before, history=history).save(store))
    return manifests


def test_hops_limit_how_far_ancestors_and_descendants_reach(making, store):
    chain(making, store)
    graph = build([store])
    assert names(graph.ancestors("d" * 16)) == ["c", "b", "a", "a"]
    assert graph.ancestors("d" * 16)[-1].id == f"{SOURCE}:{'a' * 16}"
    assert names(graph.ancestors("d" * 16, 1)) == ["c"]
    assert names(graph.descendants("a" * 16, 2)) == ["b", "c"]
    assert graph.ancestors("d" * 16, 0) == []
    assert graph.problems == ()


def test_parents_come_before_children(making, store):
    making.manifest("a").save(store)
    making.manifest("z", parents="a").save(store)
    making.manifest("b", parents="z").save(store)
    making.manifest("m", "model", "bz").save(store)
    order = list(build([store]).nodes)
    place = {id: number for number, id in enumerate(order)}
    for edge in build([store]).edges:
        assert edge.relation == DERIVED_FROM
        assert place[edge.target] < place[edge.source]


def test_two_runs_that_share_artifacts_share_nodes(making, store):
    first, second = chain(making, store, "ab")
    other = making.manifest("x", parents="a").save(store)
    root = store.uri

    def run(run_id, started, last):
        return making.run(
            run_id,
            root,
            making.task("ingest", {}, {"result": making.artifact(first, root)}, parameters={"source": "/p"}),
            making.task(
                "quality",
                {"dataset": making.artifact(first, root)},
                {"result": making.artifact(last, root)},
            ),
            started_at=started,
        )

    later, earlier = (
        run("r2", "2026-01-02T00:00:00+00:00", other),
        run("r1", "2026-01-01T00:00:00+00:00", second),
    )
    graph = build([store], [later, earlier])
    assert graph.nodes["a" * 16].made_by == ("r1", "r2")
    assert graph.nodes["a" * 16].used_by == ("r1", "r2")
    assert (graph.nodes["b" * 16].made_by, graph.nodes["x" * 16].made_by) == (("r1",), ("r2",))
    assert graph.nodes[f"{SOURCE}:{'a' * 16}"].uris == ("/p",)
    assert names(graph.children("a" * 16)) == ["b", "x"]
    assert [node.name for node in graph.of_kind("run")] == ["r1", "r2"]
    # Runs are no way from one artifact to another.
    assert names(graph.descendants("b" * 16)) == []


def test_a_step_that_hands_on_what_another_run_made_did_not_make_it(making, store):
    (dataset,) = chain(making, store, "a")
    task = making.task("opening", {}, {"result": making.artifact(dataset, store.uri)})
    graph = build([store], [making.run("r1", store.uri, task)])
    assert graph.nodes["a" * 16].made_by == ()
    assert graph.nodes["a" * 16].used_by == ("r1",)


def test_what_a_rerun_took_over_was_made_by_the_run_that_did_it(making, store):
    (dataset,) = chain(making, store, "a")
    result = {"result": making.artifact(dataset, store.uri)}
    did = making.run("r1", store.uri, making.task("ingest", {}, result))
    took = making.run(
        "r2", store.uri, making.task("ingest", {}, result, state="reused", reused_from="r1"), parent_run="r1"
    )
    graph = build([store], [took, did])
    assert graph.nodes["a" * 16].made_by == ("r1",)
    assert graph.nodes["a" * 16].used_by == ("r2",)
    assert graph.nodes["run:r2"].details["parent_run"] == "r1"


def test_copies_in_two_roots_are_one_node_with_two_places(making, store, tmp_path):
    other = open_store(str(tmp_path / "copy"))
    for target in (store, other):
        chain(making, target, "ab")
    graph = build([store, other])
    assert graph.nodes["b" * 16].uris == tuple(
        root.locate(f"dogs/manifests/quality-{'b' * 16}.json") for root in (store, other)
    )
    assert len(graph.edges) == 2


def test_a_dataset_whose_manifest_is_gone_is_known_from_the_history_of_the_next(making, store):
    manifests = chain(making, store)
    for manifest in manifests[:3]:
        store.delete(manifest.path)
    graph = build([store])
    assert names(graph.ancestors("d" * 16)) == ["c", "b", "a", "a"]
    gone = graph.nodes["b" * 16]
    assert (gone.found, gone.step, gone.code_version) == (False, "quality", "c" * 16)
    assert graph.nodes["d" * 16].found


def test_a_model_whose_manifest_is_gone_is_known_from_the_runs_that_made_it(making, store):
    dataset = making.manifest("a").save(store)
    model = making.manifest("m", "model", "a", counters={"loss": 0.5})
    making.manifest("s", "samples", "am").save(store)
    task = making.task("training", {}, {"result": making.artifact(model, store.uri)})
    graph = build([store], [making.run("r1", store.uri, task)])
    node = graph.nodes["m" * 16]
    assert (node.found, node.kind, node.options, node.counters) == (
        False,
        "model",
        {"stage": 1},
        {"loss": 0.5},
    )
    assert node.made_by == ("r1",)
    assert graph.parents("m" * 16) == [graph.nodes[dataset.id]]


def test_a_parent_that_nothing_is_known_of_is_a_node_of_its_own(making, store):
    making.manifest("b", parents="a").save(store)
    graph = build([store])
    assert (graph.nodes["a" * 16].kind, graph.nodes["a" * 16].found) == ("unknown", False)


def test_foreign_unreadable_and_copied_files_are_reported_and_the_rest_is_there(making, store):
    (good,) = chain(making, store, "a")
    folder = "dogs/manifests"
    strange = {
        "quality-cut.json": good.to_bytes()[:40],
        "quality-list.json": b"[]",
        "quality-kind.json": b'{"kind": "cat"}',
        "quality-future.json": json.dumps({**json.loads(good.to_bytes()), "format": 99}).encode(),
        "quality-copy.json": good.to_bytes(),
        "quality-bytes.json": b"\xff\xfe\x00",
    }
    for name, data in strange.items():
        store.write(f"{folder}/{name}", data)
    store.write(f"{folder}/notes.txt", b"not a manifest")
    store.write("scores/similarity/manifests-not/x.json", b"{")
    graph = build([store])
    assert set(graph.nodes) == {"a" * 16, f"{SOURCE}:{'a' * 16}"}
    assert len(graph.problems) == len(strange)
    for name in strange:
        assert sum(f"{folder}/{name}" in problem for problem in graph.problems) == 1


def test_a_manifest_with_the_id_of_another_kind_of_thing_is_reported(making, store):
    making.manifest("a").save(store)
    making.manifest("a", "model").save(store)
    graph = build([store])
    assert graph.nodes["a" * 16].kind == "dataset"
    assert len(graph.problems) == 1 and "another kind" in graph.problems[0]


def test_forged_circles_are_cut_reported_and_never_walked_forever(making, store):
    making.manifest("a", parents="c").save(store)
    making.manifest("b", parents="a").save(store)
    making.manifest("c", parents="b").save(store)
    making.manifest("s", parents="s").save(store)
    graph = build([store])
    assert len(graph.problems) == 2
    assert all("in turn" in problem for problem in graph.problems)
    for id in ("a" * 16, "b" * 16, "c" * 16):
        assert id not in {node.id for node in graph.ancestors(id)}
    assert len(graph.nodes) - len(graph.of_kind(SOURCE)) == 4


def test_a_root_that_is_not_there_is_empty(tmp_path):
    graph = build([open_store(str(tmp_path / "none"))])
    assert (dict(graph.nodes), graph.problems) == ({}, ())


def test_a_bucket_that_is_not_there_is_reported(s3_env):
    graph = build([open_store("s3://no-such-bucket-here/data")])
    assert not graph.nodes
    assert all("no-such-bucket-here" in problem for problem in graph.problems)


def test_prefixes_find_one_node_or_say_what_they_match(making, store):
    making.manifest("a").save(store)
    making.manifest("b", parents="a", id="ab" * 8).save(store)
    graph = build([store], [making.run("20260101-toy", store.uri)])
    assert graph.node("aaaa").id == "a" * 16
    assert graph.node("20260101").id == "run:20260101-toy"
    with pytest.raises(LineageError, match=r"2 ids begin with 'a' .*give more"):
        graph.node("a")
    for wrong in ("f", "", "../..", "x" * 10_000):
        with pytest.raises(LineageError, match="No artifact or run"):
            graph.node(wrong)


def test_hostile_names_in_records_are_kept_as_they_are(making, store):
    dataset = making.manifest("a").save(store)
    nasty = '"><script>\n../..\N{PILE OF POO}' + "x" * 10_000
    task = making.task(
        "ingest",
        {},
        {"result": making.artifact(dataset, store.uri)},
        parameters={"source": nasty},
        error=nasty,
    )
    graph = build([store], [making.run(nasty, store.uri, task, pipeline=nasty)])
    assert graph.nodes[f"{SOURCE}:{'a' * 16}"].uris == (nasty,)
    assert graph.nodes[f"run:{nasty}"].details["tasks"][0]["error"] == nasty


def test_a_second_build_reads_only_new_manifests(making, store, monkeypatch):
    chain(making, store, "abc")
    reader = ManifestReader()
    build([store], reader=reader)
    making.manifest("d", parents="c").save(store)
    read = []
    original = type(store).read
    monkeypatch.setattr(type(store), "read", lambda self, path: read.append(path) or original(self, path))
    assert len(build([store], reader=reader).manifests) == 4
    assert read == [f"dogs/manifests/quality-{'d' * 16}.json"]


def test_no_data_is_read(making, store, monkeypatch):
    chain(making, store)
    store.write("dogs/images/x/part-1.parquet", b"not read")
    read = []
    original = type(store).read
    monkeypatch.setattr(type(store), "read", lambda self, path: read.append(path) or original(self, path))
    build([store])
    assert all("/manifests/" in path for path in read)

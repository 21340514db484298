"""Every artifact back to raw files, and every raw file forward to the models that drew it."""

import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from components.data.encoded import EncodedDataset
from components.data.shards import read_table
from components.data.storage import open_store
from components.training.batches import Order, Position
from components.training.stages import stage
from pipelines.lineage.export import export
from pipelines.lineage.graph import SOURCE, LineageError, build
from pipelines.lineage.photo import trace_photo
from pipelines.lineage.trace import COMPARED, raw_files, trace

STAGES = ("stage0", "stage1", "stage2")


@pytest.fixture(scope="module")
def chain(photo_source, models, check):
    """The whole pipeline as `dog_breed` runs it: a general and a breed branch, three stages."""
    curation = check.curation(photo_source, models, selection={"breed_confidence": 0.0})
    selection, step = curation[-1], check.Step
    text, network = models["clip"], {"batch": 4, "micro_batch": 4, "warmup": 2, "learning_rate": 1e-3}
    encoding = {"size_px": 16, "text_model": text, "workers": 1}
    scored = {"extractor": "demo", "kid_subsets": 2, "floor_splits": 2, "classifier_epochs": 1}
    general = {**selection.options, "breed_required": False, "caption_has_dog_word": True}
    return [
        *curation,
        step("selection", ("prompts",), general, alias="general_selection"),
        step("encoding", ("selection",), encoding),
        step("encoding", ("general_selection",), encoding, alias="general_encoding"),
        step("initialization", ("encoding",), {"preset": "tiny", "text_model": text}),
        # Fewer steps than an epoch has, and more: not every photo is drawn by every stage.
        step(
            "training",
            ("general_encoding", "initialization"),
            {**network, "stage": 0, "steps": 3},
            alias="stage0",
        ),
        step("training", ("encoding", "stage0"), {**network, "stage": 1, "steps": 9}, alias="stage1"),
        step("training", ("encoding", "stage1"), {**network, "stage": 2, "steps": 2}, alias="stage2"),
        step("sampling", ("encoding", "stage2"), {"per_breed": 2, "steps": 2}),
        step("evaluation", ("encoding", "sampling"), {**scored, "extractor_weights": text}),
        step("report", ("selection", "evaluation"), {"photos_per_side": 1, "workers": 1}),
    ]


@pytest.fixture(scope="module", params=["file", "s3"])
def made(request, tmp_path_factory, steps, chain, s3):
    """The URI of a data root in which all of it has run, and the manifests' paths by step."""
    from pipelines.store.server import environment

    with pytest.MonkeyPatch.context() as patch:
        uri = (tmp_path_factory.mktemp("lineage") / "root").as_uri()
        if request.param == "s3":
            uri = "s3://dogflow/lineage"
            for name, value in environment(s3).items():
                patch.setenv(name, value)
        yield uri, steps.must(uri, chain).paths


@pytest.fixture(scope="module")
def graph(made):
    graph = build([open_store(made[0])])
    assert graph.problems == ()
    return graph


@pytest.fixture(scope="module")
def ids(made):
    """Ids by step: a manifest is called `<step>-<id>.json`."""
    return {step: Path(path).stem.rpartition("-")[2] for step, path in made[1].items()}


def first_pug(photo_source):
    """The photo of which zz_copy.jpg is a copy, as `source_uri`."""
    return sorted((photo_source / "images/pug").glob("*.jpg"))[0].relative_to(photo_source).as_posix()


def drawn(graph, ids, name):
    """How often a stage drew each image_id, by running through its batches as the training did."""
    node = graph.nodes[ids[name]]
    found = graph.manifests[ids["general_encoding" if name == "stage0" else "encoding"]]
    encoded = EncodedDataset(found.store, found.manifest)
    rows = encoded.rows_of_split("train")
    index = encoded.index.take(rows)
    tiers = np.asarray(index.column("tier")).astype(np.int8)
    order = Order(tiers, stage(node.options["stage"]), node.options["batch"], node.options["seed"])
    batches, image_ids, times = order.batches(Position()), index.column("image_id").to_pylist(), Counter()
    for _ in range(node.options["steps"]):
        times.update(image_ids[row] for row in next(batches)[0])
    return times


def test_every_artifact_is_reached_from_the_sample_grid_or_made_from_it(graph, ids, made):
    grid = graph.nodes[ids["sampling"]].files["grid"]
    traced = trace(graph, grid)
    assert traced.node.id == ids["sampling"]
    behind = {node.id for node in traced.ancestors}
    source = f"{SOURCE}:{ids['ingest']}"
    after = {ids["evaluation"], ids["report"]}
    assert behind == {source, *ids.values()} - after - {ids["sampling"]}
    assert {node.id for node in traced.descendants} == after
    assert {node.id for node in graph.descendants(source)} == set(ids.values())
    for id in ids.values():
        assert source in {node.id for node in graph.ancestors(id)}


def test_the_raw_files_behind_the_grid_are_the_files_that_its_trainings_drew(graph, ids, photo_source):
    files = list(raw_files(graph, ids["sampling"]))
    for file in files:
        data = (photo_source / file.source_uri).read_bytes()
        assert hashlib.sha256(data).hexdigest()[:32] == file.image_id
    roles = {file.image_id: set(file.roles) for file in files}
    for number, name in enumerate(STAGES):
        times = drawn(graph, ids, name)
        assert {id for id, role in roles.items() if f"stage {number}" in role} == set(times)


def test_every_raw_file_leads_to_the_checkpoints_that_drew_it_and_to_no_other(graph, ids, photo_source):
    times = {name: drawn(graph, ids, name) for name in STAGES}
    files = sorted(path for path in (photo_source / "images").rglob("*") if path.is_file())
    assert len(files) == 35
    seen = set()
    for path in files:
        image_id = hashlib.sha256(path.read_bytes()).hexdigest()[:32]
        traced = trace(graph, path.relative_to(photo_source).as_posix())
        assert traced.image_id == image_id
        assert traced.problems == ()
        found = {training.model_id: training.times for training in traced.trainings if training.times}
        expected = {ids[name]: times[name][image_id] for name in STAGES if times[name][image_id]}
        assert found == expected
        # What a model drew is in every later model, in the samples and all that is made of them.
        later = {node.id for id in expected for node in graph.descendants(id)}
        assert set(traced.later) == later
        if expected:
            assert {ids["sampling"], ids["evaluation"], ids["report"]} <= later
        seen |= set(expected)
    assert seen == {ids[name] for name in STAGES}


def test_an_evaluation_compared_with_the_test_split_and_trained_on_none_of_it(graph, ids):
    roles = [set(file.roles) for file in raw_files(graph, ids["evaluation"])]
    compared = [role for role in roles if COMPARED in role]
    assert compared == [{COMPARED}] * len(compared)
    assert len(compared) == graph.nodes[ids["evaluation"]].counters["real_images"]


def test_a_photo_shows_scores_with_policy_threshold_and_where_its_rows_lie(graph, ids, photo_source):
    traced = trace_photo(graph, "images/pug/zz_copy.jpg")
    original, copy = (
        next(row for row in traced.rows if row.dataset_id == ids["selection"] and row.source_uri == path)
        for path in (first_pug(photo_source), "images/pug/zz_copy.jpg")
    )
    assert (original.keep, copy.keep) == (True, False)
    # The copy stands in no table: it has neither caption nor breed.
    wrong = {"duplicate_exact", "caption_words_min", "breed"}
    assert set(copy.reasons) == wrong
    assert copy.duplicate_of == traced.image_id
    assert {verdict.rule for verdict in copy.verdicts if verdict.failed} == wrong
    sides = next(verdict for verdict in original.verdicts if verdict.rule == "min_side_px")
    assert (sides.threshold, sides.side, sides.failed) == (128, "at_least", False)
    groups = {group.name: group for group in original.groups}
    assert set(groups) >= {
        "images",
        "captions",
        "quality",
        "similarity",
        "foreground",
        "prompts",
        "selection",
    }
    assert groups["similarity"].policy["model"]["weights_sha256"]
    assert groups["prompts"].values["prompt"] == original.prompt
    assert ids["encoding"] not in groups["selection"].datasets
    assert set(groups["images"].datasets) >= {ids["ingest"], ids["selection"], ids["general_selection"]}
    import pyarrow.parquet as pq

    store = graph.manifests[ids["ingest"]].store
    filesystem, root = store.filesystem()
    for group in groups.values():
        path = group.file.removeprefix(store.uri).lstrip("/")
        column = pq.read_table(f"{root}/{path}", filesystem=filesystem, columns=["image_id"]).column(0)
        assert column[group.file_row].as_py() == traced.image_id


def test_a_threshold_that_keeps_the_best_share_is_shown_as_the_value_it_comes_to(graph, ids, photo_source):
    found = graph.manifests[ids["selection"]]
    options = {**found.manifest.options, "clip_similarity_fraction": 0.25}
    changed = replace(found, manifest=found.manifest.model_copy(update={"options": options}))
    other = replace(graph, manifests={**graph.manifests, ids["selection"]: changed})
    traced = trace_photo(other, first_pug(photo_source))
    row = next(row for row in traced.rows if row.dataset_id == ids["selection"])
    (verdict,) = (verdict for verdict in row.verdicts if verdict.rule == "clip_similarity")
    scores = read_table(found.store, found.manifest, ["clip_similarity"]).column(0).drop_null().to_numpy()
    assert verdict.threshold == pytest.approx(np.quantile(scores.astype(np.float64), 0.75))
    assert verdict.value == row.groups[4].values["clip_similarity"]


def test_a_shard_that_somebody_has_a_copy_of_is_known(graph, ids, tmp_path):
    found = graph.manifests[ids["encoding"]]
    copy = tmp_path / "shard.parquet"
    copy.write_bytes(found.store.read(found.manifest.groups["samples"].shards[0].path))
    assert trace(graph, str(copy)).node.step == "encoding"


def test_a_file_that_is_no_picture_is_traced_with_its_error(graph):
    traced = trace_photo(graph, "images/pembroke/zz_text.jpg")
    row = traced.rows[0]
    assert row.keep is False
    assert row.reasons[0] == "undecodable"
    assert traced.trainings == ()


def test_a_copy_of_the_grid_is_known_by_its_bytes_and_by_the_ids_it_carries(graph, ids, tmp_path):
    from PIL import Image

    node = graph.nodes[ids["sampling"]]
    found = graph.manifests[node.id]
    copy = tmp_path / "downloaded.png"
    copy.write_bytes(found.store.read(found.manifest.files["grid"].path))
    assert trace(graph, str(copy)).node.id == node.id
    # Cropped and saved anew, with its text: other bytes, the same ids.
    with Image.open(copy) as image:
        from PIL.PngImagePlugin import PngInfo

        texts = PngInfo()
        for key, value in image.text.items():
            texts.add_itxt(key, value)
        image.crop((0, 0, 20, 20)).save(tmp_path / "cropped.png", pnginfo=texts)
    assert trace(graph, str(tmp_path / "cropped.png")).node.id == node.id
    with pytest.raises(LineageError, match="No dataset here has a photo"):
        trace(graph, str(copy), local_files=False)
    nearest = graph.manifests[ids["evaluation"]]
    other = tmp_path / "nearest.png"
    other.write_bytes(nearest.store.read(nearest.manifest.files["nearest"].path))
    assert trace(graph, str(other)).node.id == ids["evaluation"]


def test_each_picture_of_the_samples_carries_the_ids_too(graph, ids):
    import io

    import pyarrow.parquet as pq

    from components.data.pictures import read_lineage

    found = graph.manifests[ids["sampling"]]
    data = found.store.read(found.manifest.files["samples"].path)
    for picture in pq.read_table(io.BytesIO(data)).column("image").to_pylist():
        assert read_lineage(picture)["id"] == ids["sampling"]


def test_json_holds_the_whole_graph(graph, ids):
    plain = json.loads(export(graph, "json"))
    assert {node["id"] for node in plain["nodes"]} == {f"{SOURCE}:{ids['ingest']}", *ids.values()}
    assert {(e["source"], e["target"]) for e in plain["edges"]} >= {(ids["sampling"], ids["stage2"])}


def test_what_was_collected_as_garbage_stays_in_the_graph_and_in_what_is_left(
    graph, ids, made, photo_source, tmp_path
):
    uri, paths = made
    source, left_store = open_store(uri), open_store(str(tmp_path / "root"))
    for entry in source.list(""):
        if entry.path not in (paths["quality"], paths["stage1"]) and "/foreground/" not in entry.path:
            left_store.write(entry.path, source.read(entry.path))
    left = build([left_store])
    for step in ("quality", "stage1"):
        assert not left.nodes[ids[step]].found
        assert left.nodes[ids[step]].code_version == graph.nodes[ids[step]].code_version
    # The line of datasets is known from the history of each; that of a model only from its own manifest.
    assert f"{SOURCE}:{ids['ingest']}" in {node.id for node in left.ancestors(ids["sampling"])}
    traced = trace_photo(left, first_pug(photo_source))
    assert len(traced.problems) == 1
    assert "foreground" in traced.problems[0] and "run the step that makes it again" in traced.problems[0]
    assert {training.model_id for training in traced.trainings} >= {ids["stage0"], ids["stage2"]}

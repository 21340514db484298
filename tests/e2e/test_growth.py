"""A dataset that changes: only what is new is scored, and the result is that of a fresh start."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from components.data.shards import read_table, receipt_path
from components.data.storage import open_store
from pipelines.demo.dataset import make_dataset
from pipelines.runners.bare import run_step

PHOTOS, READABLE = 35, 33
DISTINCT = 32  # readable ones that differ
NEW_PER_BREED, NEW = 5, 20


@pytest.fixture
def counted(monkeypatch):
    """Counts what the steps compute: captions, pictures measured, embedded and segmented."""
    import components.captions.step as captions
    import components.quality.step as quality
    from components.foreground.sam_segmenter import SamSegmenter
    from components.model.clip import ClipModel

    counts = dict.fromkeys(("captions", "quality", "similarity", "foreground"), 0)

    def count(owner, name, step, size):
        original = getattr(owner, name)

        def wrapper(*arguments, **options):
            counts[step] += size(arguments)
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, wrapper)

    count(captions, "word_count", "captions", lambda arguments: 1)
    count(quality, "score_image", "quality", lambda arguments: 1)
    count(ClipModel, "embed_images", "similarity", lambda arguments: len(arguments[1]))
    count(SamSegmenter, "segment", "foreground", lambda arguments: len(arguments[1]))
    return counts


@pytest.fixture
def curate(models, counted, check):
    """Runs every step up to selection on a folder; returns the manifests, and what was computed."""

    def run(source, uri):
        counted.update(dict.fromkeys(counted, 0))
        made = {}
        for step in check.curation(source, models):
            made[step.name] = run_step(
                step.name, [made[name].path for name in step.inputs], uri, step.options
            )
        return made, dict(counted)

    return run


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "captions.jsonl").read_text().splitlines()]


def write_lines(folder: Path, rows: list[dict]) -> None:
    (folder / "captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def add_photos(folder: Path) -> None:
    breeds = tuple(sorted(path.name for path in (folder / "images").iterdir()))
    make_dataset(folder, 11, NEW_PER_BREED, defect_share=0, breeds=breeds, prefix="new_")
    shutil.rmtree(folder / "masks")
    (folder / "truth.jsonl").unlink()


def test_adding_20_photos_scores_20_photos(photos, tmp_path, curate, check):
    grown_root, fresh_root = (tmp_path / "grown").as_uri(), (tmp_path / "fresh").as_uri()
    before, first = curate(photos, grown_root)
    assert first == {
        "captions": PHOTOS,
        "quality": PHOTOS - 1,  # ingest took one for no picture
        "similarity": DISTINCT,
        "foreground": DISTINCT,
    }
    add_photos(photos)
    grown, more = curate(photos, grown_root)
    assert more == dict.fromkeys(more, NEW)
    assert grown["ingest"].rows == before["ingest"].rows + NEW
    fresh, _ = curate(photos, fresh_root)
    assert len(fresh["ingest"].groups["images"].shards) < len(grown["ingest"].groups["images"].shards)
    for step in fresh:
        assert grown[step].dataset_id == fresh[step].dataset_id
        assert grown[step].content_digest == fresh[step].content_digest
        assert grown[step].counters == fresh[step].counters
    check.same_rows(open_store(grown_root), grown["selection"], open_store(fresh_root), fresh["selection"])


def test_the_same_folder_again_computes_nothing(photos, tmp_path, curate):
    uri = (tmp_path / "root").as_uri()
    first, _ = curate(photos, uri)
    again, counts = curate(photos, uri)
    assert counts == dict.fromkeys(counts, 0)
    assert again == first


def test_deleting_a_photo_redoes_its_shard_and_asks_no_model(photos, tmp_path, curate):
    uri = (tmp_path / "root").as_uri()
    before, _ = curate(photos, uri)
    gone = lines(photos)[3]
    (photos / gone["file"]).unlink()
    write_lines(photos, [row for row in lines(photos) if row != gone])
    after, counts = curate(photos, uri)
    shard = shard_of(uri, before["ingest"], gone["file"])
    assert counts == {
        "captions": shard.rows - 1,
        "quality": shard.rows - 1,
        "similarity": 0,
        "foreground": 0,
    }
    kept = {file.key for file in after["ingest"].groups["images"].shards}
    old = {file.key for file in before["ingest"].groups["images"].shards}
    assert old - kept == {shard.key}
    fresh, _ = curate(photos, (tmp_path / "fresh").as_uri())
    assert after["selection"].dataset_id == fresh["selection"].dataset_id
    assert after["selection"].content_digest == fresh["selection"].content_digest


def test_another_caption_redoes_its_shard_and_embeds_no_picture(photos, tmp_path, curate):
    uri = (tmp_path / "root").as_uri()
    before, _ = curate(photos, uri)
    rows = lines(photos)
    name = rows[5]["file"]
    rows[5]["caption"] = "Two black cats asleep on a red sofa beside a window in the evening sun."
    write_lines(photos, rows)
    after, counts = curate(photos, uri)
    shard = shard_of(uri, before["ingest"], name)
    assert counts == {"captions": shard.rows, "quality": shard.rows, "similarity": 0, "foreground": 0}
    changed = similarity_by_name(uri, after["selection"])
    for photo, value in similarity_by_name(uri, before["selection"]).items():
        assert (abs(changed[photo] - value) > 1e-4) == (photo == name) or np.isnan(value), photo


def test_growing_twice_reuses_the_shards_of_every_time(photos, tmp_path, curate):
    """A dataset that shrinks to what it was has its old ids and computes nothing."""
    uri = (tmp_path / "root").as_uri()
    first, _ = curate(photos, uri)
    small = lines(photos)
    add_photos(photos)
    curate(photos, uri)
    for path in photos.glob("images/*/new_*"):
        path.unlink()
    write_lines(photos, small)
    again, counts = curate(photos, uri)
    assert counts == dict.fromkeys(counts, 0)
    assert again["selection"] == first["selection"]


def test_damaged_receipts_and_lost_files_are_made_again(photos, tmp_path, curate, check):
    uri = (tmp_path / "root").as_uri()
    first, _ = curate(photos, uri)
    store = open_store(uri)
    images = first["ingest"].groups["images"].shards
    measured = first["quality"].groups["quality"].shards
    store.write(receipt_path(images[1].path.rpartition("/")[0], images[1].key), b'{"file": {"ke')
    store.write(images[2].path, store.read(images[2].path)[:100])
    store.delete(measured[0].path)
    again, counts = curate(photos, uri)
    assert counts == {"captions": 0, "quality": measured[0].rows, "similarity": 0, "foreground": 0}
    assert again == first
    check.verify_root(uri)


def shard_of(uri, dataset, name):
    """The image shard that holds a file."""
    names = read_table(open_store(uri), dataset, ["source_uri"]).column(0).to_pylist()
    row = names.index(name)
    for file in dataset.groups["images"].shards:
        if row < file.rows:
            return file
        row -= file.rows
    raise AssertionError(name)


def similarity_by_name(uri, dataset) -> dict[str, float]:
    table: pa.Table = read_table(open_store(uri), dataset, ["source_uri", "clip_similarity"])
    values = np.array(table.column(1).to_pylist(), float)
    return dict(zip(table.column(0).to_pylist(), values, strict=True))

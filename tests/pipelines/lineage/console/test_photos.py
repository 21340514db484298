"""Photos come as new JPEGs, and only of rows that have one."""

import cv2
import numpy as np
import pytest
import simplejpeg

from components.data.images import decode
from components.data.pictures import contact_sheet
from components.data.shards import iter_shard
from pipelines.lineage.console.catalog import Missing
from pipelines.lineage.console.photos import Photos, has_photos, picture, place


def originals(gallery):
    """The bytes of every row, in row order."""
    shards = range(len(gallery.dataset.groups["images"].shards))
    return [
        image
        for index in shards
        for batch in iter_shard(gallery.store, gallery.dataset, index, ["image"])
        for image in batch.column("image").to_pylist()
    ]


def test_each_row_shows_its_own_photo(gallery):
    photos, shown = Photos(), 0
    for row, original in enumerate(originals(gallery)):
        try:
            jpeg = photos.jpeg(gallery.store, gallery.dataset, row, 160)
        except Missing:
            continue
        small = simplejpeg.decode_jpeg(jpeg)
        assert max(small.shape[:2]) <= 160
        whole = decode(original)
        expected = cv2.resize(whole, small.shape[1::-1], interpolation=cv2.INTER_AREA)
        assert np.abs(small.astype(int) - expected).mean() < 6, row
        assert original not in jpeg
        shown += 1
    assert shown > 12


def test_a_row_group_is_read_once_for_a_page_of_photos(gallery, monkeypatch):
    import pipelines.lineage.console.photos as module

    opened = []
    real = module.pq.ParquetFile
    monkeypatch.setattr(module.pq, "ParquetFile", lambda *a, **k: opened.append(a) or real(*a, **k))
    photos = Photos()
    good = [row for row, original in enumerate(originals(gallery)[:40]) if original and len(original) > 3000]
    opened.clear()
    for row in (*good[:5], *good[:5]):
        photos.jpeg(gallery.store, gallery.dataset, row, 160)
    assert len(opened) == 1


@pytest.mark.parametrize("row", [-1, 10**9, "last"])
def test_a_row_that_does_not_exist_is_missing(gallery, row):
    with pytest.raises(Missing):
        place(gallery.dataset, gallery.dataset.rows if row == "last" else row)


def test_a_file_that_is_no_picture_is_missing():
    for data in (b"", b"<svg onload=alert(1)>", b"<html><script>1</script>", b"GIF89a" + bytes(20)):
        with pytest.raises(Missing):
            picture(data)


def test_a_grid_is_encoded_again_with_the_same_pixels():
    rng = np.random.default_rng(0)
    sheet = contact_sheet(rng.integers(0, 255, (4, 8, 8, 3), np.uint8), columns=2)
    hidden = sheet + b"<script>alert(1)</script>"
    assert np.array_equal(decode(picture(hidden)), decode(sheet))
    assert b"script" not in picture(hidden)


def test_datasets_without_pictures_say_so(gallery):
    bare = gallery.dataset.model_copy(update={"groups": {}})
    assert has_photos(gallery.dataset) and not has_photos(bare)

"""Pictures as files: what a PNG carries survives a copy, is the same every time, and cannot be abused."""

import io
import zlib

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from components.data.artifacts import SamplesManifest
from components.data.pictures import (
    contact_sheet,
    lineage_of,
    pictures_from_parquet,
    pictures_to_parquet,
    png,
    read_lineage,
)

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 8, 8, 3), np.uint8)


@pytest.fixture
def manifest():
    return SamplesManifest(
        name="dogs",
        id="0123456789abcdef",
        step="sampling",
        parents=["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"],
        code_version="cccccccccccccccc",
        options={},
    )


def test_a_grid_carries_the_ids_of_its_artifact_and_the_same_pixels_as_without(manifest):
    grid = contact_sheet(IMAGES, 3, lineage=lineage_of(manifest))
    assert read_lineage(grid) == {
        "kind": "samples",
        "id": "0123456789abcdef",
        "parents": "aaaaaaaaaaaaaaaa,bbbbbbbbbbbbbbbb",
        "code_version": "cccccccccccccccc",
    }
    pixels = [np.asarray(Image.open(io.BytesIO(data))) for data in (grid, contact_sheet(IMAGES, 3))]
    np.testing.assert_array_equal(*pixels)


def test_the_same_pictures_give_the_same_bytes(manifest):
    lineage = lineage_of(manifest)
    assert contact_sheet(IMAGES, 2, lineage=lineage) == contact_sheet(IMAGES, 2, lineage=lineage)
    columns = {"seed": list(range(5))}
    assert pictures_to_parquet(IMAGES, columns, lineage) == pictures_to_parquet(IMAGES, columns, lineage)


def test_each_picture_of_a_set_carries_the_ids_and_comes_back_unchanged(manifest):
    data = pictures_to_parquet(IMAGES, {"seed": list(range(5))}, lineage_of(manifest))
    images, others = pictures_from_parquet(data)
    np.testing.assert_array_equal(images, IMAGES)
    assert others.column("seed").to_pylist() == list(range(5))


@pytest.mark.parametrize("text", ['"; drop', "<script>", "naïve \N{DOG FACE}\n", "x" * 10_000])
def test_hostile_text_comes_back_as_text(text):
    carried = {"kind": "samples", "id": text}
    assert read_lineage(png(IMAGES[0], carried)) == carried


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", png(IMAGES[0])[:60], png(IMAGES[0])])
def test_what_carries_no_lineage_gives_none(data):
    assert read_lineage(data) == {}


def test_a_text_chunk_that_unpacks_to_gigabytes_is_refused():
    bomb = PngInfo()
    bomb.add(b"zTXt", b"dogflow:id\0\0" + zlib.compress(bytes(80 * 2**20), 9))
    buffer = io.BytesIO()
    Image.fromarray(IMAGES[0]).save(buffer, "PNG", pnginfo=bomb)
    assert read_lineage(buffer.getvalue()) == {}

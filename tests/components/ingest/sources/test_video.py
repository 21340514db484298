"""Videos: the sharp frame of each window, the same bytes each time, and broken clips told."""

import math
from pathlib import Path

import cv2
import numpy as np
import pytest

from components.ingest.sources.record import SourceError, SourceItem, open_source
from components.ingest.sources.tree import LocalTree
from components.ingest.sources.video import frame_index, frame_name, open_video, sharp_frames, sharpness

SIZE = (96, 64)


def picture(number: int, blurred: bool) -> np.ndarray:
    """A textured frame whose mean tells its number; blurred ones have lost most of their edges."""
    rng = np.random.default_rng(number)
    coarse = rng.integers(0, 120, (8, 12, 3), dtype=np.uint8)
    image = cv2.resize(coarse, SIZE, interpolation=cv2.INTER_NEAREST)
    return cv2.GaussianBlur(image, (0, 0), 4) if blurred else image


def write_video(path: Path, sharp: list[int], count: int, codec: str = "MJPG", fps: float = 25.0) -> None:
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*codec), fps, SIZE)
    assert writer.isOpened()
    for number in range(count):
        writer.write(picture(number, number not in sharp))
    writer.release()


@pytest.mark.parametrize(("name", "codec"), [("clip.avi", "MJPG"), ("clip.mp4", "mp4v")])
def test_the_planted_sharp_frame_of_each_window_is_taken(tmp_path: Path, name: str, codec: str) -> None:
    sharp = [3, 17, 20, 34]
    write_video(tmp_path / name, sharp, 36, codec)
    source = open_source(str(tmp_path), frame_every=10, source="phone", license="CC0", breed="pug")
    items = list(source.items())
    assert [item.relpath for item in items] == [f"{name}#t={n / 25:010.3f}" for n in sharp]
    assert {(item.group, item.breed, item.license, item.problem) for item in items} == {
        (name, "pug", "CC0", "")
    }
    for number, data in zip(sharp, source.read(items), strict=True):
        assert isinstance(data, bytes)
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        near = np.abs(image.astype(int) - picture(number, False)).mean()
        others = [np.abs(image.astype(int) - picture(n, False)).mean() for n in sharp if n != number]
        assert near < 12 < min(others)


def test_frames_are_lossless_equal_each_time_and_the_same_in_any_run(tmp_path: Path) -> None:
    write_video(tmp_path / "a.avi", [2, 8], 12)
    write_video(tmp_path / "b.avi", [1, 7], 12)
    source = open_source(str(tmp_path), frame_every=6)
    items = list(source.items())
    assert len(items) == 4
    data = list(source.read(items))
    with open_video(LocalTree(tmp_path), "a.avi") as capture:
        frames = []
        while (read := capture.read())[0]:
            frames.append(read[1])
    decoded = cv2.imdecode(np.frombuffer(data[1], np.uint8), cv2.IMREAD_COLOR)
    assert np.array_equal(decoded, frames[8])
    assert list(source.read(items[::-1])) == data[::-1]
    assert [found for item in items for found in source.read([item])] == data
    assert list(source.items()) == items


def test_jpeg_frames_are_close_and_smaller(tmp_path: Path) -> None:
    write_video(tmp_path / "a.avi", [0], 5)
    png, jpeg = (
        next(iter(source.read(list(source.items()))))
        for source in (open_source(str(tmp_path), frame_format=form) for form in ("png", "jpeg"))
    )
    assert isinstance(png, bytes) and isinstance(jpeg, bytes)
    assert png[:4] == b"\x89PNG" and jpeg[:2] == b"\xff\xd8"
    images = [
        cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR).astype(int) for data in (png, jpeg)
    ]
    assert 0 < np.abs(images[0] - images[1]).mean() < 4


@pytest.mark.parametrize("fps", [24000 / 1001, 25.0, 29.97, 60.0, 239.76])
def test_frame_names_round_trip_and_sort_in_time(fps: float) -> None:
    names = [frame_name("c.mp4", index, fps) for index in range(0, 20_000, 7)]
    assert [frame_index(name, fps) for name in names] == list(range(0, 20_000, 7))
    assert names == sorted(names)


def test_the_first_frame_wins_a_tie_and_the_last_window_may_be_short(tmp_path: Path) -> None:
    path = tmp_path / "flat.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 25, SIZE)
    for _ in range(7):
        writer.write(np.full((SIZE[1], SIZE[0], 3), 90, np.uint8))
    writer.release()
    with open_video(LocalTree(tmp_path), "flat.avi") as capture:
        assert list(sharp_frames(capture, 3)) == [(0, 2), (3, 5), (6, 6)]


def test_broken_clips_are_problems_beside_the_good_one(tmp_path: Path) -> None:
    write_video(tmp_path / "good.avi", [1], 6)
    write_video(tmp_path / "moov.mp4", [1], 30, "mp4v")
    whole = (tmp_path / "moov.mp4").read_bytes()
    (tmp_path / "moov.mp4").write_bytes(whole[: len(whole) // 2])  # the index stands at the end
    write_video(tmp_path / "long.avi", list(range(0, 200, 2)), 200)
    data = (tmp_path / "long.avi").read_bytes()
    (tmp_path / "long.avi").write_bytes(data[: len(data) // 2])
    (tmp_path / "empty.mov").write_bytes(b"")
    (tmp_path / "html.mp4").write_bytes(b"<html>not found</html>")
    (tmp_path / "list.mp4").write_bytes(b"#EXTM3U\n/etc/passwd\n")
    source = open_source(str(tmp_path), frame_every=50)
    items = list(source.items())
    problems = {item.relpath: item.problem for item in items if item.problem}
    assert set(problems) == {"moov.mp4", "long.avi", "empty.mov", "html.mp4", "list.mp4"}
    assert "playlist" in problems["list.mp4"] and "cannot" not in problems["list.mp4"]
    assert "of 200 frames can be decoded" in problems["long.avi"]
    assert all(item.group == item.relpath.partition("#")[0] for item in items)
    found = dict(zip([item.relpath for item in items], source.read(items), strict=True))
    assert isinstance(found["good.avi#t=000000.040"], bytes)
    frames = [relpath for relpath in found if relpath.startswith("long.avi#")]
    assert 1 <= len(frames) <= 3 and all(isinstance(found[name], bytes) for name in frames)
    assert all(isinstance(found[name], SourceError) for name in problems)


def test_a_frame_that_is_not_there_is_told(tmp_path: Path) -> None:
    write_video(tmp_path / "a.avi", [0], 5)
    source = open_source(str(tmp_path))
    names = ["a.avi#t=000000.000", "a.avi#t=000099.000", "a.avi#t=soon", "none.avi#t=000000.000", "a.avi"]
    found = list(source.read([SourceItem(name) for name in names]))
    assert isinstance(found[0], bytes) and all(isinstance(value, SourceError) for value in found[1:])


def test_impossible_options_are_errors(tmp_path: Path) -> None:
    write_video(tmp_path / "a.avi", [0], 2)
    with pytest.raises(SourceError, match="frame_every=0"):
        open_source(str(tmp_path), frame_every=0)
    with pytest.raises(SourceError, match="png or jpeg"):
        open_source(str(tmp_path), frame_format="webp")


def test_the_sharpness_is_the_variance_of_the_laplacian() -> None:
    grey = np.random.default_rng(5).integers(0, 256, (40, 50), dtype=np.uint8)
    padded = np.pad(grey.astype(np.float64), 1, mode="reflect")
    laplacian = (
        padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4 * padded[1:-1, 1:-1]
    )
    assert math.isclose(sharpness(grey), laplacian.var(), rel_tol=1e-9)

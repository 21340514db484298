"""Video files as sources: of every `frame_every` frames in a row, the sharpest.

Sharpness is the variance of the Laplacian of the grey frame at native size (ksize 1, 16 bit), the first
frame winning ties. A frame's name is its time by the nominal frame rate, index / fps:
"clip.mp4#t=000012.480" is frame 312 of a clip of 25 fps. Frames are encoded as PNG (lossless, the default)
or JPEG of quality 95 with full colour resolution; the same clip, OpenCV and format give the same bytes.
`group` is the clip, so that one clip never stands on both sides of a split.
"""

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import numpy as np

from components.ingest.sources.detection import VIDEO_EXTENSIONS
from components.ingest.sources.record import Declared, KindOptions, SourceError, SourceItem
from components.ingest.sources.tree import FileTree, extension

# Items say what is wrong with a clip, by name; FFmpeg's own lines on stderr do not.
os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
import cv2

FALLBACK_FPS = 25.0
MAX_PIXELS = 64_000_000  # of a frame; 8K video has 33 million
# What FFmpeg would follow to other files or hosts if it were named .mp4.
PLAYLISTS = (b"#EXTM3U", b"ffconcat", b"<?xml", b"<MPD", b"[playlist]", b"v=0")
ENCODINGS: dict[str, tuple[str, list[int]]] = {
    "png": (".png", [cv2.IMWRITE_PNG_COMPRESSION, 3]),
    "jpeg": (
        ".jpg",
        [
            cv2.IMWRITE_JPEG_QUALITY,
            95,
            cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
            cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
        ],
    ),
}


class Videos:
    """Sharp frames of clips."""

    def __init__(self, tree: FileTree, declared: Declared, every: int, frame_format: str) -> None:
        self.tree, self.declared, self.every = tree, declared, every
        self._suffix, self._parameters = ENCODINGS[frame_format]
        self.ignored: Counter[str] = Counter()
        self.sidecars: Counter[str] = Counter()

    def items(self) -> Iterator[SourceItem]:
        """Yield the chosen frames, clip by clip; each clip is decoded once for it."""
        self.ignored.clear()
        for entry in self.tree.walk():
            relpath = entry.relpath
            if extension(relpath) not in VIDEO_EXTENSIONS:
                self.ignored[extension(relpath)] += 1
            elif entry.fault:
                yield self.declared.complete(SourceItem(relpath, problem=f"{relpath} {entry.fault}"))
            else:
                for item in self._clip_items(relpath):
                    yield self.declared.complete(item)

    def _clip_items(self, relpath: str) -> Iterator[SourceItem]:
        try:
            with open_video(self.tree, relpath) as capture:
                fps, expected = frame_rate(capture), capture.get(cv2.CAP_PROP_FRAME_COUNT)
                count = 0
                for index, last in sharp_frames(capture, self.every):
                    count = last + 1
                    yield SourceItem(frame_name(relpath, index, fps), group=relpath)
        except SourceError as error:
            yield SourceItem(relpath, group=relpath, problem=str(error))
            return
        if count == 0:
            yield SourceItem(relpath, group=relpath, problem=f"{relpath} has no frame that can be decoded.")
        # Containers round their count; a few frames less are no damage.
        elif math.isfinite(expected) and count + max(3.0, 0.02 * expected) < expected:
            problem = f"{relpath} is damaged: {count} of {expected:.0f} frames can be decoded."
            yield SourceItem(relpath, group=relpath, problem=problem)

    def read(self, items: Sequence[SourceItem]) -> Iterator[bytes | SourceError]:
        """Yield the encoded frames; a run of frames in their order decodes its clip once, up to the last."""
        for relpath, group in groupby(items, lambda item: item.relpath.rpartition("#t=")[0]):
            yield from self._read_clip(relpath, list(group))

    def _read_clip(self, relpath: str, run: list[SourceItem]) -> Iterator[bytes | SourceError]:
        done = 0
        try:
            if not relpath:
                raise SourceError("no frame of a clip")
            with open_video(self.tree, relpath) as capture:
                fps, position = frame_rate(capture), 0
                for item in run:
                    index = frame_index(item.relpath, fps)
                    if index < position:
                        break
                    while position < index and capture.grab():
                        position += 1
                    found, frame = capture.read() if position == index else (False, None)
                    position += 1
                    done += 1
                    missing = SourceError(f"{item.relpath} is no frame of the clip that can be decoded.")
                    yield self._encode(frame) if found and frame is not None else missing
        except SourceError as error:
            for item in run[done:]:
                yield SourceError(item.problem or f"{item.relpath}: {error}")
            return
        if done < len(run):  # frames that go back in time start the clip over
            yield from self._read_clip(relpath, run[done:])

    def _encode(self, frame: np.ndarray) -> bytes | SourceError:
        encoded, data = cv2.imencode(self._suffix, frame, self._parameters)
        return data.tobytes() if encoded else SourceError("The frame cannot be encoded.")


@contextmanager
def open_video(tree: FileTree, relpath: str) -> Iterator[cv2.VideoCapture]:
    """Open a clip with FFmpeg. Raises SourceError for no video, a playlist, or frames that are too large."""
    with tree.local(relpath) as path:
        _refuse_playlist(path, relpath)
        capture = cv2.VideoCapture(str(path.absolute()), cv2.CAP_FFMPEG)
        try:
            if not capture.isOpened():
                raise SourceError(f"{relpath} is no video that OpenCV can open: it is damaged or incomplete.")
            if capture.get(cv2.CAP_PROP_FRAME_WIDTH) * capture.get(cv2.CAP_PROP_FRAME_HEIGHT) > MAX_PIXELS:
                raise SourceError(f"{relpath} has frames of more than {MAX_PIXELS} pixels.")
            yield capture
        finally:
            capture.release()


def _refuse_playlist(path: Path, relpath: str) -> None:
    with path.open("rb") as file:
        start = file.read(64).lstrip()
    if start.startswith(PLAYLISTS):
        raise SourceError(f"{relpath} is a playlist that names other files, not a video.")


def frame_rate(capture: cv2.VideoCapture) -> float:
    """Return frames per second as the container says, FALLBACK_FPS where it says nothing sensible.

    Over 1000 two frames would share a millisecond and so a name.
    """
    fps = capture.get(cv2.CAP_PROP_FPS)
    return fps if math.isfinite(fps) and 0.1 <= fps <= 500 else FALLBACK_FPS


def sharp_frames(capture: cv2.VideoCapture, every: int) -> Iterator[tuple[int, int]]:
    """Yield (index of the sharpest frame, index of the window's last frame) per window of `every` frames."""
    best, best_index, index = -1.0, 0, -1
    while capture.grab():
        index += 1
        found, frame = capture.retrieve()
        score = sharpness(frame) if found and frame is not None else -1.0
        if score > best:
            best, best_index = score, index
        if index % every == every - 1:
            if best >= 0:
                yield best_index, index
            best = -1.0
    if best >= 0:
        yield best_index, index


def sharpness(frame: np.ndarray) -> float:
    """Return the variance of the Laplacian of a (H,W,3) uint8 BGR frame."""
    grey = frame if frame.ndim == 2 else cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
    deviation = cv2.meanStdDev(cv2.Laplacian(grey, cv2.CV_16S, ksize=1))[1]
    return float(deviation[0, 0]) ** 2


def frame_name(relpath: str, index: int, fps: float) -> str:
    """Return the relpath of a frame: its clip and its time in seconds, six digits and milliseconds."""
    return f"{relpath}#t={index / fps:010.3f}"


def frame_index(name: str, fps: float) -> int:
    """Return the frame that `frame_name` named. Raises SourceError."""
    text = name.rpartition("#t=")[2]
    try:
        return max(0, round(float(text) * fps))
    except (ValueError, OverflowError):
        raise SourceError(f"{name} names no frame") from None


def open_kind(tree: FileTree, declared: Declared, options: KindOptions) -> Videos:
    """Open a tree as videos. Raises SourceError for an impossible option."""
    if options.frame_every < 1:
        raise SourceError(f"frame_every={options.frame_every} is no window: give 1 or more frames.")
    if options.frame_format not in ENCODINGS:
        raise SourceError(f"frame_format={options.frame_format!r} is not known: use png or jpeg.")
    return Videos(tree, declared, options.frame_every, options.frame_format)

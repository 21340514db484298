"""Every image file ends as the right picture or as a named error; Pillow is the reference for pictures."""

import csv
import io
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import simplejpeg
from PIL import Image, ImageCms, ImageOps

from components.data import image_error
from components.data.images import ImageError, decode, decode_grey, decode_reduced, read_header


def photo(width_px: int = 96, height_px: int = 64, seed: int = 0) -> np.ndarray:
    """A smooth picture without symmetry, (H,W,3) uint8: every turn and flip of it differs."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height_px, 0:width_px] / np.array([height_px, width_px]).reshape(2, 1, 1)
    waves = [np.sin(6.3 * (a * x + b * y) + c) for a, b, c in rng.uniform(0.2, 2.5, (3, 3))]
    return ((np.stack(waves, -1) + 1) * 110 + 17).astype(np.uint8)


def encoded(pixels: np.ndarray, kind: str, **options) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, **options)
    return file.getvalue()


def reference(data: bytes) -> np.ndarray:
    """The picture by Pillow: EXIF turn, profile to sRGB, alpha over mid grey."""
    image = Image.open(io.BytesIO(data))
    profile = image.info.get("icc_profile")
    image = ImageOps.exif_transpose(image)
    if profile:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        image = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        backdrop = Image.new("RGBA", image.size, (128, 128, 128, 255))
        backdrop.alpha_composite(image.convert("RGBA"))
        image = backdrop
    return np.asarray(image.convert("RGB"))


def png(
    width: int, height: int, depth: int, color_type: int, rows: bytes, *extra: tuple[bytes, bytes]
) -> bytes:
    """A PNG from its filtered rows; `extra` chunks stand before IDAT."""
    header = struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, 0)
    chunks = [(b"IHDR", header), *extra, (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
    body = [struct.pack(">I", len(p)) + k + p + struct.pack(">I", zlib.crc32(k + p)) for k, p in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


def refused(data: bytes, *codes: str) -> ImageError:
    """All four readers of pixels agree that the file is bad, with one of these codes."""
    errors = []
    for read in (decode, decode_grey, lambda d: decode_reduced(d, 16)):
        with pytest.raises(ImageError) as caught:
            read(data)
        errors.append(caught.value)
    assert {error.code for error in errors} <= set(codes)
    assert len({error.code for error in errors}) == 1
    return errors[0]


# What must come of each file of shared/data/bad_inputs: an error's code, or None for the right picture.
EXPECTED = {
    "animated.gif": None,
    "animated.webp": None,
    "cmyk_with_profile.jpg": None,
    "corrupt_header.jpg": "truncated",
    "decompression_bomb.gif": "too_large",
    "exif_orientation_3.jpg": None,
    "exif_orientation_6.jpg": None,
    "giant_image.jpg": "too_large",
    "gif_named_jpg.jpg": None,
    "invalid_exif.jpg": None,
    "lfs_pointer_named_jpg.jpg": "not_an_image",
    "palette_trns.png": None,
    "png_named_jpg.jpg": None,
    "rgb16.png": None,
    "truncated.jpg": "truncated",
    "xyb_profile.jpg": None,
    "zero_byte.png": "empty_file",
}


def test_every_bad_input_is_the_picture_of_pillow_or_the_named_error(shared_data: Path):
    folder = shared_data / "bad_inputs"
    with (folder / "manifest.csv").open() as file:
        rows = {row["file"]: row for row in csv.DictReader(file)}
    assert set(rows) == {*EXPECTED, "png_decompression_dos.png"}
    for name, code in EXPECTED.items():
        data = (folder / name).read_bytes()
        if code:
            refused(data, code)
            continue
        wanted = reference(data)
        header = read_header(data)
        assert (header.height_px, header.width_px) == wanted.shape[:2], name
        assert header.frames == int(rows[name]["frames"]), name
        np.testing.assert_array_equal(decode(data), wanted, err_msg=name)


def test_a_png_whose_text_chunk_is_a_bomb_still_gives_its_one_pixel(shared_data: Path):
    data = (shared_data / "bad_inputs" / "png_decompression_dos.png").read_bytes()
    assert decode(data).shape == (1, 1, 3)
    with pytest.raises(ValueError, match="too large"):
        Image.open(io.BytesIO(data)).load()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_turns_size_and_pixels_alike(kind: str, orientation: int):
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(photo(), kind, exif=exif.tobytes())
    wanted = reference(data)
    header = read_header(data)
    assert (
        (header.height_px, header.width_px) == wanted.shape[:2] == ((96, 64) if orientation > 4 else (64, 96))
    )
    np.testing.assert_array_equal(decode(data), wanted)
    assert decode_reduced(data, 16).shape[:2] == (wanted.shape[0] // 4, wanted.shape[1] // 4)


@pytest.mark.parametrize(
    "block",
    [b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\x7f", b"Exif\0\0MM\0*\0\0\0\x08\xff\xff", b"Exif\0\0junk" * 9],
)
def test_broken_exif_counts_as_upright(block: bytes):
    plain = encoded(photo(), "JPEG", quality=95)
    data = plain[:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + plain[2:]
    np.testing.assert_array_equal(decode(data), decode(plain))


def test_orientation_of_the_big_endian_block_and_out_of_range_values():
    def with_tag(value: int) -> bytes:
        block = b"Exif\0\0MM\0*\0\0\0\x08\0\x01" + struct.pack(">HHIHHI", 0x0112, 3, 1, value, 0, 0)
        plain = encoded(photo(), "JPEG")
        return plain[:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + plain[2:]

    assert [(read_header(with_tag(v)).width_px) for v in (6, 0, 9, 1)] == [64, 96, 96, 96]


def test_sixteen_bit_grey_png_is_scaled_not_clipped():
    levels = np.arange(0, 65536, 257 // 4, dtype=np.uint16).reshape(1, -1)
    got = decode(encoded(levels, "PNG"))
    wanted = np.rint(levels / 257).astype(np.uint8)
    np.testing.assert_array_equal(got, np.repeat(wanted[:, :, None], 3, 2))
    np.testing.assert_array_equal(decode_grey(encoded(levels, "PNG")), wanted)


def test_sixteen_bit_grey_tiff_is_scaled_not_clipped():
    levels = np.arange(0, 65536, 257, dtype=np.uint16).reshape(16, 16)
    np.testing.assert_array_equal(decode(encoded(levels, "TIFF"))[:, :, 1], np.arange(256).reshape(16, 16))


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
def test_grey_png_of_few_bits_spans_the_full_range(depth: int):
    levels = 1 << depth
    packed = int("".join(f"{v:0{depth}b}" for v in range(levels)).ljust(8, "0"), 2)
    row = b"\0" + packed.to_bytes(max(1, levels * depth // 8), "big")
    wanted = np.rint(np.arange(levels) * 255 / (levels - 1))
    np.testing.assert_array_equal(decode_grey(png(levels, 1, depth, 0, row)), wanted[None])


def test_png_colour_keys_and_alpha_agree_with_pillow():
    rng = np.random.default_rng(5)
    grey_alpha = rng.integers(0, 256, (8, 8, 2), dtype=np.uint8)
    rgba = rng.integers(0, 256, (8, 8, 4), dtype=np.uint8)
    palette = Image.fromarray(rng.integers(0, 4, (8, 8), dtype=np.uint8), "P")
    palette.putpalette([*rng.integers(0, 256, 12)])
    file = io.BytesIO()
    palette.save(file, "PNG", transparency=bytes([0, 60, 200, 255]))
    keyed = png(3, 1, 8, 2, b"\0\x01\x02\x03\x0a\x14\x1e\xff\0\xff", (b"tRNS", b"\0\x0a\0\x14\0\x1e"))
    for data in (encoded(grey_alpha, "PNG"), encoded(rgba, "PNG"), file.getvalue(), keyed):
        assert np.abs(decode(data).astype(int) - reference(data)).max() <= 1
    np.testing.assert_array_equal(decode(keyed)[0], [[1, 2, 3], [128, 128, 128], [255, 0, 255]])


def test_interlaced_png_is_the_picture():
    pixels = photo(13, 11)
    grid = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    rows = b"".join(b"\0" + row.tobytes() for x, y, dx, dy in grid for row in pixels[y::dy, x::dx])
    data = bytearray(png(13, 11, 8, 2, rows))
    data[28] = 1
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    np.testing.assert_array_equal(decode(bytes(data)), pixels)


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_noise_under_zero_alpha_does_not_count(kind: str):
    noise = np.random.default_rng(1).integers(0, 256, (32, 48, 4), dtype=np.uint8)
    noise[:, :, 3] = 0
    data = encoded(noise, kind, **({"lossless": True, "exact": True} if kind == "WEBP" else {}))
    assert (decode(data) == 128).all()
    assert (decode_grey(data) == 128).all()


def test_half_a_jpeg_is_truncated_wherever_it_is_cut():
    data = encoded(photo(320, 240), "JPEG", quality=92)
    for part in (0.3, 0.5, 0.9):
        refused(data[: int(len(data) * part)], "truncated")
    refused(data[:-2], "truncated")  # only the end marker is gone
    progressive = encoded(photo(320, 240), "JPEG", quality=92, progressive=True)
    refused(progressive[: len(progressive) // 2], "truncated")


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_forty_rotten_bytes_in_a_jpeg_are_refused(mode: str):
    file = io.BytesIO()
    noisy = photo(320, 240) ^ np.random.default_rng(2).integers(0, 32, (240, 320, 3), dtype=np.uint8)
    Image.fromarray(noisy).convert(mode).save(file, "JPEG", quality=90)
    data = file.getvalue()
    scan = data.index(b"\xff\xda") + 20
    for seed in range(8):
        rng = np.random.default_rng(seed)
        rotten = bytearray(data)
        for at in rng.integers(scan, len(data) - 2, 40):
            rotten[at] = rng.integers(0, 256)
        refused(bytes(rotten), "corrupt", "truncated")


@pytest.mark.parametrize("cut", [0.4, 0.8, 0.99])
@pytest.mark.parametrize("kind", ["PNG", "WEBP", "GIF", "BMP", "TIFF"])
def test_a_cut_file_of_any_format_is_an_error(kind: str, cut: float):
    data = encoded(photo(64, 64), kind)
    refused(data[: int(len(data) * cut)], "truncated", "corrupt")


def test_one_flipped_bit_in_png_pixels_fails_its_checksum():
    data = bytearray(encoded(photo(), "PNG"))
    data[len(data) // 2] ^= 4
    assert "checksum" in str(refused(bytes(data), "corrupt"))


def test_a_png_with_valid_checksums_but_too_few_rows_is_truncated():
    refused(png(16, 16, 8, 0, b"\0" * 17 * 9), "truncated")


def test_limits_are_checked_before_pixels(monkeypatch: pytest.MonkeyPatch):
    bomb = png(20_000, 20_000, 1, 0, (b"\0" + bytes(2500)) * 20_000)
    assert len(bomb) < 52_000

    def never(*_):
        raise AssertionError("pixels were touched")

    monkeypatch.setattr("cv2.imdecode", never)
    assert "20000 x 20000" in str(refused(bomb, "too_large"))
    with pytest.raises(ImageError, match="limit of 200,000,000 px"):
        read_header(bomb)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
def test_the_limit_holds_for_every_format(kind: str, monkeypatch: pytest.MonkeyPatch):
    data = encoded(photo(64, 50), kind)
    monkeypatch.setattr(image_error, "MAX_PIXELS", 64 * 50)
    assert decode(data).shape == (50, 64, 3)
    monkeypatch.setattr(image_error, "MAX_PIXELS", 64 * 50 - 1)
    refused(data, "too_large")


def test_a_jpeg_of_thousands_of_scans_is_refused_unread():
    data = encoded(photo(), "JPEG", progressive=True)
    at = data.rindex(b"\xff\xda")
    refused(data[:at] + data[at:-2] * 600 + data[-2:], "too_large")


@pytest.mark.parametrize(
    ("data", "code", "word"),
    [
        (b"", "empty_file", "0 bytes"),
        (b"\n<!DOCTYPE html><html><body>404</body></html>", "not_an_image", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "not_an_image", "git lfs pull"),
        (b'{"error": "gone"}', "not_an_image", "JSON"),
        (bytes(64), "not_an_image", "00 00 00 00"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "unsupported", "HEIC"),
        (b"\0\0\0\x20ftypavif\0\0\0\0", "unsupported", "AVIF"),
        (b"\xff\xd8\xff", "truncated", "JPEG header"),
        (b"\x89PNG\r\n\x1a\n", "truncated", "PNG header"),
        (b"GIF89a", "truncated", "GIF header"),
        (b"RIFF\x10\0\0\0WEBP", "truncated", "WebP header"),
        (b"\xff\xd8\xff\xd9" + bytes(20), "corrupt", "no scan"),
    ],
)
def test_what_is_no_picture_says_what_it_is(data: bytes, code: str, word: str):
    with pytest.raises(ImageError) as caught:
        read_header(data)
    assert caught.value.code == code
    assert word in str(caught.value)
    refused(data, code)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL.TiffImagePlugin")
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
def test_damaged_bytes_never_escape_as_another_exception(kind: str):
    rng = np.random.default_rng(11)
    exif = Image.Exif()
    exif[0x0112] = 6
    options = {"exif": exif.tobytes()} if kind in ("JPEG", "PNG", "WEBP", "TIFF") else {}
    data = encoded(photo(24, 20), kind, **options)
    for _ in range(150):
        bad = bytearray(data[: rng.integers(0, len(data))] if rng.random() < 0.3 else data)
        for at in rng.integers(0, min(len(bad), rng.choice([40, len(data)])), 3) if bad else ():
            bad[at] = rng.integers(0, 256)
        for read in (read_header, decode, decode_grey, lambda d: decode_reduced(d, 8)):
            try:
                read(bytes(bad))
            except ImageError as error:
                assert str(error).endswith(".") and error.code


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "GIF", "WEBP", "JPEG"])
def test_header_and_picture_agree_for_every_format(kind: str):
    data = encoded(photo(50, 30), kind)
    header = read_header(data)
    assert (header.format, header.width_px, header.height_px, header.frames) == (kind.lower(), 50, 30, 1)
    np.testing.assert_array_equal(decode(data), reference(data))


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "TIFF"])
def test_the_first_frame_of_an_animation_is_the_picture(kind: str):
    frames = [Image.fromarray(photo(40, 30, seed)) for seed in range(3)]
    file = io.BytesIO()
    options = {"lossless": True} if kind == "WEBP" else {}
    frames[0].save(file, kind, save_all=True, append_images=frames[1:], **options)
    data = file.getvalue()
    assert read_header(data).frames == 3
    np.testing.assert_array_equal(decode(data), reference(data))


def test_grey_of_a_ycc_jpeg_is_the_stored_luma():
    data = encoded(photo(), "JPEG", quality=90)
    np.testing.assert_array_equal(decode_grey(data), simplejpeg.decode_jpeg(data, "GRAY")[:, :, 0])
    luma = photo() @ np.array([0.299, 0.587, 0.114])
    assert np.abs(decode_grey(encoded(photo(), "PNG")) - luma).max() <= 0.51


def test_rgb_jpeg_grey_is_luma_and_not_the_red_channel():
    file = io.BytesIO()
    Image.fromarray(photo()).save(file, "JPEG", quality=95, keep_rgb=True)
    luma = photo() @ np.array([0.299, 0.587, 0.114])
    assert np.abs(decode_grey(file.getvalue()) - luma).mean() < 2


def test_a_jpeg_of_rare_sampling_factors_is_read_like_pillow_does():
    data = bytearray(encoded(photo(64, 64), "JPEG", quality=90, subsampling=0))
    frame = data.index(b"\xff\xc0")
    data[frame + 11] = 0x31  # 3 x 1 luma blocks to one of chroma: TurboJPEG has no name for it
    with pytest.raises(ValueError, match="subsampling"):
        simplejpeg.decode_jpeg(bytes(data))
    np.testing.assert_array_equal(decode(bytes(data)), reference(bytes(data)))
    np.testing.assert_array_equal(
        decode_grey(bytes(data)), np.asarray(Image.open(io.BytesIO(data)).convert("L"))
    )
    assert decode_reduced(bytes(data), 16).shape == (16, 16, 3)


def test_cmyk_without_a_profile_agrees_with_pillow():
    file = io.BytesIO()
    Image.fromarray(photo()).convert("CMYK").save(file, "JPEG", quality=95)
    np.testing.assert_array_equal(decode(file.getvalue()), reference(file.getvalue()))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_an_srgb_profile_changes_nothing_and_a_broken_or_foreign_one_is_ignored(kind: str):
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    plain = decode(encoded(photo(), kind))
    grey_profile = srgb[:16] + b"GRAY" + srgb[20:]
    for profile in (srgb, srgb[:200], b"x" * 300, grey_profile):
        np.testing.assert_array_equal(decode(encoded(photo(), kind, icc_profile=profile)), plain)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_wide_gamut_profile_is_converted(kind: str, shared_data: Path):
    with Image.open(shared_data / "bad_inputs" / "xyb_profile.jpg") as image:
        xyb = image.info["icc_profile"]
    data = encoded(photo(), kind, icc_profile=xyb)
    np.testing.assert_array_equal(decode(data), reference(data))
    assert np.abs(decode(data).astype(int) - decode(encoded(photo(), kind))).mean() > 10


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_reduced_keeps_the_shortest_side_and_the_picture(kind: str):
    pixels = photo(640, 480)
    data = encoded(pixels, kind, quality=95)
    for min_side_px in (1, 50, 100, 240, 479, 480, 900):
        small = decode_reduced(data, min_side_px)
        assert min(small.shape[:2]) >= min(min_side_px, 480)
        assert small.shape[0] * 4 == pytest.approx(small.shape[1] * 3, abs=4)
    small = decode_reduced(data, 120)
    assert small.shape == (120, 160, 3)
    wanted = np.asarray(Image.fromarray(pixels).resize((160, 120), Image.Resampling.BOX)).astype(int)
    assert np.abs(small - wanted).mean() < 2
    with pytest.raises(ValueError, match="min_side_px"):
        decode_reduced(data, 0)


def test_decoding_is_the_same_from_many_threads(shared_data: Path):
    names = (
        "cmyk_with_profile.jpg",
        "exif_orientation_6.jpg",
        "xyb_profile.jpg",
        "animated.gif",
        "rgb16.png",
    )
    files = [(shared_data / "bad_inputs" / name).read_bytes() for name in names]
    alone = [decode(data) for data in files]
    with ThreadPoolExecutor(4) as pool:
        for wanted, got in zip(alone * 6, pool.map(decode, files * 6), strict=True):
            np.testing.assert_array_equal(got, wanted)

"""Every column once: name, Arrow type, unit, the step that adds it, and what it means."""

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Column:
    """One column of the data model. `unit` is "" for text, flags and pure numbers."""

    name: str
    type: pa.DataType
    step: str
    help: str
    unit: str = ""


_LIST = pa.list_(pa.string())

_COLUMNS = (
    Column("image_id", pa.string(), "ingest", "sha256 of the original bytes, first 32 hex digits"),
    Column("image", pa.large_binary(), "ingest", "original bytes"),
    Column("format", pa.string(), "ingest", "jpeg, png, webp, gif, bmp or tiff; null when unreadable"),
    Column("width_px", pa.int32(), "ingest", "width after EXIF rotation, from the header", "px"),
    Column("height_px", pa.int32(), "ingest", "height after EXIF rotation, from the header", "px"),
    Column("caption", pa.string(), "ingest", "the source's text, as given"),
    Column("breed", pa.string(), "ingest", "key of the breed table, or null"),
    Column("source", pa.string(), "ingest", "name of the source, for the allow-list"),
    Column("source_uri", pa.string(), "ingest", "path relative to the source root; unique with image_id"),
    Column("license", pa.string(), "ingest", "licence as the source states it, normalised"),
    Column("reviewed", pa.bool_(), "ingest", "a person looked at this photo and its label"),
    Column("clip_key", pa.string(), "ingest", "clip or session the photo comes from; '' when alone"),
    Column("ingest_error", pa.string(), "ingest", "why the file could not be taken; null when it could"),
    Column("caption_words", pa.int32(), "captions", "words of the caption in any script", "words"),
    Column("caption_vague", pa.bool_(), "captions", "the caption hedges (maybe, looks like ...)"),
    Column("caption_tokens", pa.int32(), "captions", "CLIP tokens with start and end", "tokens"),
    Column("caption_truncated", pa.bool_(), "captions", "more tokens than the text encoder reads"),
    Column("caption_has_dog_word", pa.bool_(), "captions", "says dog, puppy, canine ... in some language"),
    Column("caption_script", pa.string(), "captions", "dominant Unicode script of the caption"),
    Column("captions_error", pa.string(), "captions", "why the caption has no scores"),
    Column("laplacian_variance", pa.float32(), "quality", "sharpness at native size"),
    Column("laplacian_variance_fixed", pa.float32(), "quality", "sharpness at a fixed long side"),
    Column("color_shift", pa.float32(), "quality", "Hellinger distance of the a*b* histogram to grey"),
    Column("phash", pa.uint64(), "quality", "perceptual hash (DCT)"),
    Column("quality_error", pa.string(), "quality", "why the picture could not be decoded"),
    Column("duplicate_of", pa.string(), "duplicates", "image_id kept instead of this row, or null"),
    Column("duplicate_kind", pa.string(), "duplicates", "exact, near or null"),
    Column("group_id", pa.string(), "duplicates", "photos that must stay on one side of a split"),
    Column("split", pa.string(), "duplicates", "train, val or test, by hash of group_id"),
    Column("clip_similarity", pa.float32(), "similarity", "cosine of image and caption embeddings"),
    Column("breed_confidence", pa.float32(), "similarity", "zero-shot probability of the labelled breed"),
    Column("similarity_skipped_by", pa.string(), "similarity", "the scope rule that left the row unscored"),
    Column("similarity_error", pa.string(), "similarity", "why the row has no score"),
    Column("foreground_ratio", pa.float32(), "foreground", "share of the picture the subject covers"),
    Column("foreground_ratio_crop", pa.float32(), "foreground", "the same after cropping to the subject"),
    Column(
        "foreground_ratio_point", pa.float32(), "foreground", "the ratio when prompted by the centre point"
    ),
    Column("subject_box", pa.list_(pa.int32(), 4), "foreground", "x0, y0, x1, y1 of the mask", "px"),
    Column("crop_box", pa.list_(pa.int32(), 4), "foreground", "crop that encoding applies, or null", "px"),
    Column("mask_rle", pa.large_binary(), "foreground", "run-length encoded mask"),
    Column("subject_sharpness", pa.float32(), "foreground", "Laplacian variance inside the mask"),
    Column("background_plain", pa.bool_(), "foreground", "measured: even, near-grey background"),
    Column("foreground_skipped_by", pa.string(), "foreground", "the scope rule that left the row unscored"),
    Column("foreground_error", pa.string(), "foreground", "why the row has no score"),
    Column("prompt", pa.string(), "prompts", "training text of stages 1 and 2; null without a breed"),
    Column("prompt_features", _LIST, "prompts", "features named in the prompt"),
    Column("prompts_error", pa.string(), "prompts", "why the row has no prompt"),
    Column("keep", pa.bool_(), "selection", "takes part in training"),
    Column("reasons", _LIST, "selection", "every rule the row failed"),
    Column("tier", pa.int8(), "selection", "0 reviewed, 1 confident label, -1 neither"),
    Column("pixels", pa.large_binary(), "encoding", "(H,W,3) uint8 sRGB of the training size, row-major"),
    Column("latents", pa.large_binary(), "encoding", "(C,h,w) float16 of the autoencoder, row-major"),
    Column("latents_mirrored", pa.large_binary(), "encoding", "the same of the mirrored picture"),
    Column("caption_id", pa.string(), "encoding", "text_id of the caption"),
    Column("prompt_id", pa.string(), "encoding", "text_id of the prompt; of the empty text without one"),
    Column("text_id", pa.string(), "encoding", "sha256 of the text, first 16 hex digits"),
    Column("text", pa.string(), "encoding", "a distinct caption or prompt, or the empty text"),
    Column("text_states", pa.large_binary(), "encoding", "(tokens, width) float16 below the last two layers"),
    Column("text_tokens", pa.int32(), "encoding", "tokens of the text, start and end included", "tokens"),
)

COLUMNS: dict[str, Column] = {column.name: column for column in _COLUMNS}

# Left out of a group's merged file: read per shard, by the few steps that need them.
BLOB_COLUMNS = frozenset({"image", "mask_rle", "pixels", "latents", "latents_mirrored", "text_states"})

# Bytes that hold floats of a model: like float columns, equal only within a tolerance.
FLOAT_BLOBS = frozenset({"text_states", "latents", "latents_mirrored"})


def arrow_schema(names: list[str]) -> pa.Schema:
    """Arrow schema of the named columns, in the given order; KeyError names an unknown column."""
    return pa.schema([pa.field(name, COLUMNS[name].type) for name in names])

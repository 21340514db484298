"""Options of the ingest step."""

from typing import Literal

from components.data.options import StepOptions, option


class IngestOptions(StepOptions):
    """Where the photos are and what is declared about them.

    None of these is an identity option: an ingested dataset is identified by its rows (path, bytes and every
    declared value), whatever way of reading led to them.
    """

    source: str = option("", "folder, archive, Parquet file or s3:// URI with the photos", identity=False)
    name: str = option(
        "dogs",
        "name of the dataset, a folder under the data root",
        identity=False,
        pattern=r"^[a-z0-9][a-z0-9_-]*$",
    )
    kind: Literal["auto", "folder_table", "class_folders", "webdataset", "parquet", "pairs", "video"] = (
        option("auto", "how the source is laid out", identity=False)
    )
    source_name: str = option("", "name of the source where its rows do not give one", identity=False)
    license: str = option("", "licence where the rows do not give one", identity=False)
    reviewed: bool = option(False, "the source declares every photo reviewed by a person", identity=False)
    reviews: str = option(
        "", "CSV or JSONL of reviews to merge (file or image_id, reviewed, breed)", identity=False
    )
    breeds: str = option("", "CSV of breeds to add to the table", identity=False)
    breed_from_caption: bool = option(
        True,
        "take the breed from the caption when there is no label and it names exactly one",
        identity=False,
    )
    attributions: str = option(
        "", "CSV of titles or URLs with licences, matched by file name", identity=False
    )
    group_by_folder: bool = option(
        False, "photos of one folder are one session, and stay in one split", identity=False
    )
    video_every_n_frames: int = option(
        30, "of a video, keep the sharpest of every n frames", identity=False, ge=1, le=100_000
    )
    shard_rows: int = option(512, "rows of a shard", identity=False, ge=1, le=100_000)


OPTIONS = IngestOptions

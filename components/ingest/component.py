"""KFP component of the ingest step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="dogflow-curate", install_kfp_package=False, packages_to_install=[])
def ingest(
    result: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    source: str = "",
    name: str = "dogs",
    kind: str = "auto",
    source_name: str = "",
    license: str = "",
    reviewed: bool = False,
    reviews: str = "",
    breeds: str = "",
    breed_from_caption: bool = True,
    attributions: str = "",
    group_by_folder: bool = False,
    video_every_n_frames: int = 30,
    shard_rows: int = 512,
):
    """Bring photos and what is known about them into shards. Every file of the source becomes a row.

    Args:
        result: Manifest of what the step made.
        metrics: Counters of the step.
        data_root: Where shards and manifests lie.
        code_version: Code the pipeline was compiled for; the step refuses to run as another.
        source: Folder, archive, Parquet file or s3:// URI with the photos.
        name: Name of the dataset, a folder under the data root.
        kind: How the source is laid out.
        source_name: Name of the source where its rows do not give one.
        license: Licence where the rows do not give one.
        reviewed: The source declares every photo reviewed by a person.
        reviews: CSV or JSONL of reviews to merge (file or image_id, reviewed, breed).
        breeds: CSV of breeds to add to the table.
        breed_from_caption: Take the breed from the caption when there is no label and it names exactly one.
        attributions: CSV of titles or URLs with licences, matched by file name.
        group_by_folder: Photos of one folder are one session, and stay in one split.
        video_every_n_frames: Of a video, keep the sharpest of every n frames.
        shard_rows: Rows of a shard.
    """
    from components.data.task import run_component

    run_component("ingest", locals())

"""KFP component of the selection step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="dogflow-curate", install_kfp_package=False, packages_to_install=[])
def selection(
    dataset: dsl.Input[dsl.Dataset],
    result: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
    data_root: str,
    code_version: str,
    min_side_px: int = 1024,
    laplacian_variance: float = 100.0,
    color_shift: float = 0.35,
    clip_similarity: float = 0.28,
    clip_similarity_fraction: float = 1.0,
    foreground_ratio: float = 0.65,
    crop_to_subject: bool = False,
    subject_sharpness: float = 0.0,
    caption_words_min: int = 8,
    caption_words_max: int = 35,
    caption_vague: bool = True,
    caption_truncated: bool = True,
    caption_has_dog_word: bool = False,
    duplicate_exact: bool = True,
    duplicate_near: bool = True,
    licenses: list = [],
    license_unknown: bool = True,
    sources: list = [],
    breed_required: bool = True,
    breed_min: int = 0,
    breed_cap: int = 5200,
    breed_confidence: float = 0.85,
):
    """Apply every threshold to the scores: which photos are kept, why the others are not, and their trust.

    Args:
        dataset: Manifest of the dataset to work on.
        result: Manifest of what the step made.
        metrics: Counters of the step.
        data_root: Where shards and manifests lie.
        code_version: Code the pipeline was compiled for; the step refuses to run as another.
        min_side_px: Shorter side, at least (0: off).
        laplacian_variance: Sharpness at native size, at least (0: off).
        color_shift: Distance to grey, at most (1: off).
        clip_similarity: Image-caption cosine, at least (-1: off).
        clip_similarity_fraction: Keep this best share of the scored rows by clip_similarity (1: off).
        foreground_ratio: Share of the picture the subject covers, at least (0: off).
        crop_to_subject: Judge min_side_px and foreground_ratio on the crop around the subject, and encode that crop.
        subject_sharpness: Sharpness inside the subject's mask, at least (0: off).
        caption_words_min: Words of the caption, at least (0: off).
        caption_words_max: Words of the caption, at most (0: off).
        caption_vague: Reject captions that hedge.
        caption_truncated: Reject captions longer than the text encoder reads.
        caption_has_dog_word: Reject captions without a dog word (general set).
        duplicate_exact: Reject exact duplicates but one.
        duplicate_near: Reject near duplicates but one.
        licenses: Licences taken, as patterns such as CC-BY-*; [] takes all.
        license_unknown: Take rows whose licence is not stated, where `licenses` has a list.
        sources: Sources taken, as patterns; [] takes all.
        breed_required: Reject rows without a breed (breed set).
        breed_min: Drop breeds with fewer kept training photos (0: off).
        breed_cap: Keep at most so many photos a breed, the best first (0: off).
        breed_confidence: Label confidence of tier 1, at least.
    """
    from components.data.task import run_component

    run_component("selection", locals())

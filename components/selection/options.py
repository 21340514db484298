"""Options of the selection step: every threshold under the name of its column."""

from components.data.options import StepOptions, option


class SelectionOptions(StepOptions):
    """All thresholds. Defaults are the strict profile's."""

    min_side_px: int = option(1024, "shorter side, at least (0: off)", ge=0)
    laplacian_variance: float = option(100.0, "sharpness at native size, at least (0: off)", ge=0)
    color_shift: float = option(0.35, "distance to grey, at most (1: off)", ge=0, le=1)
    clip_similarity: float = option(0.28, "image-caption cosine, at least (-1: off)", ge=-1, le=1)
    clip_similarity_fraction: float = option(
        1.0, "keep this best share of the scored rows by clip_similarity (1: off)", gt=0, le=1
    )
    foreground_ratio: float = option(
        0.65, "share of the picture the subject covers, at least (0: off)", ge=0, le=1
    )
    crop_to_subject: bool = option(
        False, "judge min_side_px and foreground_ratio on the crop around the subject, and encode that crop"
    )
    subject_sharpness: float = option(0.0, "sharpness inside the subject's mask, at least (0: off)", ge=0)
    caption_words_min: int = option(8, "words of the caption, at least (0: off)", ge=0)
    caption_words_max: int = option(35, "words of the caption, at most (0: off)", ge=0)
    caption_vague: bool = option(True, "reject captions that hedge")
    caption_truncated: bool = option(True, "reject captions longer than the text encoder reads")
    caption_has_dog_word: bool = option(False, "reject captions without a dog word (general set)")
    duplicate_exact: bool = option(True, "reject exact duplicates but one")
    duplicate_near: bool = option(True, "reject near duplicates but one")
    licenses: list[str] = option([], "licences taken, as patterns such as CC-BY-*; [] takes all")
    license_unknown: bool = option(True, "take rows whose licence is not stated, where `licenses` has a list")
    sources: list[str] = option([], "sources taken, as patterns; [] takes all")
    breed_required: bool = option(True, "reject rows without a breed (breed set)")
    breed_min: int = option(0, "drop breeds with fewer kept training photos (0: off)", ge=0)
    breed_cap: int = option(5200, "keep at most so many photos a breed, the best first (0: off)", ge=0)
    breed_confidence: float = option(0.85, "label confidence of tier 1, at least", ge=0, le=1)


OPTIONS = SelectionOptions

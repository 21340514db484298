"""Named sets of options: {profile: {step: {option: value}}}.

`strict` is what the options' own defaults say, the recipe's thresholds, with scopes looser than them. `wild`
is for phone and web photos. `demo` fits the synthetic dogs and the tiny models (pipelines/demo).
"""

from typing import Any

from pipelines.demo import thresholds as demo
from pipelines.demo.breeds import BREEDS

DEMO_BREEDS = sorted(BREEDS)
# Breeds of one palette: told apart by shape alone.
DEMO_PAIRS = [
    f"{first}|{second}"
    for first in DEMO_BREEDS
    for second in DEMO_BREEDS
    if first < second and BREEDS[first].palette == BREEDS[second].palette
]
# The general set lets in any dog. A profile's `selection` counts for both selections, hence said again.
_GENERAL = {"foreground_ratio": 0.0, "color_shift": 1.0, "crop_to_subject": False}
_SCOPE = {"scope_min_side_px": 512, "scope_laplacian_variance": 50.0}
_DEMO_SCOPE = {
    "scope_min_side_px": 96,
    "scope_laplacian_variance": 40.0,
    # The tiny models have never seen a tinted picture: what they say of one means nothing.
    "scope_color_shift": demo.COLOR_SHIFT,
}
_DEMO_SELECTION = {
    "min_side_px": demo.MIN_SIDE_PX,
    "laplacian_variance": demo.LAPLACIAN_VARIANCE,
    "color_shift": demo.COLOR_SHIFT,
    "foreground_ratio": demo.FOREGROUND_RATIO,
    "clip_similarity": demo.CLIP_SIMILARITY,
    "caption_words_min": demo.CAPTION_WORDS_MIN,
    "caption_words_max": demo.CAPTION_WORDS_MAX,
    "licenses": ["CC0-1.0", "CC-BY-4.0"],
    "license_unknown": False,
    "sources": ["breed_club", "vet_school"],
}
_DEMO_STAGE = {
    "batch": 16,
    "micro_batch": 16,
    "learning_rate": 2e-3,
    "warmup": 20,
    "beta2": 0.99,
    "ema_decay": 0.99,
    "validate_every": 0,
    "checkpoint_every": 100,
}

PROFILES: dict[str, dict[str, dict[str, Any]]] = {
    "strict": {
        "similarity": _SCOPE,
        "foreground": {**_SCOPE, "scope_color_shift": 0.6, "scope_clip_similarity": 0.2},
    },
    "wild": {
        "similarity": {"scope_min_side_px": 192, "scope_laplacian_variance": 20.0},
        "foreground": {
            "scope_min_side_px": 192,
            "scope_laplacian_variance": 20.0,
            "crop_ratio": 0.5,
        },
        "selection": {
            "min_side_px": 256,
            "laplacian_variance": 50.0,
            "color_shift": 1.0,
            "clip_similarity": 0.2,
            "foreground_ratio": 0.3,
            "crop_to_subject": True,
            "caption_words_min": 3,
            "caption_words_max": 60,
        },
        "general_selection": _GENERAL,
    },
    "demo": {
        "ingest": {"name": "demo", "shard_rows": 256},
        "duplicates": {"near_distance": demo.NEAR_DISTANCE, "val_fraction": 0.05, "test_fraction": 0.15},
        "similarity": {"model": "demo", "dtype": "fp32", "breeds": DEMO_BREEDS, **_DEMO_SCOPE},
        "foreground": {
            "model": "demo",
            "dtype": "fp32",
            "scope_clip_similarity": -0.5,
            "batch_size": 16,
            **_DEMO_SCOPE,
        },
        "selection": _DEMO_SELECTION,
        "general_selection": {"foreground_ratio": 0.0},
        "encoding": {"size_px": 32, "text_model": "demo"},
        "initialization": {"preset": "demo", "text_model": "demo"},
        "stage0": {**_DEMO_STAGE, "steps": 150},
        "stage1": {**_DEMO_STAGE, "steps": 1080, "final_lr_share": 0.6},
        "stage2": {**_DEMO_STAGE, "steps": 1030, "learning_rate": 1.2e-3, "final_lr_share": 0.02},
        # Strong, where the shape is decided; at the end it would roughen outlines, which are what tells a
        # smooth coat from a long one.
        "sampling": {"per_breed": 24, "guidance": 8.0, "guidance_start": 0.3, "guidance_end": 0.8},
        "evaluation": {"extractor": "demo", "extractor_weights": "demo", "confusable_pairs": DEMO_PAIRS},
    },
}

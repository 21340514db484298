"""Options of the evaluation step."""

from typing import Literal

from components.data.options import StepOptions, option


class EvaluationOptions(StepOptions):
    """What the drawn pictures are compared with, and how."""

    extractor: Literal["demo", "inception-2015", "dinov2", "clip"] = option(
        "inception-2015", "feature extractor; Frechet distance on inception-2015 is FID"
    )
    extractor_weights: str = option(
        "", "path of the extractor's weights, or a model reference such as `demo`"
    )
    confusable_pairs: list[str] = option(
        [], "pairs of breeds judged apart, such as golden_retriever|labrador_retriever"
    )
    kid_subsets: int = option(50, "random subsets that KID is averaged over", ge=1)
    floor_splits: int = option(5, "random halves of the real pictures for the split-half floor", ge=1)
    classifier_epochs: int = option(12, "epochs of the breed classifier", ge=1)
    seed: int = option(0, "seed of the classifier and of random subsets", ge=0)


OPTIONS = EvaluationOptions

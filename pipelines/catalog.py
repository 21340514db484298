"""The pipelines there are, by name; knows nothing of KFP, so that `--help` stays fast."""

import difflib
from importlib.util import find_spec

PIPELINES = {
    "curation": "raw photos with captions to scored, selected Parquet shards",
    "training": "encoded shards to a trained and evaluated model",
    "dog_breed": "both: a general and a breed branch, three training stages, evaluation",
}


class PipelineError(ValueError):
    """A pipeline that does not exist or cannot be compiled."""


def known_pipelines() -> list[str]:
    """Names of the pipelines in this package."""
    return [name for name in PIPELINES if find_spec(f"pipelines.{name}")]


def module_of(reference: str) -> tuple[str, str]:
    """(module, attribute) of a pipeline's name or `module:attribute`; PipelineError for an unknown name."""
    if ":" in reference:
        module, _, attribute = reference.partition(":")
        return module, attribute
    name = reference.replace("-", "_")
    known = known_pipelines()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known: {', '.join([*known, 'module:attribute'])}."
        raise PipelineError(f"There is no pipeline {reference}; {hint}")
    return f"pipelines.{name}", name

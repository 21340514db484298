"""Widening score scopes so that every row a selection could keep has its scores."""

from dataclasses import replace
from typing import Any

from pipelines.definition import Pipeline
from pipelines.values import Values

# scope option -> the selection threshold it must not be tighter than, and which of two bounds is looser.
_BOUNDS: dict[str, Any] = {
    "scope_min_side_px": min,
    "scope_laplacian_variance": min,
    "scope_color_shift": max,
    "scope_clip_similarity": min,
}


def widened(pipeline: Pipeline, values: Values) -> Values:
    """`values` with each scope at least as loose as the loosest selection of the pipeline.

    Scores are cached by picture, so what was scored before is not scored again. With crop_to_subject the
    whole picture's side says nothing about the crop's, but a crop is never larger than its picture.
    """
    selections = [values.options[use.prefix] for use in pipeline.uses if use.step == "selection"]
    parameters, options, sources = dict(values.parameters), dict(values.options), dict(values.sources)
    for use in pipeline.uses:
        for scope, looser in _BOUNDS.items():
            if scope not in use.options:
                continue
            threshold = scope.removeprefix("scope_")
            bound = looser([values.options[use.prefix][scope], *(chosen[threshold] for chosen in selections)])
            name = f"{use.prefix}_{scope}"
            if bound != parameters[name]:
                parameters[name] = bound
                sources[name] = "backfill"
                options[use.prefix] = {**options[use.prefix], scope: bound}
    return replace(values, parameters=parameters, options=options, sources=sources)

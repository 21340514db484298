"""The whole system: photos in, a model that draws breeds, its score and a report out."""

from components.encoding.component import encoding
from components.report.component import report
from components.selection.component import selection
from pipelines.curation import scores
from pipelines.definition import Steps, pipeline
from pipelines.training import stages

# The general set teaches what dogs look like: any dog whose caption says so, whatever else is in the picture.
GENERAL = {
    "breed_required": False,
    "caption_has_dog_word": True,
    "foreground_ratio": 0.0,
    "color_shift": 1.0,
    "breed_cap": 0,
}


@pipeline(name="dog-breed")
def dog_breed(p: Steps) -> None:
    """Two branches over the same scores: stage 0 learns from the general set, then the breed set."""
    scored = scores(p)
    chosen = p.run(selection, dataset=scored)
    general = p.run(selection, name="general_selection", defaults=GENERAL, dataset=scored)
    breed = p.run(encoding, dataset=chosen)
    general = p.run(encoding, name="general_encoding", prefix="encoding", dataset=general)
    evaluated = stages(p, general=general, breed=breed)
    p.run(report, dataset=chosen, results=evaluated)

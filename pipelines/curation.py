"""From raw photos with captions to scored rows, of which the good ones are marked as kept."""

from components.captions.component import captions
from components.duplicates.component import duplicates
from components.foreground.component import foreground
from components.ingest.component import ingest
from components.prompts.component import prompts
from components.quality.component import quality
from components.report.component import report
from components.selection.component import selection
from components.similarity.component import similarity
from pipelines.definition import Steps, pipeline


def scores(p: Steps) -> object:
    """All scores, cheap ones first; SAM, by far the dearest, sees only what they left."""
    data = p.run(ingest)
    data = p.run(captions, dataset=data)
    data = p.run(quality, dataset=data)
    data = p.run(duplicates, dataset=data)
    data = p.run(similarity, dataset=data)
    data = p.run(foreground, dataset=data)
    return p.run(prompts, dataset=data)


@pipeline(name="curation")
def curation(p: Steps) -> None:
    """Score every photo, then apply all thresholds at once."""
    data = scores(p)
    data = p.run(selection, dataset=data)
    p.run(report, dataset=data, results=data)

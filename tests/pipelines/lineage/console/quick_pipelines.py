"""The steps that need no model, for reruns that are started in a browser."""

from components.captions.component import captions
from components.duplicates.component import duplicates
from components.ingest.component import ingest
from components.quality.component import quality
from components.selection.component import selection
from pipelines.definition import pipeline


@pipeline(name="quick")
def quick(p):
    """Photos to selected rows, by the cheap rules."""
    data = p.run(ingest)
    data = p.run(captions, dataset=data)
    data = p.run(quality, dataset=data)
    data = p.run(duplicates, dataset=data)
    p.run(selection, dataset=data)

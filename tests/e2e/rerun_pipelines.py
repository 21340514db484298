"""The pipeline that the rerun tests run: both selections of the whole system over the same scores."""

from components.report.component import report
from components.selection.component import selection
from pipelines.curation import scores
from pipelines.definition import pipeline
from pipelines.dog_breed import GENERAL


@pipeline(name="selections")
def selections(p):
    """Scores, both selections, a report on each."""
    scored = scores(p)
    chosen = p.run(selection, dataset=scored)
    general = p.run(selection, name="general_selection", defaults=GENERAL, dataset=scored)
    p.run(report, dataset=chosen, results=chosen)
    p.run(report, name="general_report", prefix="report", dataset=general, results=general)

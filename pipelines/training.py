"""From a selected dataset to a trained and evaluated model."""

from typing import Any

from components.encoding.component import encoding
from components.evaluation.component import evaluation
from components.initialization.component import initialization
from components.opening.component import opening
from components.report.component import report
from components.sampling.component import sampling
from components.training.component import training as train
from pipelines.definition import Steps, pipeline


def stages(p: Steps, *, general: Any, breed: Any) -> Any:
    """Three stages, each from where the one before ended; then pictures and their scores."""
    model = p.run(initialization, dataset=breed)
    model = p.run(train, name="stage0", stage=0, dataset=general, model=model)
    model = p.run(train, name="stage1", stage=1, dataset=breed, model=model)
    model = p.run(train, name="stage2", stage=2, dataset=breed, model=model)
    samples = p.run(sampling, dataset=breed, model=model)
    return p.run(evaluation, dataset=breed, samples=samples)


@pipeline(name="training")
def training(p: Steps) -> None:
    """Train all stages on one dataset that a curation run made."""
    data = p.run(opening)
    encoded = p.run(encoding, dataset=data)
    scored = stages(p, general=encoded, breed=encoded)
    p.run(report, dataset=data, results=scored)

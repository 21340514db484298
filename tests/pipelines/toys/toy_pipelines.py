"""Pipelines of the toy steps."""

from toy_steps.marks.component import marks
from toy_steps.photos.component import photos

from pipelines.definition import pipeline


@pipeline(name="toy")
def toy(p):
    """Photos, marked."""
    data = p.run(photos)
    p.run(marks, dataset=data)


@pipeline(name="twice")
def twice(p):
    """Photos, marked twice: with options of each use, and one fixed."""
    data = p.run(photos, defaults={"rows": 5})
    first = p.run(marks, name="first", dataset=data, strategy="centre")
    p.run(marks, name="second", dataset=first.outputs["result"], defaults={"threshold": 0.25})


@pipeline(name="fork")
def fork(p):
    """Two branches of marks, of which two tasks share their options, and an end that reads one branch."""
    data = p.run(photos)
    left = p.run(marks, name="left", dataset=data)
    p.run(marks, name="right", dataset=data)
    middle = p.run(marks, name="middle", prefix="shared", dataset=left)
    p.run(marks, name="aside", prefix="shared", dataset=data)
    p.run(marks, name="end", dataset=middle)

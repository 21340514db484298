"""Writes the golden IR of every pipeline: `python tests/golden/make_ir.py`.

Code versions are replaced by the steps' names and the SDK's version is left out: both change without the
pipeline changing.
"""

from dataclasses import replace
from pathlib import Path

from pipelines.catalog import known_pipelines
from pipelines.compile import load, settings, to_ir

FOLDER = Path(__file__).parent / "ir"
PARTITIONS = (1, 3)


def golden_ir(name: str, partitions: int) -> str:
    """The IR of a pipeline, without what changes from commit to commit."""
    chosen = replace(settings(partitions=partitions), code_version=lambda step: f"code-version-of-{step}")
    lines = to_ir(load(name), chosen).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("sdkVersion:"))


def path_of(name: str, partitions: int) -> Path:
    """Its golden file."""
    return FOLDER / f"{name}-{partitions}.yaml"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for pipeline in known_pipelines():
        for count in PARTITIONS:
            path_of(pipeline, count).write_text(golden_ir(pipeline, count))
            print(path_of(pipeline, count))

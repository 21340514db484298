import pytest

from components.data.artifacts import ModelManifest
from components.data.manifest import DatasetManifest
from components.data.task import Task
from components.sampling.options import SamplingOptions
from components.sampling.step import run


def test_guidance_that_ends_before_it_starts_is_refused_by_name(tmp_path):
    common = {"name": "dogs", "id": "1" * 16, "step": "s", "code_version": "c", "options": {}, "parents": []}
    options = SamplingOptions(guidance_start=0.8, guidance_end=0.3)
    with pytest.raises(ValueError, match=r"sampling.guidance_end=0.3 is before sampling.guidance_start=0.8"):
        run(
            Task(tmp_path.as_uri()),
            DatasetManifest(rows=0, **common),
            ModelManifest(**common),
            options=options,
        )

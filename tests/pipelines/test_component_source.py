"""Every component.py is what its options say."""

import pytest

from pipelines.component_source import ROOT, component_source, steps


@pytest.mark.parametrize("step", steps())
def test_component_is_up_to_date_with_its_options(step):
    written = (ROOT / step / "component.py").read_text()
    assert written == component_source(step), "run `python -m pipelines.component_source`"


def test_every_folder_with_a_component_has_options_and_step():
    for path in ROOT.glob("*/component.py"):
        assert (path.parent / "options.py").is_file() and (path.parent / "step.py").is_file(), path

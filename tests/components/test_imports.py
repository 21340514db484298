"""Steps whose result is stored end within a second: their modules import no torch until there is work."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIGHT = [
    "initialization",
    "training",
    "sampling",
    "encoding",
    "similarity",
    "foreground",
    "selection",
    "evaluation",
]


@pytest.mark.parametrize("step", LIGHT)
def test_importing_a_step_imports_no_torch(step):
    code = f"import sys, components.{step}.step; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=120)

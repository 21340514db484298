"""Where dogflow keeps what belongs to this folder: the embedded store, runs, caches."""

import os
from pathlib import Path

HOME = "DOGFLOW_HOME"


def dogflow_home() -> Path:
    """`$DOGFLOW_HOME`, or `.dogflow` in the current directory; not created here."""
    return Path(os.environ.get(HOME) or ".dogflow").absolute()

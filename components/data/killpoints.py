"""Named points at which a test can kill the process, to prove that nothing is lost there."""

import os
import signal

KILL_AT = "DOGFLOW_KILL_AT"
_passed: dict[str, int] = {}


def killpoint(name: str) -> None:
    """SIGKILL this process at the n-th passing of `name` when `DOGFLOW_KILL_AT=name:n`; else nothing."""
    wanted = os.environ.get(KILL_AT)
    if not wanted:
        return
    point, _, count = wanted.partition(":")
    if point != name:
        return
    _passed[name] = _passed.get(name, 0) + 1
    if _passed[name] >= int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)

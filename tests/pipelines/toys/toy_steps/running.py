"""What the toy components do, so that the runner has successes, failures and waits to deal with."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from components.data.progress import Progress


class ToyError(ValueError):
    pass


def run_toy(step, arguments):
    values = {
        name: value for name, value in arguments.items() if isinstance(value, (str, int, float, list, dict))
    }
    rows = values.get("rows") or json.loads(Path(arguments["dataset"].path).read_text())["rows"]
    root = Path(values["data_root"])
    root.mkdir(parents=True, exist_ok=True)
    with (root / "calls.jsonl").open("a") as calls:
        found = {"key": os.environ.get("TOY_KEY", ""), "home": os.environ.get("DOGFLOW_HOME", "")}
        calls.write(json.dumps({"step": step, **found, **values}) + "\n")
    progress = Progress(step, rows, every_s=0)
    for _ in range(rows):
        progress.add()
    behave(values.get("behave", ""), root)
    Path(arguments["result"].path).write_text(json.dumps({"rows": rows}))
    arguments["result"].metadata.update({"count_rows": float(rows), "step": step})
    arguments["metrics"].log_metric("rows", float(rows))


def behave(how, root):
    if how == "fail":
        raise ToyError("photo_7.jpg has no dog in it: remove it.")
    if how == "break":
        raise KeyError("breed")
    if how == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "wait" or (how == "wait once" and not (root / "waiting.json").exists()):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
        (root / "waiting.json").write_text(json.dumps({"pid": os.getpid(), "child": child.pid}))
        while True:
            time.sleep(1)

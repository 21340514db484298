"""Turns compiled IR into what kfp.local's subprocess runner does well."""

from typing import Any

SUPERVISOR = ["python3", "-m", "pipelines.runners.supervise"]
# kfp.local warns about images that do not call themselves python; none is started.
_IMAGE = "python"


def localise(ir: dict[str, Any]) -> dict[str, Any]:
    """Prefix every task's command with our supervisor, and drop what has no meaning on this machine.

    Requests and caching are cluster matters (reuse comes from receipts); a retry would only repeat a wrong
    option three times, and transient faults are retried inside the code. Changes `ir` and returns it.
    """
    for executor in ir["deploymentSpec"]["executors"].values():
        if "importer" in executor:  # runs inside kfp.local: hands on what an earlier run made
            continue
        container = executor["container"]
        container["image"] = _IMAGE
        container.pop("resources", None)
        container["command"] = [*SUPERVISOR, *container["command"]]
    for component in [ir["root"], *ir["components"].values()]:
        for task in component.get("dag", {}).get("tasks", {}).values():
            task.pop("retryPolicy", None)
            task.pop("cachingOptions", None)
    return ir

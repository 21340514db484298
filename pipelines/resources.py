"""What each step asks of a cluster: one table, applied when a pipeline is compiled.

Local runners ignore it. Figures are requests; memory is also the limit, so that a task which outgrows it
fails alone and does not take its node with it. CPU has no limit: throttled threads would only wait.
"""

from dataclasses import dataclass

from kfp import dsl


@dataclass(frozen=True)
class Resources:
    """One step's needs.

    `retries` covers lost nodes and evictions: storage faults are retried inside the code, and a resumed task
    goes on from its receipts or checkpoint. `cache` is off where a step reads what KFP cannot see (a folder
    of photos, a reviews file), since KFP's cache would answer with yesterday's result.
    """

    cpu: str = "1"
    memory: str = "2Gi"
    gpus: int = 0
    retries: int = 2
    cache: bool = True

    def apply(self, task: dsl.PipelineTask) -> None:
        """Write them into a task."""
        task.set_cpu_request(self.cpu).set_memory_request(self.memory).set_memory_limit(self.memory)
        if self.gpus:
            task.set_accelerator_type("nvidia.com/gpu").set_accelerator_limit(self.gpus)
        task.set_retry(self.retries, backoff_duration="30s", backoff_factor=2.0, backoff_max_duration="600s")
        task.set_caching_options(enable_caching=self.cache)


RESOURCES: dict[str, Resources] = {
    #                        cpu        memory        gpus
    "ingest": Resources(cpu="2", memory="4Gi", cache=False),
    "captions": Resources(cpu="1", memory="2Gi"),
    "quality": Resources(cpu="4", memory="4Gi"),
    "duplicates": Resources(cpu="2", memory="8Gi", cache=False),
    "similarity": Resources(cpu="4", memory="12Gi", gpus=1),
    "foreground": Resources(cpu="4", memory="12Gi", gpus=1),
    "prompts": Resources(cpu="1", memory="2Gi", cache=False),
    "selection": Resources(cpu="1", memory="4Gi", cache=False),
    "encoding": Resources(cpu="4", memory="16Gi", gpus=1),
    "training": Resources(cpu="8", memory="48Gi", gpus=1, retries=5),
    "sampling": Resources(cpu="4", memory="16Gi", gpus=1),
    "evaluation": Resources(cpu="4", memory="16Gi", gpus=1),
}


def resources_of(step: str) -> Resources:
    """The step's row, or the defaults for a step that has none."""
    return RESOURCES.get(step, Resources())

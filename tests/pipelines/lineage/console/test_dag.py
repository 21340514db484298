"""A run as boxes: its pipeline's file says what needs what, its record how each task is."""

import pytest

from pipelines.launch import plan
from pipelines.lineage.console.catalog import Catalog
from pipelines.lineage.console.dag import Dags, TaskBox
from pipelines.runs.record import TaskRecord
from pipelines.values import resolve


@pytest.fixture
def planned(toys, home, tmp_path, monkeypatch):
    """Lays out a run of a toy pipeline with a record and a pipeline file, without running it."""
    monkeypatch.setattr("pipelines.compile.code_version", lambda step: f"code-of-{step}")
    catalog = Catalog(home)

    def make(name, partitions=1, **fields):
        import toy_pipelines

        pipeline = getattr(toy_pipelines, name)
        values = resolve(pipeline, assignments=[], given={"data_root": str(tmp_path / "data")})
        made = plan(pipeline, values, partitions=partitions, runner="subprocess")
        record = made.record.model_copy(update=fields)
        catalog.runs.save(record)
        (catalog.runs.folder_of(record.run_id) / "pipeline.yaml").write_text(made.ir)
        return record

    return Dags(catalog), make


def test_a_run_that_has_not_begun_shows_its_whole_graph(planned):
    dags, make = planned
    record = make("fork")
    needs = dags.units(record).needs
    assert needs["left"] == ("photos",)
    assert {box.name: box.state for box in dags.boxes(record)} == dict.fromkeys(needs, "pending")
    assert {box.id for box in dags.drawing(record).boxes} == set(needs)


def test_the_parts_of_a_split_task_are_one_box(planned):
    dags, make = planned
    record = make("toy", partitions=3)
    name = next(name for name, tasks in dags.units(record).tasks.items() if len(tasks) == 4)
    parts = [task for task in record.tasks if task.name.startswith(f"{name}.")]
    box = next(box for box in dags.boxes(record) if box.name == name)
    assert (box.parts, box.parts_done, box.state) == (4, 0, "pending")
    parts[0].state = "succeeded"
    box = next(box for box in dags.boxes(record) if box.name == name)
    assert (box.parts_done, box.state) == (1, "running")
    parts[1].state, parts[1].error = "failed", "It broke."
    box = next(box for box in dags.boxes(record) if box.name == name)
    assert (box.state, box.task, box.error) == ("failed", parts[1].name, "It broke.")


def test_a_rerun_shows_the_graph_of_the_run_it_goes_back_to(planned):
    dags, make = planned
    first = make("fork")
    rerun = make("toy", parent_run=first.run_id)
    rerun.tasks = first.tasks
    assert dags.units(rerun).needs == dags.units(first).needs


def test_a_run_without_a_pipeline_file_shows_what_its_tasks_took(gallery):
    dags = Dags(Catalog(gallery.home))
    assert dags.units(gallery.record).needs == {
        "ingest": (),
        "captions": ("ingest",),
        "quality": ("captions",),
        "duplicates": ("quality",),
        "selection": ("duplicates",),
    }


@pytest.mark.parametrize("text", ["", "{", "root: 3", "- a", "!!python/object:os.system x", "\xff\xfe"])
def test_a_damaged_pipeline_file_is_passed_over(planned, text):
    dags, make = planned
    record = make("toy")
    path = dags._catalog.runs.folder_of(record.run_id) / "pipeline.yaml"
    path.write_bytes(text.encode("latin-1"))
    record.tasks.append(TaskRecord(name="more", step="more"))
    assert "more" in dags.units(record).needs


@pytest.mark.parametrize(
    ("progress", "error", "work"),
    [
        ("", "", "running"),
        ("12/48 rows, 7 rows/s", "", "12/48 rows, 7 rows/s"),
        ("150/150 steps, 1.74 steps/s, loss 0.29, 27 images/s", "", "150/150 steps, 1.74 steps/s"),
        ("12/48 rows", "It broke\nhere.", "It broke here."),
        ("", "x" * 100, "x" * 32 + "…"),
    ],
)
def test_what_a_box_says_fits_into_it(progress, error, work):
    box = TaskBox("t", "t", "t", "running", 0, 0, 1, progress, error)
    assert box.work == work

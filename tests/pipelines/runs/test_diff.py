"""What two runs differ in; rows that came and went, against planted verdicts."""

import json

import pytest
from PIL import Image

from components.data.storage import open_store
from components.data.task import Task, add_whole_group
from components.selection.options import SelectionOptions
from pipelines import cli
from pipelines.runners.bare import run_step
from pipelines.runs.diff import ABSENT, Change, changes, diff, rows_changed
from pipelines.runs.diff_page import diff_page
from pipelines.runs.record import ArtifactRecord, RunError, RunRecord, Runs, TaskRecord

HOSTILE = '<script>alert("x")</script>'


@pytest.fixture
def root(tmp_path):
    return (tmp_path / "data").as_uri()


@pytest.fixture
def ingested(tmp_path, root):
    """Ingests pictures 0.png, 1.png ... of one colour each; the hostile caption is on every one."""

    def run(count, name="set"):
        folder = tmp_path / f"{name}-{count}"
        folder.mkdir()
        rows = []
        for number in range(count):
            Image.new("RGB", (40, 30), (number * 20, 90, 10)).save(folder / f"{number}.png")
            rows.append({"file": f"{number}.png", "caption": HOSTILE})
        (folder / "captions.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
        return run_step("ingest", [], root, {"source": str(folder), "name": name})

    return run


@pytest.fixture
def judge(root):
    """Selects with planted verdicts: reasons by source_uri, none for those that are kept."""

    def run(dataset, verdicts, marker):
        from components.data.shards import read_table

        task = Task(root)
        rows = read_table(task.store, dataset, ["image_id", "source_uri"]).to_pylist()
        reasons = [verdicts.get(row["source_uri"], []) for row in rows]
        return add_whole_group(
            task,
            dataset,
            step="selection",
            options=SelectionOptions(breed_cap=marker),
            columns=["keep", "reasons", "tier"],
            compute=lambda: {
                "image_id": [row["image_id"] for row in rows],
                "keep": [not why for why in reasons],
                "reasons": reasons,
                "tier": [1] * len(rows),
            },
            count=lambda table: {"kept": sum(table.column("keep").to_pylist())},
        )

    return run


def uris(rows):
    return {row.source_uri: row.reasons for row in rows}


def test_rows_come_and_go_with_the_reason_of_the_other_run(ingested, judge, root):
    data = ingested(5)
    before = judge(data, {"0.png": ["blur"], "1.png": ["small", "blur"]}, 1)
    after = judge(data, {"1.png": ["small"], "3.png": ["color", "small"]}, 2)
    store = open_store(root)
    found = rows_changed(store, before, store, after)
    assert (found.kept_before, found.kept_after) == (3, 3)
    assert uris(found.came) == {"0.png": ["blur"]}
    assert uris(found.went) == {"3.png": ["color", "small"]}
    back = rows_changed(store, after, store, before)
    assert (back.came, back.went) == (found.went, found.came)
    same = rows_changed(store, before, store, before)
    assert (same.kept_before, same.kept_after, same.came, same.went) == (3, 3, [], [])


def test_rows_that_the_other_dataset_does_not_have_are_absent(ingested, judge, root):
    store = open_store(root)
    before, after = judge(ingested(2, "a"), {"1.png": ["blur"]}, 1), judge(ingested(4, "b"), {}, 1)
    found = rows_changed(store, before, store, after)
    assert uris(found.came) == {"1.png": ["blur"], "2.png": [ABSENT], "3.png": [ABSENT]}
    assert found.went == []


def test_changes_are_the_entries_that_differ():
    assert changes({"a": 1, "b": 2, "gone": 0}, {"a": 1, "b": 3, "new": None, "more": 4}) == {
        "b": Change(2, 3),
        "more": Change(None, 4),
        "gone": Change(0, None),
    }


@pytest.fixture
def two_runs(home, ingested, judge, root):
    """Two runs' records over the planted verdicts, the second with a split quality step that failed."""
    data = ingested(4)

    def save(run_id, dataset, cap, tasks, version):
        result = ArtifactRecord(type="t", path="", metadata={"data_uri": f"{root}/{dataset.path}"})
        metrics = ArtifactRecord(type="system.Metrics", path="", metadata={"kept": float(cap)})
        selection = TaskRecord(
            name="selection",
            step="selection",
            state="reused" if tasks else "succeeded",
            outputs={"result": result, "metrics": metrics},
        )
        Runs(home).save(
            RunRecord(
                run_id=run_id,
                pipeline="toy",
                runner="subprocess",
                state="succeeded",
                started_at="2025-01-31T10:00:00+00:00",
                data_root=root,
                options={"selection": {"breed_cap": cap, "breed_min": 0}},
                code_versions={"selection": version},
                tasks=[*tasks, selection],
            )
        )

    done = TaskRecord(name="quality", step="quality", state="succeeded")
    save("20250131-a", judge(data, {}, 4), 4, [], "v1")
    split = [done.model_copy(update={"name": name}) for name in ("quality.0", "quality-merge")]
    save("20250131-b", judge(data, {"2.png": ["blur"]}, 3), 3, split, "v2")
    return "20250131-a", "20250131-b"


def test_runs_differ_in_options_code_tasks_counters_and_rows(home, two_runs):
    found = diff(home, *two_runs)
    assert found.options == {"selection.breed_cap": Change(4, 3)}
    assert found.code_versions == {"selection": Change("v1", "v2")}
    assert found.tasks == {"quality": Change(None, "succeeded")}
    assert found.counters == {"selection.kept": Change(4.0, 3.0)}
    assert uris(found.rows["selection"].went) == {"2.png": ["blur"]} and not found.rows["selection"].came
    assert json.loads(json.dumps(found.to_dict()))["rows"]["selection"]["went"][0]["row"] == 2


def test_the_page_shows_the_photos_and_foreign_text_as_text(home, two_runs):
    page = diff_page(home, diff(home, *two_runs))
    assert page.count("data:image/jpeg;base64,") == 1
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "Went: 1" in page and "Came: 0" in page


def test_the_command_prints_plain_text_json_or_a_page(two_runs, tmp_path, capsys):
    page = tmp_path / "new/page.html"
    assert cli.main(["diff", *two_runs, "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert "  selection.breed_cap  4 -> 3" in out and "  - 2.png  blur" in out
    assert "4 -> 3 kept, 0 came, 1 went" in out and "\x1b" not in out
    assert "data:image/jpeg" in page.read_text()
    assert cli.main(["diff", *two_runs, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["options"]["selection.breed_cap"] == {"before": 4, "after": 3}
    assert cli.main(["diff", two_runs[0], two_runs[0]]) == 0
    assert "Nothing is different." in capsys.readouterr().out


def test_unknown_runs_and_data_that_is_gone(home, two_runs, root):
    with pytest.raises(RunError, match="No run begins with 'x'"):
        diff(home, two_runs[0], "x")
    store = open_store(root)
    for entry in list(store.list("")):
        if "/manifests/selection-" in entry.path:
            store.delete(entry.path)
    found = diff(home, *two_runs)
    assert found.rows == {} and "The rows of selection cannot be compared" in found.notes[0]

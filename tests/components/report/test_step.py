"""The report of a real dataset, made by the real steps: its numbers, its photos, its timings, its page."""

import base64
import importlib.util
import io
import json
import re

import cv2
import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from components.data.artifacts import EvaluationManifest, ModelManifest, StoredFile
from components.data.manifest import DatasetManifest, ManifestError, sha256_hex
from components.data.shards import read_table, write_file
from components.data.storage import open_store
from components.report import step as report_step
from components.report.data import ReportError
from components.report.options import ReportOptions
from components.report.thumbnails import read_images, thumbnail, thumbnails


def cells(page, title):
    """{first cell: the other cells} of the table under a heading, without markup."""
    table = page.split(f"<h3>{title}</h3>")[1].split("</table>")[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in table.split("<tr>")[2:]]
    texts = [[re.sub(r"<[^>]+>", "", cell).strip().replace(",", "") for cell in row] for row in rows]
    return {row[0]: row[1:] for row in texts if row}


def test_the_artifact_is_the_stored_page_itself(made, report):
    file = report.manifest.files["page"]
    data = made.task.store.read(file.path)
    assert file.path == f"demo/reports/{report.manifest.id}/report.html"
    assert data.decode() == report.page and sha256_hex(data) == file.sha256
    assert report.page.startswith("<!doctype html>")


def test_totals_and_rule_counts_equal_the_counters_of_selection(made, report):
    counters = made.dataset.counters
    shown = re.findall(r'<div class="card total[^>]*>.*?<b>([\d,]+)</b>', report.page)
    assert [int(value.replace(",", "")) for value in shown] == [
        counters[name] for name in ("rows", "kept", "rejected", "errors")
    ]
    assert counters["rejected"] > 10 and counters["errors"] > 0
    fails = {rule: int(row[-2]) for rule, row in cells(report.page, "Rows that fail a rule").items()}
    reasons = {
        name.removeprefix("reason_"): value
        for name, value in counters.items()
        if name.startswith("reason_") and name != "reason_undecodable"
    }
    assert {rule: count for rule, count in fails.items() if count} == reasons
    assert {"min_side_px", "laplacian_variance", "color_shift", "caption_words_min"} <= set(reasons)


def test_the_funnel_ends_with_the_kept_rows(made, report):
    funnel = cells(report.page, "Funnel")
    assert int(list(funnel.values())[-1][-1]) == made.dataset.counters["kept"]


def score_card(page, column):
    return page.split(f'id="score-{column}"')[1].split("</article>")[0]


def shown_values(card, title):
    part = card.split(f">{title}</span>")[1].split("</ul>")[0]
    return [
        float(v.replace(",", "")) for v in re.findall(r'<span class="value">\s*<span>([^<]+)</span>', part)
    ]


def test_the_photos_of_a_score_are_those_nearest_to_its_limit(made, report):
    values = read_table(made.task.store, made.dataset, ["laplacian_variance"]).column(0).to_pylist()
    scored = sorted(value for value in values if value is not None)
    outside = [value for value in scored if value < 100][::-1][:6]
    inside = [value for value in scored if value >= 100][:6]
    card = score_card(report.page, "laplacian_variance")
    assert shown_values(card, "Just outside") == pytest.approx(outside, rel=1e-3)
    assert shown_values(card, "Just inside") == pytest.approx(inside, rel=1e-3)
    assert len(outside) > 2 and len(inside) == 6
    assert card.count("data:image/jpeg;base64,") == len(outside) + 6


def test_the_shorter_side_is_that_of_the_pictures(made, report):
    table = read_table(made.task.store, made.dataset, ["width_px", "height_px"])
    sides = [min(pair) for pair in zip(*table.to_pydict().values(), strict=True) if None not in pair]
    inside = sorted(side for side in sides if side >= 128)[:6]
    assert shown_values(score_card(report.page, "min_side_px"), "Just inside") == inside


def test_every_shown_photo_is_the_one_of_its_row_at_220_px(made, report):
    """Decode what stands beside a caption, and compare it with the file that has this caption."""
    table = read_table(made.task.store, made.dataset, ["caption", "source_uri", "keep"])
    files = {}
    for row in table.to_pylist():
        files.setdefault(row["source_uri"], row)
    figures = re.findall(
        r'<img src="data:image/jpeg;base64,([^"]+)".*?class="clamp" title="([^"]+)"', report.page, re.DOTALL
    )
    assert len(figures) > 40
    for encoded, place in figures:
        shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGB"), float)
        original = Image.open(made.folder / "source" / place).convert("RGB")
        scale = min(1.0, 220 / max(original.size))
        assert shown.shape[:2] == (round(original.height * scale), round(original.width * scale))
        assert np.abs(shown - np.asarray(original.resize(shown.shape[1::-1]), float)).mean() < 8


def test_steps_show_how_long_the_first_run_took_and_what_differs_from_the_defaults(made, report):
    steps = report.page.split('id="steps"')[1]
    for name in ("ingest", "captions", "quality", "duplicates", "selection"):
        (seconds,) = re.findall(rf"<b>{name}</b>.*?<span class=\"num end\">([\d.]+) s", steps, re.DOTALL)
        record = next((r for r in made.dataset.history if r.step == name), made.dataset.record())
        timing = json.loads(made.task.store.read(f"demo/timings/{name}-{record.id}.json"))
        assert float(seconds) == pytest.approx(timing["seconds"], abs=0.051)
    changed = set(re.findall(r'<div class="changed"><dt class="mono">(\w+)</dt>', steps))
    assert changed == {
        "near_distance",
        "min_side_px",
        "color_shift",
        "clip_similarity",
        "foreground_ratio",
        "breed_required",
    }
    assert "rows_per_s" in steps


def test_running_again_changes_neither_timings_nor_page(made, report):
    record = next(r for r in made.dataset.history if r.step == "quality")
    path = f"demo/timings/quality-{record.id}.json"
    before = made.task.store.read(path)
    captions = next(r for r in made.dataset.history if r.step == "captions")
    parent = DatasetManifest.load(made.task.store, f"demo/manifests/captions-{captions.id}.json")
    (made.folder / "captions.json").write_bytes(parent.to_bytes())
    made.run("quality", {}, dataset=made.folder / "captions.json")
    assert made.task.store.read(path) == before
    again = report_step.run(made.task, made.dataset, made.dataset, options=ReportOptions())
    assert again == report.manifest


def test_partitions_add_up_to_the_timing_of_their_merge(made):
    captions = next(r for r in made.dataset.history if r.step == "captions")
    ingest = made.dataset.history[0]
    parent = DatasetManifest.load(made.task.store, f"demo/manifests/captions-{captions.id}.json")
    assert parent.parents == [ingest.id]
    (made.folder / "parent.json").write_bytes(parent.to_bytes())
    options = {"fixed_side_px": 256, "partitions": 2}
    for partition in (0, 1, -1):
        result = made.run("quality", {**options, "partition": partition}, dataset=made.folder / "parent.json")
    path = f"demo/timings/quality-{result.metadata['dataset_id']}.json"
    timing = json.loads(made.task.store.read(path))
    parts = [
        json.loads(made.task.store.read(entry.path)) for entry in made.task.store.list("demo/timings/parts/")
    ]
    assert [part["parts"] for part in parts] == [1, 1]
    assert timing["rows"] == made.dataset.rows == sum(part["rows"] for part in parts)
    assert timing["parts"] == 3 and timing["seconds"] >= sum(part["seconds"] for part in parts)


def test_options_change_the_id_and_what_is_shown(made, report):
    options = ReportOptions(title="My <dogs>", photos_per_side=2, thumbnail_px=64)
    other = report_step.run(made.task, made.dataset, made.dataset, options=options)
    page = made.task.store.read(other.files["page"].path).decode()
    assert other.id != report.manifest.id and "<h1>My &lt;dogs&gt;</h1>" in page
    assert len(shown_values(score_card(page, "laplacian_variance"), "Just inside")) == 2
    jpeg = base64.b64decode(re.search(r'data:image/jpeg;base64,([^"]+)"', page)[1])
    assert max(Image.open(io.BytesIO(jpeg)).size) == 64


def test_a_dataset_without_verdicts_is_refused_with_the_step_to_run(made):
    ingest = made.dataset.history[0]
    raw = DatasetManifest.load(made.task.store, f"demo/manifests/ingest-{ingest.id}.json")
    with pytest.raises(ReportError, match="run selection first"):
        report_step.run(made.task, raw, raw, options=ReportOptions())
    claimed = raw.model_copy(update={"step": "selection"})
    with pytest.raises(ManifestError, match="keep: run the step selection"):
        report_step.run(made.task, claimed, claimed, options=ReportOptions())


def stored_file(store, path, data):
    store.write(path, data)
    return StoredFile(path=path, bytes=len(data), sha256=sha256_hex(data))


@pytest.fixture(scope="module")
def evaluation(made):
    """An evaluation of a model of one stage, with a log of 50 records."""
    store = made.task.store
    log = "".join(
        json.dumps(
            {
                "step": 20 * i,
                "loss": None if i == 3 else 1 / i,
                "loss_by_t": [1.0, None, 0.5],
                "gaussian_floor_by_t": [0.4, 0.4, 0.4],
            }
        )
        + "\n"
        for i in range(1, 51)
    )
    log += json.dumps({"step": 1000, "validation_loss": 0.75, "validation_loss_by_t": [0.75]}) + "\n"
    common = {"name": "demo", "parents": ["x"], "code_version": "c0de"}
    model = ModelManifest(
        **common,
        id="a" * 16,
        step="training",
        options={"stage": 1},
        counters={"steps": 1000, "loss": 0.02, "images_per_s": 123.4, "seconds": 75.0},
        files={"log": stored_file(store, "demo/models/a/training.jsonl", log.encode())},
        history=[*made.dataset.history, made.dataset.record()],
    ).save(store)
    png = io.BytesIO()
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(png, "PNG")
    grid = stored_file(store, "demo/samples/b/grid.png", png.getvalue())
    return EvaluationManifest(
        **common,
        id="b" * 16,
        step="evaluation",
        options={},
        counters={
            "frechet_distance": 21.5,
            "frechet_floor": 3.25,
            "frechet_floor_std": 0.5,
            "breed_accuracy": 0.875,
            "classifier_accuracy_real": 0.96,
            "real_images": 38.0,
        },
        files={"grid": grid, "nearest": grid},
        details={
            "extractor": "demo CLIP",
            "is_fid": False,
            "per_breed": {"pug": [14, 16]},
            "notes": ["few & real"],
        },
        history=[*model.history, model.record()],
    )


def test_a_report_with_an_evaluation_shows_metrics_losses_pictures_and_breeds(made, report, evaluation):
    full = report_step.run(made.task, made.dataset, evaluation, options=ReportOptions())
    assert full.id != report.manifest.id and full.parents == [made.dataset.id, evaluation.id]
    page = made.task.store.read(full.files["page"].path).decode()
    metrics = cells(page, "Evaluation")
    assert list(metrics) == ["frechet_distance", "breed_accuracy"]
    assert metrics["frechet_distance"][0] == "21.5"
    assert metrics["frechet_distance"][1].startswith("3.25 ± 0.5") and "not FID: demo CLIP" in page
    assert metrics["breed_accuracy"] == ["87.5%", "96.0% on held-out real photos"]
    assert cells(page, "Breed accuracy of generated pictures")["pug"][-2:] == ["87.5%", "14 / 16"]
    assert page.count("data:image/png;base64,") == 2 and "few &amp; real" in page
    assert "Stage 1, breed-aware" in page and "1 min 15 s" in page
    curve = page.split("Stage 1, breed-aware")[1].split('class="raw" points="')[1].split('"')[0]
    assert len(curve.split()) == 49
    model = page.split("Stage 1, breed-aware")[1].split("</section>")[0]
    assert model.count('class="dot"') == 1 and "0.75 on held-out photos" in model
    assert "Loss by noise level: 1 near noise, 0.5 near the picture" in model
    steps = re.findall(r"<summary><span><b>([\w ]+)</b>", page)
    assert steps == [
        *("ingest", "captions", "quality", "duplicates", "selection"),
        *("training stage 1", "evaluation"),
    ]
    assert re.search(r"<b>training stage 1</b>.*?1 min 15 s", page.split('id="steps"')[1], re.DOTALL)


def test_a_damaged_picture_is_an_error_that_names_it(made, evaluation):
    bad = evaluation.files["grid"].model_copy(update={"sha256": "0" * 64})
    broken = evaluation.model_copy(update={"id": "d" * 16, "files": {"grid": bad}})
    with pytest.raises(ReportError, match=r"grid\.png is damaged"):
        report_step.run(made.task, made.dataset, broken, options=ReportOptions())


def test_thumbnails_come_from_the_rows_of_their_ids_in_every_shard(made):
    """One photo of each shard, of all row groups; the first, last and one that is not there."""
    ids = read_table(made.task.store, made.dataset, ["image_id"]).column(0)
    offsets = np.cumsum([0, *(file.rows for file in made.dataset.groups["images"].shards)])
    assert len(offsets) > 3
    wanted = [ids[int(row)].as_py() for row in [*offsets[:-1], offsets[-1] - 1]]
    found = thumbnails(made.task.store, made.dataset, ids, [*wanted, "no such id"], 32, 2)
    readable = [key for key in wanted if key in found]
    assert len(readable) >= 3 and "no such id" not in found
    for key in readable:
        assert max(Image.open(io.BytesIO(found[key])).size) == 32


def test_rows_are_read_from_the_middle_of_row_groups(store_uri):
    rows = 230
    table = pa.table(
        {"image": pa.array([b"%03d" % i if i != 7 else None for i in range(rows)], pa.large_binary())}
    )
    store = open_store(store_uri)
    file = write_file(store, "images", "k", table).file
    wanted = [0, 7, 99, 100, 150, 229]
    assert list(read_images(store, file, wanted)) == [(i, b"%03d" % i) for i in wanted if i != 7]


def test_a_wide_photo_keeps_its_shape():
    wide = np.zeros((300, 3000, 3), np.uint8)
    wide[:, 1500:] = (255, 0, 0)
    data = thumbnail(cv2.imencode(".png", wide[:, :, ::-1])[1].tobytes(), 220)
    small = np.asarray(Image.open(io.BytesIO(data)))
    assert small.shape == (22, 220, 3)
    assert small[:, :100].mean() < 8 and small[:, 120:, 0].mean() > 240
    assert thumbnail(b"no picture", 220) == b""


def test_options_are_read_without_heavy_libraries():
    """Compiling reads options.py alone."""
    source = importlib.util.find_spec("components.report.options").loader.get_source(
        "components.report.options"
    )
    assert re.findall(r"^(?:from|import) (\S+)", source, re.MULTILINE) == ["components.data.options"]

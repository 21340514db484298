import importlib.util
import itertools
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from components.report.data import AT_LEAST, ReportData, ReportError, Rule, Threshold
from components.report.page import render_report

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
VOID = {"meta", "link", "img", "br", "hr", "input"}


def load_golden():
    spec = importlib.util.spec_from_file_location("make_report", GOLDEN / "make_report.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def golden():
    return load_golden()


@pytest.fixture(scope="module")
def page(golden):
    return render_report(golden.report_data())


class Outline(HTMLParser):
    """Collects tags with attributes, visible text per tag, and checks that tags close in order."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        if data.strip() and "style" not in self.open:
            self.texts.append(data.strip())


@pytest.fixture(scope="module")
def outline(page):
    parser = Outline()
    parser.feed(page)
    parser.close()
    assert not parser.open
    return parser


def test_the_report_is_the_golden_one(page):
    assert page == (GOLDEN / "report.html").read_text(encoding="utf-8"), "run make_report.py and look"


def test_totals_in_the_page_add_up_to_the_ingested_rows(golden, outline):
    rows = golden.rows()
    kept = pc.sum(rows["keep"]).as_py()
    errors = sum("undecodable" in r for r in rows["reasons"].to_pylist())
    start = outline.texts.index("Ingested")
    totals = outline.texts[start : start + 12]
    shown = [int(totals[i]) for i in (1, 4, 7, 10)]
    assert shown == [rows.num_rows, kept, rows.num_rows - kept - errors, errors]
    assert shown[1] + shown[2] + shown[3] == shown[0]


def test_the_funnel_ends_with_the_kept_rows(golden, page):
    funnel = page.split("<h3>Funnel</h3>")[1].split("</table>")[0]
    numbers = [int(n.replace(",", "")) for n in re.findall(r'<td class="num">([\d,]+)</td></tr>', funnel)]
    drops = [int(n.replace(",", "")) for n in re.findall(r'<td class="num">−([\d,]+)</td>', funnel)]
    rows = golden.rows()
    assert (numbers[0], numbers[-1]) == (rows.num_rows, pc.sum(rows["keep"]).as_py())
    assert numbers[0] - sum(drops) == numbers[-1]


def test_nothing_is_requested_and_nothing_can_run(outline):
    assert not {tag for tag, _ in outline.tags} & {
        "script",
        "link",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
    }
    for tag, attributes in outline.tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        for name in ("src", "href", "srcset", "action"):
            assert (attributes.get(name) or "#").startswith(("#", "data:image/jpeg;", "data:image/png;"))
    policy = next(a["content"] for t, a in outline.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")


def test_hostile_text_is_shown_and_not_obeyed(page, outline):
    assert "<script" not in page and "<b>Not an image" not in page
    assert not {"\x00", "\u202e"} & set(page)
    shown = " ".join(outline.texts)
    assert "<script>alert('caption')</script>" in shown
    assert "<b>Not an image</b>" in shown
    assert "Curation report: dogs <golden>" in shown


def test_every_picture_and_chart_has_a_text_alternative_and_every_link_a_target(outline):
    for tag, attributes in outline.tags:
        if tag == "img":
            assert attributes["alt"]
        if tag == "svg":
            assert attributes.get("aria-label") or attributes.get("aria-hidden") == "true"
    ids = [attributes["id"] for _, attributes in outline.tags if attributes.get("id")]
    assert len(ids) == len(set(ids))
    targets = {a["href"][1:] for tag, a in outline.tags if tag == "a"}
    assert targets <= set(ids)


def test_headings_descend_without_gaps(outline):
    levels = [int(tag[1]) for tag, _ in outline.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_photos_beside_a_threshold_are_the_nearest_ones(golden, page):
    section = page.split('id="score-clip_similarity"')[1].split("</article>")[0]
    outside, inside = section.split("Just inside")
    values = np.array(golden.rows()["clip_similarity"].to_pylist(), dtype=float)
    values = values[np.isfinite(values)]

    def shown(text):
        return [float(v) for v in re.findall(r'<span class="value">\s*<span>([\d.]+)</span>', text)]

    below = np.sort(values[values < 0.28])[::-1][:6]
    above = np.sort(values[values >= 0.28])[:6]
    assert shown(outside) == [float(f"{v:.4g}") for v in below]
    assert shown(inside) == [float(f"{v:.4g}") for v in above]


def million(size):
    generator = np.random.default_rng(0)
    blur = generator.lognormal(6, 1, size).astype(np.float32)
    clip = generator.normal(0.3, 0.04, size).astype(np.float32)
    fails = np.stack([blur < 100, clip < 0.28])
    offsets = np.r_[0, np.cumsum(fails.sum(axis=0))].astype(np.int32)
    names = pa.array(["laplacian_variance", "clip_similarity"]).take(pa.array(np.nonzero(fails.T)[1]))
    return pa.table(
        {
            "image_id": pa.array(np.arange(size)).cast(pa.string()),
            "caption": pa.array(np.full(size, "a dog")),
            "breed": pa.array(generator.integers(0, 120, size)).cast(pa.string()),
            "laplacian_variance": blur,
            "clip_similarity": clip,
            "keep": ~fails.any(axis=0),
            "reasons": pa.ListArray.from_arrays(offsets, names),
        }
    )


def big_report(rows, thumbnail=lambda image_id: None):
    rules = [
        Rule("laplacian_variance", "quality", "", Threshold("laplacian_variance", AT_LEAST, 100)),
        Rule("clip_similarity", "similarity", "", Threshold("clip_similarity", AT_LEAST, 0.28)),
    ]
    return ReportData("Big", rows, rules, [], thumbnail)


def test_a_million_rows_take_seconds_and_few_thumbnails():
    asked = []
    rows = million(1_000_000)

    def thumbnail(image_id):
        asked.append(image_id)

    page = render_report(big_report(rows, thumbnail))
    assert f"{pc.sum(rows['keep']).as_py():,}" in page
    assert len(asked) < 100
    assert len(page) < 400_000


def test_photos_beyond_the_size_budget_are_left_out_and_said_so():
    page = render_report(big_report(million(2000), lambda image_id: b"\xff\xd8\xff" + bytes(200_000)))
    assert len(page) < 5_000_000
    assert page.count("data:image/jpeg") == 14
    assert re.search(r"(\d+) photos were left out", page)[1] == "22"


def test_a_thumbnail_that_is_no_jpeg_is_not_embedded():
    page = render_report(big_report(million(200), lambda image_id: b"<svg onload=alert(1)>"))
    assert "data:image" not in page and "no thumbnail" in page


def test_an_empty_dataset_has_a_report():
    page = render_report(big_report(million(10).slice(0, 0)))
    assert "No row has this score." in page and "Every file could be read" in page


def test_missing_columns_are_named():
    with pytest.raises(ReportError, match="'reasons'"):
        big_report(million(10).drop_columns("reasons"))
    with pytest.raises(ReportError, match="'clip_similarity'"):
        render_report(big_report(million(10).drop_columns("clip_similarity")))

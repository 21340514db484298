import re
import shutil
import subprocess
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "report.html"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --allow-file-access-from-files --virtual-time-budget=4000"""
# The page may not run scripts, so a page around it measures: the widest content, and the smallest chart text.
PROBE = """<body style="margin:0">
<iframe src="report.html" style="border:0;width:{width}px;height:900px"></iframe>
<script>onload = () => {{
  const page = document.querySelector("iframe").contentDocument, chart = page.querySelector(".chart");
  const scale = chart.getBoundingClientRect().width / chart.viewBox.baseVal.width;
  const size = parseFloat(getComputedStyle(chart.querySelector("text")).fontSize) * scale;
  document.title = `width=${{page.documentElement.scrollWidth}} text=${{size.toFixed(1)}}`;
}}</script></body>"""


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize("width", [390, 768, 1200])
@pytest.mark.parametrize("kind", ["planted", "demo"])
def test_nothing_is_wider_than_the_screen_and_chart_text_stays_legible(kind, width, report, tmp_path):
    page = GOLDEN.read_text(encoding="utf-8") if kind == "planted" else report.page
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    (tmp_path / "probe.html").write_text(PROBE.format(width=width))
    command = [CHROMIUM, *FLAGS.split(), f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    command.append((tmp_path / "probe.html").as_uri())
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    measured = re.search(r"width=(\d+) text=([\d.]+)", dom)
    assert measured, dom[:500]
    assert int(measured[1]) <= width
    assert float(measured[2]) >= 10

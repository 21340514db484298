"""Pages from templates: everything foreign is escaped, and shown without characters that act on others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from components.report import charts, wording
from pipelines.runners.view import duration

FOLDER = Path(__file__).parent
REPORT_TEMPLATES = Path(charts.__file__).with_name("templates")
PAGES = sorted(path.name for path in (FOLDER / "templates").glob("*.j2"))
LONGEST_TEXT = 2_000  # of one value in a page; the whole stands in the data


class Pages:
    """The console's templates. `csrf` is the token that its pages send along with what they change."""

    def __init__(self, csrf: str) -> None:
        self._environment = jinja2.Environment(
            loader=jinja2.ChoiceLoader(
                [
                    jinja2.FileSystemLoader(FOLDER / "templates"),
                    jinja2.PrefixLoader({"report": jinja2.FileSystemLoader(REPORT_TEMPLATES)}),
                ]
            ),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=lambda value: shown(value) if type(value) is str else value,
        )
        self._environment.filters.update(
            number=wording.number,
            precise=wording.precise,
            percent=wording.percent,
            duration=duration,
            option=wording.option_value,
            segment=segment,
            when=when,
            lines=lines,
        )
        self._environment.globals.update(charts=charts, csrf=csrf)
        # Compiled now, so that no page's first reader waits for it.
        self._templates = {name: self._environment.get_template(name) for name in PAGES}

    def render(self, template: str, content: Mapping[str, Any], status: int = 200) -> HTMLResponse:
        """A template with its content as an answer."""
        return HTMLResponse(self._templates[template].render(content), status)


def shown(text: str) -> str:
    """Foreign text as a page shows it: printable, and cut where it is very long."""
    text = wording.printable(text)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}… ({len(text):,} characters)"


def lines(text: str) -> Markup:
    """Foreign text of many lines, for a `pre`: each line printable, nothing cut."""
    return escape("\n".join(wording.printable(line) for line in text.splitlines()))


def segment(text: str) -> str:
    """Text as one segment of a path."""
    return quote(text, safe="")


def when(iso: str) -> str:
    """`2026-01-31T14:22:33.123+00:00` -> `2026-01-31 14:22`."""
    return iso[:16].replace("T", " ")

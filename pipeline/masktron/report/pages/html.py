"""Pages as HTML, all of a run or none: one template, one style sheet, and a little script that nobody needs."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from masktron.report.pages.page import Page
from masktron.report.pictures.canvas import Sketch, require_drawing, svg_of
from masktron.report.text import printable
from masktron.resources import packaged_text
from masktron.write.atomic import atomic_path


def template_environment(folder: str) -> jinja2.Environment:
    """Return the environment of templates in a folder that comes with the package."""
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: packaged_text(f"{folder}/{name}")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_harmless,
    )


def _harmless(value: Any) -> Any:
    """Show what a browser would obey, such as a change of direction, as escapes; ours is markup already."""
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return printable(value)


_KINDS = {
    "str": "text",
    "Mark": "mark",
    "tuple": "marks",
    "Ranged": "ranged",
    "Sentences": "sentences",
    "Listing": "listing",
    "FactRow": "facts",
    "ResultTable": "table",
    "PagePicture": "picture",
    "PictureRow": "pictures",
}

_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*(?:=[A-Za-z0-9_.]+)?)")


def html_of(page: Page) -> str:
    """Turn a page into one HTML file: no request leaves it, and the same page gives the same text.

    Raises
    ------
    UsageError
        It has pictures, and matplotlib is not installed.
    """
    if page.pictures:
        require_drawing()
    names = [picture.name for picture in page.pictures]
    if len({*names}) < len(names):
        raise ValueError("two pictures of a page have one name")
    script = packaged_text("report/pages/page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _environment().get_template("page.html").render(
        page=page,
        style=Markup(packaged_text("report/pages/page.css")),  # noqa: S704 -- ours
        script=Markup(script),  # noqa: S704 -- ours
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'",
        version=version("masktron"),
    )  # fmt: skip


def heart_of(page: Page) -> str:
    """Return the answer, the facts and the first table of a page, for a notebook."""
    return _environment().get_template("heart.html").render(page=page)


@cache
def _environment() -> jinja2.Environment:
    found = template_environment("report/pages")
    found.globals["kind_of"] = lambda part: _KINDS[type(part).__name__]
    found.globals["svg"] = _svg
    found.globals["worded"] = _worded
    found.globals["breakable"] = _breakable
    return found


def _worded(text: str) -> Markup:
    """Escape a text, and set options of the command line so that they are not broken over lines."""
    return Markup(_OPTION.sub(r"<code>\1</code>", str(escape(printable(text)))))  # noqa: S704 -- escaped before


def _breakable(text: str) -> Markup:
    """Let a browser break a name after an underscore, and not within its words."""
    return Markup(str(_worded(text)).replace("_", "_<wbr>"))  # noqa: S704 -- escaped before


def _svg(sketch: Sketch, name: str) -> Markup:
    return Markup(svg_of(sketch, name))  # noqa: S704 -- matplotlib and ElementTree escape texts


def write_pages(pages: Mapping[Path, Page]) -> None:
    """Write pages; one for others may be read by others, all else by its owner alone.

    Raises
    ------
    DocumentError
        One cannot be written: then none is.
    UsageError
        matplotlib is not installed.
    """
    texts = {path: html_of(page) for path, page in pages.items()}
    with ExitStack() as stack:
        for path, page in pages.items():
            place = stack.enter_context(atomic_path(path, released=page.edition == "public"))
            place.write_text(texts[path], encoding="utf-8", newline="\n")

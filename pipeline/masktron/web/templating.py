"""Templates: all that is put into one is escaped, and nothing of it is obeyed by a browser or by a reader's eye."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

import jinja2
from markupsafe import Markup

from masktron.report.text import printable
from masktron.resources import packaged_text
from masktron.web.browser_words import column_words, in_browser


def rendered(template: str, **context: Any) -> str:
    """Return a template of ``templates/`` filled in.

    Raises
    ------
    jinja2.UndefinedError
        It names something that it was not given.
    """
    return _environment().get_template(template).render(**context)


@cache
def _environment() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: packaged_text(f"web/templates/{name}")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_harmless,
    )
    found.globals["version"] = version("masktron")
    found.filters["bytes"] = amount
    found.filters["clock"] = clock
    found.filters["in_browser"] = in_browser
    found.filters["column"] = column_words
    found.filters["when"] = when
    found.filters["cut"] = cut
    return found


def amount(size: int) -> str:
    """Return a number of bytes for the eye: ``312 MB``."""
    found = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if found < 1000 or unit == "GB":
            return f"{found:.0f} {unit}" if unit == "bytes" or found >= 10 else f"{found:.1f} {unit}"
        found /= 1000
    raise AssertionError


def clock(seconds: float) -> str:
    """Return a time in minutes and seconds, or hours: ``1:05``, ``2:00:09``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def cut(text: Any, longest: int) -> Any:
    """Return the beginning of a long text; what is no text as it is."""
    return f"{text[:longest]}…" if isinstance(text, str) and len(text) > longest else text


def when(time: str) -> str:
    """Return a time of a history for the eye: to the minute, in UTC."""
    return f"{time[:16].replace('T', ' ')} UTC" if time else "-"


def _harmless(value: Any) -> Any:
    """Show what a browser would obey, such as a change of direction, as escapes; ours is markup already."""
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return printable(value)

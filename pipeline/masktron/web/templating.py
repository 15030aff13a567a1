"""Templates: all that is put into one is escaped, and nothing of it is obeyed by a browser or by a reader's eye."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

import jinja2

from masktron.report.pages.html import template_environment
from masktron.sources.record_layout import column_name


def rendered(template: str, **context: Any) -> str:
    """Return a template of ``templates/`` filled in.

    Raises
    ------
    jinja2.UndefinedError
        It names something that it was not given.
    """
    return web_environment().get_template(template).render(**context)


@cache
def web_environment() -> jinja2.Environment:
    """Return what fills templates in."""
    found = template_environment("web/templates")
    found.globals["version"] = version("masktron")
    found.filters["bytes"] = amount
    found.filters["clock"] = clock
    found.filters["when"] = when
    found.filters["cut"] = cut
    found.filters["as_written"] = column_name
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

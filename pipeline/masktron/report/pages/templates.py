"""Templates of pages: all that is put into one is escaped, and nothing of it is obeyed by a browser."""

from __future__ import annotations

from typing import Any

import jinja2
from markupsafe import Markup

from masktron.report.text import printable
from masktron.resources import packaged_text


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

"""Pictures in files of their own: SVG that has the colours of pages, and turns dark where its reader wants that."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from masktron.report.pictures.canvas import Sketch, svg_of
from masktron.resources import packaged_text
from masktron.write.atomic import atomic_path

_ROOT = re.compile(r":root\s*\{[^}]*\}")
_DARK = re.compile(r"@media \(prefers-color-scheme: dark\)\s*\{\s*(:root\s*\{[^}]*\})\s*\}")


def write_picture(path: Path, sketch: Sketch, name: str) -> None:
    """Draw to a file, for its owner alone.

    Parameters
    ----------
    path : Path
        What was there before stays until all is drawn.
    sketch : Sketch
    name : str
        Of the picture.

    Raises
    ------
    DocumentError
        It cannot be written.
    UsageError
        matplotlib is not installed.
    """
    text = svg_file(sketch, name)
    with atomic_path(path, released=False) as place:
        place.write_text(text, encoding="utf-8", newline="\n")


def svg_file(sketch: Sketch, name: str) -> str:
    """Return a picture as a whole file of SVG, with its colours in light and dark.

    Parameters
    ----------
    sketch : Sketch
    name : str
        As for `svg_of`.
    """
    inner = svg_of(sketch, name)
    return (
        inner.replace("<svg ", f'<svg xmlns="http://www.w3.org/2000/svg" {_FONT}', 1).replace(
            ">", f"><style>{_colours()}</style>", 1
        )
        + "\n"
    )


_FONT = "font-family=\"system-ui, 'DejaVu Sans', sans-serif\" "


@cache
def _colours() -> str:
    """Return the variables of the style sheet of pages, light and dark."""
    css = packaged_text("report/pages/page.css")
    light, dark = _ROOT.search(css), _DARK.search(css)
    if light is None or dark is None:
        raise RuntimeError("the style sheet of pages has no colours")
    return " ".join(f"{light[0]} @media (prefers-color-scheme: dark) {{ {dark[1]} }}".split())

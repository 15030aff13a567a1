"""From a sketch to SVG, on a page or in a file of its own: the same bytes for the same data, in colours of pages."""

from __future__ import annotations

import io
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Tree

from masktron.extras import library
from masktron.report.text import printable
from masktron.resources import packaged_text
from masktron.write.atomic import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes


INK = "#1d2733"
MUTED = "#55616e"
LINE = "#d3dae1"
PAPER = "#fefefe"
BEFORE = "#8a98a7"
AFTER = "#1a6e93"
WARN = "#b4470f"
SOFT = "#c9a227"

VARIABLES = MappingProxyType(
    {
        INK: "--ink",
        MUTED: "--muted",
        LINE: "--line",
        PAPER: "--paper",
        BEFORE: "--before",
        AFTER: "--after",
        WARN: "--warn",
        SOFT: "--soft",
    }
)
"""The variable of the style sheet that stands for each colour on a page, by the colour on white paper."""


LABEL = 26
"""Characters of a label that a picture shows; the table behind it has all."""
_DOTS = 72
"""Dots for each inch, so that a point of matplotlib is a pixel of the page."""
_STYLE = MappingProxyType(
    {
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": 11,
        "text.parse_math": False,
        "text.color": INK,
        "axes.edgecolor": LINE,
        "axes.labelcolor": MUTED,
        "axes.labelsize": 11,
        "axes.linewidth": 1,
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.unicode_minus": True,
        "axes.formatter.useoffset": False,
        "axes.axisbelow": True,
        "grid.color": LINE,
        "grid.linewidth": 0.8,
        "patch.edgecolor": PAPER,
        "xtick.color": LINE,
        "ytick.color": LINE,
        "xtick.labelcolor": MUTED,
        "ytick.labelcolor": INK,
        "xtick.labelsize": 10.5,
        "ytick.labelsize": 11,
        "xtick.major.size": 3,
        "ytick.major.size": 0,
        "legend.frameon": False,
        "legend.fontsize": 10.5,
        "path.simplify": False,
        "figure.facecolor": "none",
    }
)
_NO_DATE = MappingProxyType({"Date": None, "Creator": None, "Format": None, "Type": None})
_LONG = re.compile(r"-?\d+\.\d{3,}")
_SPACE = re.compile(r"\s+")
_URL = re.compile(r"url\(#([^)]+)\)")


class Sketch(ABC):
    """Data of a picture that draw themselves."""

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> tuple[int, int]:
        """Width and height in pixels, as a page shows it on a wide screen."""

    @property
    @abstractmethod
    def margins(self) -> tuple[float, float, float, float]:
        """Room around the Axes in pixels: left, right, above, below."""

    @abstractmethod
    def draw(self, ax: Axes) -> None:
        """Draw on an Axes, without a title."""

    @property
    def links(self) -> Mapping[str, str]:
        """What a mark with an address is called for those who do not see it, by the address."""
        return {}

    @property
    def narrow(self) -> Sketch | None:
        """The same picture for narrow windows; None where the wide one is shown there, too."""
        return None


def room(labels: Iterable[str], size: float = 11) -> float:
    """Return the pixels that the longest of some labels takes, with some to spare for other fonts."""
    return 0.62 * size * max((len(one) for one in labels), default=0)


def require_drawing() -> None:
    """Refuse to begin what ends with a picture where matplotlib is not installed.

    Raises
    ------
    UsageError
    """
    library("matplotlib", "a report with pictures")


def label(text: str, most: int = LABEL) -> str:
    """Return a text as a label: on one line, harmless, and not longer than pictures have room for."""
    text = printable(" ".join(text.split()))
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


@contextmanager
def styled() -> Iterator[None]:
    """Let matplotlib draw as pages want it; a font that lacks a letter is no matter, as readers have their own."""
    matplotlib = library("matplotlib", "a report with pictures")
    with matplotlib.rc_context(dict(_STYLE)), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def drawn_on(sketch: Sketch, ax: Axes | None) -> Axes:
    """Draw on the Axes that a user hands in, or on a new one in the manner of pages.

    Raises
    ------
    UsageError
        matplotlib is not installed.
    """
    plots = library("matplotlib.pyplot", "a plot")
    with styled():
        if ax is None:
            width, height = sketch.size
            _, ax = plots.subplots(figsize=(width / _DOTS, height / _DOTS), layout="constrained")
        sketch.draw(ax)
    return ax


def svg_of(sketch: Sketch, name: str) -> str:
    """Draw as SVG for the inside of an HTML page.

    Parameters
    ----------
    sketch : Sketch
    name : str
        Of the picture, unique on its page: ids in it begin with it.

    Raises
    ------
    UsageError
        matplotlib is not installed.
    """
    figures = library("matplotlib.figure", "a report with pictures")
    width, height = sketch.size
    stream = io.StringIO()
    with styled():
        library("matplotlib", "a report with pictures").rcParams["svg.hashsalt"] = name
        figure = figures.Figure(figsize=(width / _DOTS, height / _DOTS), dpi=_DOTS)
        left, right, above, below = sketch.margins
        inner = (left / width, below / height, 1 - (left + right) / width, 1 - (above + below) / height)
        sketch.draw(figure.add_axes(inner))
        figure.savefig(stream, format="svg", metadata=dict(_NO_DATE), transparent=True)
    root = Tree.fromstring(stream.getvalue())
    _cleaned(root)
    _renamed_ids(root, name)
    _named_links(root, sketch.links)
    root.attrib = {"viewBox": f"0 0 {width} {height}", "width": f"{width}", "height": f"{height}"}
    return Tree.tostring(root, encoding="unicode")


def _cleaned(root: Tree.Element) -> None:
    """Leave out namespaces, the style sheet, fonts and digits that nobody sees; colours become variables."""
    for parent in root.iter():
        for child in [child for child in parent if _bare(child.tag) in ("style", "metadata")]:
            parent.remove(child)
    for node in root.iter():
        node.tag = _bare(node.tag)
        node.text = node.text if node.tag == "text" else None
        node.tail = None
        given = {_bare(key): value for key, value in node.attrib.items() if _bare(key) not in ("target", "title")}
        if "style" in given:
            given["style"] = _colours(given["style"])
        if given.get("transform", "").startswith("rotate(-0 "):
            del given["transform"]
        node.attrib = {key: _short(value) for key, value in given.items() if value}


def _bare(name: str) -> str:
    return name.rpartition("}")[2]


def _colours(style: str) -> str:
    pairs = (entry.partition(":") for entry in style.split(";"))
    kept = {key.strip(): value.strip() for key, _, value in pairs if key.strip() != "font-family"}
    kept = {key: f"var({VARIABLES[value]})" if value in VARIABLES else value for key, value in kept.items() if key}
    if "font-size" in kept and "fill" not in kept:
        kept["fill"] = f"var({VARIABLES[INK]})"
    return ";".join(f"{key}:{value}" for key, value in kept.items())


def _short(value: str) -> str:
    return _SPACE.sub(" ", _LONG.sub(lambda found: f"{float(found[0]):.2f}", value)).strip()


def _renamed_ids(root: Tree.Element, name: str) -> None:
    """Keep ids that something in the picture refers to, under names of their own on the page."""
    used = [node.get("href", "").removeprefix("#") for node in root.iter("use")]
    used += [found for node in root.iter() for found in _URL.findall(node.get("clip-path", ""))]
    new = {old: f"{name}-{at}" for at, old in enumerate(dict.fromkeys(used))}
    for node in root.iter():
        if "id" in node.attrib:
            own = node.attrib.pop("id")
            if own in new:
                node.set("id", new[own])
        if node.tag == "use":
            node.set("href", f"#{new[node.get('href', '')[1:]]}")
        if "clip-path" in node.attrib:
            node.set("clip-path", _URL.sub(lambda found: f"url(#{new[found[1]]})", node.get("clip-path", "")))


def _named_links(root: Tree.Element, names: Mapping[str, str]) -> None:
    for node in root.iter("a"):
        said = names[node.get("href", "")]
        node.set("aria-label", said)
        title = Tree.Element("title")
        title.text = said
        node.insert(0, title)


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
            ">", f"><style>{_page_colours()}</style>", 1
        )
        + "\n"
    )


_FONT = "font-family=\"system-ui, 'DejaVu Sans', sans-serif\" "


@cache
def _page_colours() -> str:
    """Return the variables of the style sheet of pages, light and dark."""
    css = packaged_text("report/pages/page.css")
    light, dark = _ROOT.search(css), _DARK.search(css)
    if light is None or dark is None:
        raise RuntimeError("the style sheet of pages has no colours")
    return " ".join(f"{light[0]} @media (prefers-color-scheme: dark) {{ {dark[1]} }}".split())

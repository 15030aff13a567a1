"""Pages are written for a code host as well: what it reads otherwise than MyST is changed before it is read here."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

FILES_AS_PAGES = {
    "CONTRIBUTING.md": "explanation/generated/contributing",
    "CHANGELOG.md": "explanation/generated/changelog",
    "benchmarks/README.md": "explanation/generated/benchmarks",
    "tests/README.md": "explanation/generated/tests",
    "README.md": "index",
}
"""Pages that stand elsewhere in the checkout, with the document that the site makes of each."""
_LINK = re.compile(r"(!?)\[([^\]\[]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_FENCED = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", flags=re.MULTILINE | re.DOTALL)
_DOLLARS = re.compile(r"\$`([^`]+)`\$")
_ANCHOR = re.compile(r'<a id="([^"]+)">')


def site_source(text: str, place: str) -> str:
    """Return a page as the site reads it.

    Parameters
    ----------
    text : str
        As it is in the checkout.
    place : str
        Path of the page from the root of the checkout.
    """
    text = _DOLLARS.sub(lambda found: f"{{math}}`{found[1]}`", text)
    made, at = [], 0
    for code in _FENCED.finditer(text):
        made += [_links(text[at : code.start()], place), code[0]]
        at = code.end()
    return "".join(made) + _links(text[at:], place)


def _links(text: str, place: str) -> str:
    return _LINK.sub(lambda found: _link(found, place), text)


def _link(found: re.Match[str], place: str) -> str:
    picture, words, target, anchor = found[1], found[2], found[3], found[4] or ""
    if re.match(r"[a-z]+:", target) or target.startswith("/"):
        return found[0]
    named = posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
    if named in FILES_AS_PAGES:
        return f"{picture}[{words}](/{FILES_AS_PAGES[named]}.md{anchor})"
    if named.startswith("docs/"):
        if place.startswith("docs/") and not place.startswith("docs/explanation/generated"):
            return found[0]
        return f"{picture}[{words}](/{named.removeprefix('docs/')}{anchor})"
    return words if "`" in words else f"{words} (`{named}`)"  # a file of the checkout that is no page


def _read(app: Sphinx, docname: str, content: list[str]) -> None:
    content[0] = site_source(content[0], f"docs/{docname}.md")


def _anchors(app: Sphinx, doctree: nodes.document) -> None:
    """Links to `page.md#NAME` may mean an anchor of HTML."""
    slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for raw in doctree.findall(nodes.raw):
        for name in _ANCHOR.findall(raw.astext()):
            slugs.setdefault(name, (raw.line or 0, name, ""))


def setup(app: Sphinx) -> dict[str, Any]:
    """Change sources as they are read, and note anchors."""
    app.connect("source-read", _read)
    app.connect("doctree-read", _anchors)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

"""Pages that are made of the program when the site is built, into folders called `generated`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from page_sources import FILES_AS_PAGES, site_source
from program_pages import program_pages
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]


def checkout_pages() -> Iterator[tuple[str, str]]:
    """Name and text of each page that stands elsewhere in the checkout."""
    for name, document in FILES_AS_PAGES.items():
        if "generated" in document:
            yield document, site_source((ROOT / name).read_text(encoding="utf-8"), name)


def all_pages() -> Iterator[tuple[str, str]]:
    """Name and text of every page that is made."""
    yield from checkout_pages()
    yield from program_pages()


def write_pages(folder: Path) -> None:
    """Write all pages; a page whose text has not changed is left alone, and what is not made any more is removed."""
    pages = dict(all_pages())
    for name, text in pages.items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.rglob("generated/**/*.md"):
        if path.relative_to(folder).with_suffix("").as_posix() not in pages:
            path.unlink()


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the pages before any is read."""
    app.connect("config-inited", lambda app, config: write_pages(Path(app.srcdir)))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

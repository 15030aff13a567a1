"""Pages in files: all of a run, or none."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from masktron.report.pages.html import html_of
from masktron.report.pages.page import Page
from masktron.write.atomic import atomic_path


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

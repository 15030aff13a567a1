"""What a screen reader needs, and what neither Sphinx nor the theme writes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_EMPTY_HEAD = re.compile(r"<th(?: [^>]*)?>\s*(?:<p>\s*</p>)?\s*</th>")
_PARAMETERS = re.compile(r'<dl>\s*((?:<dd><em class="sig-param">.*?</dd>\s*)+)</dl>', flags=re.DOTALL)


def accessible(page: str) -> str:
    """Return the HTML of a page with a name for each button of the menu, and with tables and lists as HTML wants them.

    - The arrow beside an entry of the menu gets a name.
    - A head of a table without a text is a cell.
    - The parameters of a signature are a list; Sphinx writes definitions of nothing.
    """
    page = page.replace("<summary><span", '<summary aria-label="Pages below"><span')
    page = _EMPTY_HEAD.sub("<td></td>", page)
    return _PARAMETERS.sub(_list_of_parameters, page)


def _list_of_parameters(found: re.Match[str]) -> str:
    entries = found[1].replace("<dd>", "<li>").replace("</dd>", "</li>")
    return f'<ul class="parameters">\n{entries}</ul>'


def mend_pages(app: Sphinx, error: Exception | None) -> None:
    """Mend all pages that were written."""
    if error is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        if "_static" in path.relative_to(app.outdir).parts:
            continue
        text = path.read_text(encoding="utf-8")
        if (mended := accessible(text)) != text:
            path.write_text(mended, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Mend the pages when the site is built."""
    app.connect("build-finished", mend_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

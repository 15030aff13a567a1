"""Formulas as MathML, which browsers draw themselves: no script and no font is loaded for them."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.writers.html5 import HTML5Translator


def mathml(formula: str, *, block: bool, where: str = "") -> str:
    """Return a formula as an element of MathML.

    Parameters
    ----------
    formula : str
        In the LaTeX of pages.
    block : bool
        Whether it stands by itself.
    where : str, optional
        The page, for the error.

    Raises
    ------
    SphinxError
        If the formula cannot be read, or holds a command that would be shown as it is written.
    """
    try:
        made = convert(formula, display="block" if block else "inline")
    except Exception as error:
        raise SphinxError(f"{where}: this formula cannot be read ({error!r}): {formula}") from error
    if "\\" in made:
        raise SphinxError(f"{where}: a command of this formula is not known: {formula}")
    return made


def _inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(mathml(node.astext(), block=False, where=self.builder.current_docname))
    raise nodes.SkipNode


def _block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append('<div class="formula" tabindex="0">')
    self.body.append(mathml(node.astext(), block=True, where=self.builder.current_docname))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

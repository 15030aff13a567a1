"""Saxon, started when the first expression needs it."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from saxonche import PySaxonProcessor, PyXsltExecutable


@cache
def processor() -> PySaxonProcessor:
    """Return the one Saxon processor of this process; it can read no file and no network by itself.

    The import is here because it loads a library of 60 MB, which ``--help`` must not pay for.
    """
    return _created()


@cache
def careful_processor() -> PySaxonProcessor:
    """Return another processor, which does not optimise.

    Measured with Saxon-C HE 13.1: the optimised ``(number(A), number(B)) < (1, 2)`` ends with an internal error
    (NullPointerException) where a field is absent; unoptimised it has its value.
    """
    created = _created()
    created.set_configuration_property("http://saxon.sf.net/feature/optimizationLevel", "0")
    return created


def _created() -> PySaxonProcessor:
    from saxonche import PySaxonProcessor  # noqa: PLC0415

    created = PySaxonProcessor(license=False)
    # rulebooks are screened before; this closes what a screen might miss
    created.set_configuration_property("http://saxon.sf.net/feature/allowedProtocols", "")
    created.set_configuration_property("http://saxon.sf.net/feature/allow-external-functions", "false")
    return created


class SaxonError(Exception):
    """What Saxon says, one error after the other."""

    @property
    def internal(self) -> bool:
        """Whether Saxon itself is at fault."""
        return "Internal error" in str(self) or "NullPointerException" in str(self)

    @property
    def first(self) -> str:
        """The first message, in one line, without the position in our generated stylesheet."""
        text = re.split(r"\n(?=Error|Static error|Type error)", str(self).strip())[0]
        if text.startswith(("Error", "Static error", "Type error")):
            text = text.partition("\n")[2] or text
        return " ".join(text.split()) or "unknown error"


def compile_stylesheet(text: str, *, careful: bool = False) -> PyXsltExecutable:
    """Compile XSLT 3.0, with `careful_processor` if asked to.

    Raises
    ------
    SaxonError
    """
    from saxonche import PySaxonApiError  # noqa: PLC0415

    try:
        chosen = careful_processor() if careful else processor()
        return chosen.new_xslt30_processor().compile_stylesheet(stylesheet_text=text)
    except PySaxonApiError as error:
        raise SaxonError(str(error)) from None

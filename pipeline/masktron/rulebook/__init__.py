"""Rulebooks, read and analysed: `schema` has their values, `schematron` reads them, the rest says what they ask.

An analysis is a function of a rulebook, made once (`analysis`). elementpath is made lighter before pyschematron loads
it (`masktron.xpath`).
"""

import masktron.xpath as _first  # noqa: F401

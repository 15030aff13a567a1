"""Rulebooks, read and analysed: `schema` has their values, `schematron` reads them, the rest says what they ask.

elementpath is made lighter before pyschematron loads it (`masktron.xpath`).
"""

import masktron.xpath as _first  # noqa: F401

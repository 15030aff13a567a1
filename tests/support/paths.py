"""Where things stand in a checkout: no test counts the folders above itself."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
DOCS = ROOT / "docs"
RULES = ROOT / "rules"
SAMPLES = ROOT / "sample_xml"
SCHEMAS = ROOT / "schemas"
CONFORMANCE = TESTS / "conformance"
"""Conformance cases; those of ISO Schematron are in its folder ``iso``."""
RULEBOOKS = TESTS / "support" / "rulebooks"
"""Rulebooks that tests read."""
SHARED_DATA = ROOT.parent / "shared" / "data"
"""The public reference data, beside the checkout; absent on many machines."""

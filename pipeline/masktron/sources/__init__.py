"""Microdata: records as columns (`records`, `columns`), and the formats they lie in; XML is in `sources.xml`."""

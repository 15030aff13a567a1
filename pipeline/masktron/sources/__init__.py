"""Microdata: files of any format as a `Source`, and their records as columns.

Begin with `opening.open_source` and the class `source.Source`, which alone knows the bytes of a file; records in
memory are a `dataset.Dataset`, large files are batches of `columns`. XML is in `sources.xml`, all other formats are
in `sources.tables`, and `known_formats` lists them. Nothing here imports what stands above it: rules, engines and
jobs.
"""

"""Microdata in tables: CSV, Parquet, statistical packages, spreadsheets, databases and frames.

Begin with `table_format.TableFormat`, which reads a `Dataset` and writes a `release.Release` of one: a format is one
subclass of it, registered in `masktron.sources.known_formats`. `table_source.TableSource` makes of any of them what
the jobs see; `table_view` writes the XML view that rules mean and engines judge.
"""

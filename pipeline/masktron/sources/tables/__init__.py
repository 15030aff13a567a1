"""Microdata in tables: CSV, Parquet, statistical packages, spreadsheets, databases and frames.

Begin with `table_model.Table`, which every format reads and writes, and with `table_format.TableFormat`: a format is
one subclass of it, registered in `masktron.sources.known_formats`. `table_source.TableSource` makes of any of them
what the jobs see; `document` writes the XML file that engines judge, from a second reading that shares nothing with
the first.
"""

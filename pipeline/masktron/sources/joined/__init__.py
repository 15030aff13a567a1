"""Nested records that stand in tables: several that keys join, or one with a number of the unit on every row.

Begin with `joined_source.JoinedSource`. `level_rows` joins what the first readers of the tables have,
`nested_document` what the second ones have; `joined_writing` writes the tables again.
"""

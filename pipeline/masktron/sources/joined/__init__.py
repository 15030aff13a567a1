"""Nested records that stand in tables: several that keys join, or one with a number of the unit on every row.

Begin with `joined_source.JoinedSource`, which joins what the second readers of the tables have, and writes the tables
again. `level_rows` joins what the first ones have.
"""

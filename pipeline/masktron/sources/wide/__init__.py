"""Nested files as flat ones: a unit with all its members is one *wide record*.

`wide_record` says how many members a unit has, and which fields a wide record of such units has, `member_rows` in
which row of its table each member stands; `wide_source` is the file of wide records, of which every write is a nested
file again.
"""

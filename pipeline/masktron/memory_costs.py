"""What things take of memory and disk, about: each figure was measured, and stands nowhere else.

Those of cells are for each field of each record, whatever it holds. `docs/large-files.md` says what was measured.
"""

from __future__ import annotations

BASE = 300_000_000
"""Bytes that a run takes with few records."""
WORKER = 300_000_000
"""Bytes that a worker takes with nothing to do: libraries and compiled code, and most often a process of Saxon."""
CLIENT = 2 * BASE
"""Bytes that are left to the process of a run that has workers, besides what grows with the records."""

WHOLE_CELL = 150
"""Bytes of a run that masks all records at once."""
HELD_CELL = 12
"""Bytes of a run in units while units are masked, besides these and pages of files that the system may take back."""
LATER_CELL = 18
"""Bytes of a run in units when the file is read back and measured."""
UNIT_CELL = 250
"""Bytes of a worker for each cell of its unit: the points, groups and candidates of one partition."""
UNIT_SHARE = 6
"""Part of the memory, as a divisor, that one unit may take: a few are worked on at once."""

COLUMN_CELL = 20
"""Bytes of a column, where one cell in three has a text that no other has."""
COLUMN_SHARE = 8
"""Part of the memory, as a divisor, that the columns of a file may take, or a table that is read at once."""
TABLE_CELL = 20
"""Bytes of a table, beside its texts."""
TABLE_UNPACKED = 25
"""Times the bytes of a file that its table has, at most."""

PART_CELL = 40
"""Bytes on the disk in parts of a run: in those of a partition, of its groups and of its prototypes."""
TABLE_DOCUMENTS, TABLE_COPIES = 2, 2
"""On the disk, for a table that is read in blocks: documents that engines read, of the file and of the one that is
written; copies of its columns meanwhile."""

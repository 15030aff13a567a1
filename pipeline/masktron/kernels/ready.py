"""The kernels that large files are read and evaluated with: whether they are compiled, and compiling them."""

from __future__ import annotations

import numpy as np

from masktron.kernels.assembling import assemble, gather, lay_out
from masktron.kernels.bytewise import order_cells
from masktron.kernels.compiling import folder_of, is_compiled, is_kept
from masktron.kernels.keys import intern, reslot, running_sums
from masktron.kernels.level_scanner import scan_levels
from masktron.kernels.numbers import powers_of_ten, read_numbers
from masktron.kernels.scanner import byte_classes, line_breaks, scan_records, table_of
from masktron.kernels.texts import code_texts

ENTRIES = (
    *(scan_records, read_numbers, code_texts, order_cells, intern, reslot, running_sums, assemble, lay_out, gather),
    *(scan_levels, line_breaks),
)
"""What is called from outside the kernels."""


def kernels_ready() -> bool:
    """Tell whether the kernels need not be compiled first, which takes seconds."""
    return all(is_compiled(kernel) for kernel in ENTRIES)


def kernels_kept() -> bool:
    """Tell whether kernels that are compiled now need not be compiled again in the next run."""
    return all(is_kept(kernel) for kernel in ENTRIES)


def kernels_folder() -> str | None:
    """Return where kernels that are compiled now are kept, or None."""
    return folder_of(scan_records)


def compile_kernels() -> None:
    """Compile all kernels, also those that this run may have no use for: the next one finds them."""
    octets, places, rows = np.zeros(1, np.uint8), np.zeros(1, np.int64), np.zeros(1, np.int32)
    flags, codes = np.zeros(1, np.bool_), np.full(1, -1, np.int32)
    names = table_of([])
    cells = np.zeros((1, 1), np.int64)
    table = (octets, *names, places, *names, places)
    data = np.zeros(1024, np.uint8)
    statuses = np.zeros((1, 1), np.uint8)
    scan_records(
        data, 0, 0, 1, *table, True, byte_classes(), places, places, places, flags, octets, cells, cells, statuses
    )  # fmt: skip
    line_breaks(data, 0, 0)
    level = (octets, *names, places, np.zeros(3, np.int64), np.zeros(2, np.int64))
    scan_levels(
        data, 0, 1, *level, True, byte_classes(),
        places, places, places, flags, flags, octets, cells, cells, cells, cells, statuses,
    )  # fmt: skip
    nothing, doubles = np.zeros(0, np.int64), np.zeros(0)
    numbers = (np.zeros(0, np.uint8), doubles, doubles, nothing, np.zeros(0, np.int16))
    read_numbers(octets, nothing, nothing, np.zeros(0, np.uint8), powers_of_ten(), *numbers, nothing)
    code_texts(octets, nothing, nothing, np.zeros(0, np.uint8), codes, rows, rows)
    order_cells(octets, nothing, nothing, octets, nothing, nothing, np.zeros(0, np.int8), False)
    hashes = np.zeros(1, np.uint64)
    intern(octets, nothing, nothing, flags, codes, hashes, places, octets, 0, rows)
    reslot(hashes, 0, codes)
    running_sums(nothing, doubles, 0.0, doubles)
    none = (octets, places[:0], places[:0], flags[:0], flags[:0], flags[:0])
    assemble(*none, 0, octets, octets, places, 0, places[:0], *(octets,) * 4, cells, cells, octets, places, flags)
    lay_out(octets, np.zeros((1, 2), np.int64), places[:0], octets, 0, places, places)
    gather(octets, places, places, places[:0], octets, octets)

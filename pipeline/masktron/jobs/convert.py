"""Convert a file of microdata into another format, and see that it says the same."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from masktron.addresses import AddressPath
from masktron.config import AS_IT_SAYS, ReadOptions
from masktron.counts import counted
from masktron.errors import UsageError, ViolationError
from masktron.files import refuse_outputs
from masktron.problems.problem import Field, Place, Sentence, Setting
from masktron.progress import Progress, no_progress
from masktron.results import ConvertResult
from masktron.sources.known_formats import XML, format_of_name, require_written, table_format
from masktron.sources.opening import format_of, open_source, require_options
from masktron.write.atomic import blamed
from masktron.write.publication import publication, require_new

if TYPE_CHECKING:
    from masktron.sources.dataset import Dataset

_ALL = sys.maxsize
"""Memory for a table, which is always read as a whole here: a new file is made of it."""


def run_convert(
    data: Path,
    out: Path,
    *,
    reading: ReadOptions = AS_IT_SAYS,
    writing: ReadOptions = AS_IT_SAYS,
    rename: Mapping[str, str] = MappingProxyType({}),
    replaces: bool = False,
    progress: Progress = no_progress,
) -> ConvertResult:
    """Write the records of a file in another format, read them back, and compare every cell.

    Parameters
    ----------
    data, out : Path
    reading, writing : ReadOptions
        What the user says of the one and of the other; the record element of `writing` is that of XML.
    rename : mapping of str to str
        New names of columns, by the names that they have.
    replaces : bool
        The output may take the place of a table of a database; a file is always replaced.

    Raises
    ------
    UsageError
        The target cannot hold a value or a name; or there is no such column, or two would have one name.
    DocumentError
        A file cannot be read or written.
    ViolationError
        What was written does not read back as it was; nothing is published.
    """
    from masktron.sources.tables.conversion import (  # noqa: PLC0415 -- loads pyarrow
        columns_not_in_xml,
        copied,
        create_xml,
        empty_among_numbers,
        form_of_source,
        notes_of_source,
        numbers_as_texts,
        renamed_columns,
        require_names,
        table_of_source,
        with_scales,
        with_types,
        without_empty_texts,
    )
    from masktron.sources.tables.descriptions import descriptions_lost, orders_lost  # noqa: PLC0415 -- loads pyarrow
    from masktron.sources.tables.release import Release  # noqa: PLC0415 -- loads pyarrow

    if writing.format is None and format_of_name(out) is None and out.suffix.lower() != ".xml":
        formats = Setting("--to", ("csv",)), "a name that ends in .csv"
        raise UsageError.of("needs-setting", out, name="the output", needed="a format", setting=formats)
    target = format_of(out, writing)
    require_written(out, target)
    require_options(out, target, writing.options)
    refuse_outputs({"the output": out}, {"the data": data, "the metadata": reading.metadata})
    require_new(out, [data], replaces=replaces)
    progress(f"reading {data.name}", 0)
    source = open_source(data, reading=reading, progress=progress, whole=True, memory=_ALL)
    table = table_of_source(source)
    losses: list[Sentence] = [*form_of_source(source)]
    notes = tuple(notes_of_source(source))
    if not table.variables:
        raise UsageError.of("records-not-flat", data, reason="they have no fields")
    table = renamed_columns(table, rename, str(data))
    require_names(table, target)
    progress(f"writing {out.name}", 0)
    typed, digits = table, None
    with publication(out, replaces=replaces) as place:
        opened = place.opened if isinstance(place, AddressPath) else place
        with blamed(out):
            if target == XML:
                losses += columns_not_in_xml(table, str(data))
                create_xml(opened, table, writing.record)
            elif not rename and copied(source, target, opened, out.suffix, writing.options):
                losses = []
            else:
                made = table_format(target)
                dropped = empty_among_numbers(table) if made.tells_empty else table.columns
                table, empty = without_empty_texts(table, dropped)
                losses += [
                    f"that {counted(count, 'value')} of {name} "
                    f"{'is an empty text' if count == 1 else 'are empty texts'}"
                    for name, count in empty.items()
                ]
                digits = made.exact_digits
                table, told = with_scales(table, digits)
                typed = with_types(table, digits)
                losses += [*told, *made.losses(table)]
                made.write(opened, Release.new(typed), writing.options)
        progress("comparing both files", 0)
        again = None
        if len(table) or target != XML:  # without records, a document has no fields
            named = None if isinstance(place, AddressPath) else target
            how = ReadOptions(writing.record, named, writing.options)
            again = table_of_source(open_source(place, reading=how, progress=progress, whole=True, memory=_ALL))
            _require_same(table, again, target, out)
            losses += [*numbers_as_texts(typed, again, digits), *orders_lost(table, again)]
        losses += descriptions_lost(table, again)
    return ConvertResult(
        data=str(data),
        output=str(out),
        source_format=format_of(data, reading),
        target_format=target,
        records=len(table),
        columns=tuple(variable.column for variable in table.variables),
        losses=tuple(losses),
        notes=notes,
    )


def _require_same(table: Dataset, again: Dataset, target: str, out: Path) -> None:
    """Refuse a file that does not read back as what was written.

    Raises
    ------
    ViolationError, UsageError
        Its records or columns are others; or a value is, which is named by its field and record.
    """
    from masktron.sources.tables.two_readings import differences  # noqa: PLC0415 -- loads pyarrow

    if len(again) != len(table):
        raise ViolationError.of("cannot-hold", out, format=target, detail="all records")
    names = [[one.column for one in read.variables] for read in (table, again)]
    if target != XML and names[0] != names[1]:
        raise ViolationError.of("cannot-hold", out, format=target, detail="the names of columns")
    for name, count, first in differences(table, again):
        place = Place(str(out), record=first + 1, field=Field(name))
        detail = f"{counted(count, 'value')} as {'it is' if count == 1 else 'they are'}"
        raise UsageError.of("cannot-hold", place, format=target, detail=detail)

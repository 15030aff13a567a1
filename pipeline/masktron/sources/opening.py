"""Formats of microdata, and the one way to open a file of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from masktron.addresses import AddressPath
from masktron.config import AS_IT_SAYS, ReadOptions
from masktron.errors import UsageError
from masktron.memory import memory_of_run
from masktron.problems.problem import Known, Note, Setting, SettingName
from masktron.progress import Progress
from masktron.sources.frame_path import FRAME, FramePath
from masktron.sources.known_formats import XML, format_names, format_of_name, table_format
from masktron.sources.record_layout import NO_CONTEXTS, AsDocument, ContextNames
from masktron.sources.source import Source
from masktron.sources.xml.wellformed import WellFormedness
from masktron.sources.xml.xml_source import XmlSource

type EarlyReader = WellFormedness
"""Who has begun to read a file before it is opened: libxml2, of a file in XML."""


_AS_TABLE = Note("; [[--format csv]] reads a file as a table")


def format_of(path: Path, reading: ReadOptions) -> str:
    """Return the name of the format of a file: as the user says, else as its own name says, else XML.

    That of a data frame is `masktron.sources.frame_path.FRAME`.

    Raises
    ------
    UsageError
        There is no such format, or an address of a table has one of its own.
    """
    if isinstance(path, FramePath):
        return FRAME
    if isinstance(path, AddressPath):
        if not reading.inherited and (reading.format not in (None, path.address.scheme) or reading.options):
            raise UsageError.of(
                "setting-not-usable",
                path,
                name=(Setting("--format"), Setting("--format-option")),
                reason="the address of a table says its format and its table",
            )
        return path.address.scheme
    own = format_of_name(path)
    # a file that was converted has another format than the one whose options are inherited
    name = (own or reading.format if reading.inherited else reading.format or own) or XML
    if name not in format_names():
        raise UsageError.of("unknown-name", path, kind="format", name=name, known=Known(name, format_names()))
    return name


def require_options(path: Path, name: str, options: Collection[str]) -> None:
    """Refuse an option that a format does not have.

    Parameters
    ----------
    path : Path
        The file, for the message.
    name : str
        Of the format.
    options : collection of str
        Names.

    Raises
    ------
    UsageError
    """
    known = () if name == XML or not options else tuple(table_format(name).options)
    for option in options:
        if option not in known:
            raise UsageError.of("unknown-name", path, kind=f"{name} option", name=option, known=Known(option, known))


def open_source(
    path: Path,
    *,
    reading: ReadOptions = AS_IT_SAYS,
    contexts: ContextNames = NO_CONTEXTS,
    progress: Progress | None = None,
    judge: EarlyReader | None = None,
    whole: bool = False,
    memory: int | None = None,
    document: AsDocument = "never",
) -> Source:
    """Return the source of a file. Nothing is read before it is asked for something.

    Parameters
    ----------
    path : Path
    reading : ReadOptions
        What the user says of it.
    contexts : ContextNames
        What rules call elements: in XML one of them is the record, most likely; a table takes its names from them.
    progress : callable, optional
        Told of what takes long.
    judge : EarlyReader, optional
        Of this file.
    whole : bool
        Whether all records will be asked for: then a table that is small beside the memory is read into it at once.
        Else it is first surveyed for being read block by block, where it is a large one.
    memory : int, optional
        Bytes that the run may take; half of what is free when not given. A table that takes more than an eighth of
        them is read block by block, where its format can be.
    document : {"never", "otherwise", "always"}
        Whether a file in XML is judged as one document.

    Raises
    ------
    UsageError
        There is no such format, or it has no such option.
    """
    memory = memory_of_run(memory) if whole else None
    source = _opened(path, reading, contexts, progress, judge, memory=memory, document=document)
    source.metadata = reading.metadata
    return source


def _opened(
    path: Path,
    reading: ReadOptions,
    contexts: ContextNames,
    progress: Progress | None,
    judge: EarlyReader | None,
    *,
    memory: int | None,
    document: AsDocument = "never",
) -> Source:
    if isinstance(path, FramePath) and reading.levels:
        raise UsageError.of(
            "setting-not-usable",
            path,
            reason="tables in files or databases have levels, and this is a data frame",
            more=_AS_TABLE,
            name=SettingName("levels"),
        )
    if isinstance(path, FramePath):
        from masktron.sources.tables.frame_source import FrameSource  # noqa: PLC0415 -- loads pandas
        from masktron.sources.tables.table_view import TableRequest  # noqa: PLC0415 -- loads pyarrow

        return FrameSource(path, TableRequest(record=reading.record, contexts=contexts, progress=progress))
    name = format_of(path, reading)
    if reading.levels:
        _require_table(path, name, reading)
    if reading.inherited:
        reading = _inherited(name, reading)
    elif not isinstance(path, AddressPath):
        require_options(path, name, reading.options)
    if name == XML:
        names = contexts.names
        return XmlSource(path, record=reading.record, hints=names, progress=progress, judge=judge, document=document)
    from masktron.sources.tables.table_source import TableSource  # noqa: PLC0415 -- loads pyarrow
    from masktron.sources.tables.table_view import TableRequest  # noqa: PLC0415 -- loads pyarrow

    options = path.options if isinstance(path, AddressPath) else reading.options
    if reading.levels:
        return _opened_levels(
            TableSource(path, table_format(name), TableRequest(options)), reading, contexts, progress
        )
    asked = TableRequest(options, reading.record, contexts, progress, memory)
    return TableSource(path, table_format(name), asked)


def _inherited(name: str, reading: ReadOptions) -> ReadOptions:
    """Return options of another file: those of another format say nothing of this one, though they have one name."""
    known = () if name == XML or reading.format not in (None, name) else table_format(name).options
    return replace(reading, options={option: said for option, said in reading.options.items() if option in known})


def _opened_levels(table: Source, reading: ReadOptions, contexts: ContextNames, progress: Progress | None) -> Source:
    """Return the source of nested records, given the table of their top level."""
    from masktron.sources.joined.joined_source import JoinedSource  # noqa: PLC0415 -- loads pyarrow

    others = [
        _opened(
            one.data, ReadOptions(format=one.format, options=one.format_options), NO_CONTEXTS, None, None, memory=None
        )
        for one in reading.levels.values()
        if one.data is not None
    ]
    return JoinedSource(
        reading.levels, (table, *others), identifiers=reading.identifiers, contexts=contexts, progress=progress
    )


def _require_table(path: Path, name: str, reading: ReadOptions) -> None:
    """Refuse what is no table, or has another name for the records of the top level."""
    tables = {path: name}
    tables |= {
        one.data: format_of(one.data, ReadOptions(format=one.format, options=one.format_options))
        for one in reading.levels.values()
        if one.data is not None
    }
    for table, said in tables.items():
        if said == XML:
            raise UsageError.of(
                "setting-not-usable",
                table,
                reason="tables in files or databases have levels, and this is an XML file",
                more=_AS_TABLE,
                name=SettingName("levels"),
            )
    top = next(iter(reading.levels))
    if reading.record is not None and reading.record.rpartition("}")[2] != top:
        raise UsageError.of(
            "setting-not-usable",
            path,
            name=(Setting("--record", (reading.record,)),),
            reason=f"[levels] calls the records {top!r}",
        )
    if reading.metadata is not None:
        raise UsageError.of(
            "setting-not-usable",
            reading.metadata,
            name=(Setting("--metadata"),),
            reason="descriptions of nested tables are not read",
        )

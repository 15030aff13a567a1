"""Any format into any other: the table of a source, types that can store its texts, and XML as a target."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masktron.config import Kind
from masktron.errors import UsageError
from masktron.problems.problem import Field, Known, Note, Place, Sentence, Setting, fields
from masktron.recodings import exact_number
from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.sources.known_formats import table_format, written_formats
from masktron.sources.source import Source
from masktron.sources.tables.arrow_columns import values_of
from masktron.sources.tables.arrow_lexemes import is_text, lexemes_of
from masktron.sources.tables.arrow_values import UnfitError
from masktron.sources.tables.column_names import NamesAllowed, xml_name
from masktron.sources.tables.column_strings import blocks_of, column_of, distinct_strings, strings_of
from masktron.sources.tables.release import Release
from masktron.sources.tables.table_source import TableSource
from masktron.sources.tables.table_view import TwinNames, write_twin
from masktron.sources.variables import Variable
from masktron.sources.xml.outline import left_out_notes
from masktron.sources.xml.shapes import local

_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
_WHOLE = r"^(0|-?[1-9][0-9]*)$"
_LONG = r"^-?[0-9]{16,}$"
_AMOUNT = r"^(0|-?[1-9][0-9]*|-0)\.[0-9]+$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_ROOMY = 18
"""Digits of a new column of decimals, unless it has more."""
_OF_DOUBLES = 15
"""`TableFormat.exact_digits` of formats in which all numbers are doubles."""
_PLAIN_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_ANY_CASE = {"duckdb": "DuckDB", "sqlite": "SQLite"}
"""Formats in which ASCII letters of names have no case."""
_ANY_NAME = re.compile(r".+", re.DOTALL)


def table_of_source(source: Source) -> Dataset:
    """Return the records of a file of any format, and what it says of its variables.

    Raises
    ------
    UsageError
        A file in XML is no plain table.
    """
    if isinstance(source, TableSource):
        return _described(source.confirmed, source)
    if not source.shape.flat:
        raise UsageError.of(
            "records-not-flat", Place(str(source.path), source.shape.line), reason=source.shape.reason
        )
    records = source.records()
    return _described(records, source)


def _described(table: Dataset, source: Source) -> Dataset:
    """Return a table with what the metadata beside the file say of its variables."""
    if source.metadata is None:
        return table
    known = {variable.name: variable for variable in source.variables}
    variables = tuple(
        replace(known[variable.name], column=variable.column) if variable.name in known else variable
        for variable in table.variables
    )
    return table.with_variables(variables)


def renamed_columns(table: Dataset, names: Mapping[str, str], where: str) -> Dataset:
    """Return a table in which some columns have other names.

    Parameters
    ----------
    table : Dataset
    names : mapping of str to str
        New names by those that the file, or rules, have for the columns.
    where : str
        The file, for messages.

    Raises
    ------
    UsageError
        There is no such column, or two would have the same name.
    """
    if not names:
        return table
    known = {key: v.name for v in reversed(table.variables) for key in (v.name, v.column)}
    for old in names:
        if old not in known:
            columns = Known(old, tuple(variable.column for variable in table.variables))
            raise UsageError.of("unknown-name", where, kind="column", name=old, known=columns)
    new = {known[old]: column for old, column in names.items()}
    setting, wanted = Setting("--rename"), "one new name for each column, which no other column has"
    if len(new) < len(names):
        twice = fields(old for old in names if Counter(map(known.get, names))[known[old]] > 1)
        raise UsageError.of("bad-value", where, name=setting, expected=wanted, given=twice)
    variables = tuple(
        replace(variable, name=xml_name(new[variable.name]), column=new[variable.name])
        if variable.name in new
        else variable
        for variable in table.variables
    )
    counts = Counter(variable.column for variable in variables)
    if double := [column for column in new.values() if counts[column] > 1]:
        raise UsageError.of("bad-value", where, name=setting, expected=wanted, given=Field(double[0]))
    return table.with_variables(variables)


def with_scales(table: Dataset, digits: int | None) -> tuple[Dataset, list[str]]:
    """Return a table in which amounts are numbers, and what that loses: ``1.50`` is read back as ``1.5``.

    Amounts are numbers without leading zeros or exponents that all have as many fraction digits, and do not all come
    back from a double as they are written. Where all of them are as long as each other they may be codes, such as
    ``10.10`` for a kind of business, which rules compare as texts: they stay texts, unless metadata declare numbers.

    Codes for missing values are no amounts: whole numbers among them may stand in such a column.

    Parameters
    ----------
    table : Dataset
    digits : int or None
        What `TableFormat.exact_digits` says.
    """
    kinds: dict[str, pa.DataType] = {}
    losses: list[str] = []
    for what, kind_of in (
        (
            "zeros at the end of values that all have as many fraction digits, in what are columns of numbers there",
            _scaled,
        ),
        ("how numbers that the metadata declare are spelled, such as zeros at the end", _declared),
    ):
        found = {
            variable.name: kind
            for variable in table.variables
            if digits is not None
            and variable.stored is None
            and not variable.typed.text
            and variable.name not in kinds
            and (kind := kind_of(table.columns[variable.name], digits)) is not None
        }
        if found:
            kinds |= found
            losses.append(f"{what}: {', '.join(one.column for one in table.variables if one.name in found)}")
    if not kinds:
        return table, []
    new = {}
    for name, kind in kinds.items():
        column = table.columns[name]
        spelled = lexemes_of(values_of(strings_of(column), kind), "", "")
        new[name] = column_of(replace(column.variable, stored=kind), spelled)
    return table.with_columns(new), losses


def _declared(column: Column, digits: int) -> pa.DataType | None:
    """Return the type of numbers that metadata declare and a double holds; None where texts are as it spells them."""
    distinct = distinct_strings(column)
    if column.variable.kind is not Kind.NUMBER or not len(distinct) or _type_of(distinct) != pa.string():
        return None
    try:
        values_of(pa.chunked_array([distinct]), pa.float64())
    except UnfitError:
        return None
    return pa.float64()


def _scaled(column: Column, digits: int) -> pa.DataType | None:
    """Return the type of the amounts that a column holds; None where it holds anything else but codes."""
    whole = [code for code in column.variable.missing if re.fullmatch(_INTEGER, code)]
    distinct = _without(column, whole)
    if not digits or not len(distinct) or not pc.all(pc.match_substring_regex(distinct, _AMOUNT)).as_py():
        return None
    places = pc.min_max(pc.utf8_length(pc.replace_substring_regex(distinct, r"^[^.]*\.", ""))).as_py()
    precision = pc.max(pc.utf8_length(pc.replace_substring_regex(distinct, r"^-?0?|\.", ""))).as_py()
    scale = places["max"]
    precision = max(precision, scale, *(len(code.lstrip("-")) + scale for code in whole))
    if places["min"] != scale or precision > digits or _holds(distinct, pa.float64()):
        return None
    lengths = pc.min_max(pc.utf8_length(distinct)).as_py()
    if lengths["min"] == lengths["max"]:
        return None
    # room for what a masked value may be
    return pa.decimal128(_ROOMY if precision <= _ROOMY else 38, scale)


def numbers_as_texts(table: Dataset, again: Dataset, digits: int | None) -> list[Sentence]:
    """Say which columns hold numbers and are stored as texts, and why.

    Parameters
    ----------
    table : Dataset
        Of `with_types`.
    again : Dataset
        What was read back: a format may have numbers for columns that this one has texts for.
    digits : int or None
        What `TableFormat.exact_digits` says.
    """
    if digits is None:
        return []
    texts = {
        variable.column: _without(table.columns[variable.name], variable.missing)
        for variable, other in zip(table.variables, again.variables, strict=True)
        if not variable.typed.text and variable.stored is not None and is_text(variable.stored) and other.typed.text
    }
    beside = {
        variable.column: words
        for variable in table.variables
        if variable.column in texts
        and _all_match(texts[variable.column], _NUMBER)
        and (words := _words(table.columns[variable.name]))
    }
    plain = [(column, distinct) for column, distinct in texts.items() if column not in beside]
    found = [column for column, distinct in plain if _are_fractions(distinct)]
    long = [column for column, distinct in plain if digits == _OF_DOUBLES and _all_match(distinct, _WHOLE)]
    said: list[Sentence] = []
    if beside:
        said.append(
            Note(
                "that {beside} {beside:holds numbers: it is|hold numbers: they are} stored as texts, as "
                "{beside:its codes|their codes} for missing values, such as {code}, are no numbers",
                beside=fields(beside),
                code=next(iter(beside.values())),
            )
        )
    if found:
        said.append(
            Note(
                "that {found} {found:holds numbers: it is|hold numbers: they are} stored as texts, as numbers "
                "would not come back as they are written, such as zeros at the end or exponents; whole numbers "
                "among fractions that are codes for missing values are no obstacle where a description declares "
                "them: [[--metadata FILE]]",
                found=fields(found),
            )
        )
    if long:
        said.append(
            Note(
                "that {long} {long:holds integers: it is|hold integers: they are} stored as texts, as a number "
                "there is a double, which holds 15 digits",
                long=fields(long),
            )
        )
    return said


def _without(column: Column, codes: Collection[str]) -> pa.Array:
    """Return the texts of a column but for some codes, each once."""
    distinct = distinct_strings(column)
    return distinct.filter(pc.invert(pc.is_in(distinct, value_set=pa.array(sorted(codes), pa.string()))))


def _words(column: Column) -> str:
    """Return the first of its codes for missing values that is no number and that a record has, or nothing."""
    held = set(distinct_strings(column).to_pylist())
    return next((code for code in column.variable.missing if code in held and exact_number(code) is None), "")


def _all_match(distinct: pa.Array, pattern: str) -> bool:
    return bool(len(distinct) and pc.all(pc.match_substring_regex(distinct, pattern)).as_py())


def _are_fractions(distinct: pa.Array) -> bool:
    return _all_match(distinct, _NUMBER) and bool(pc.any(pc.match_substring_regex(distinct, "[.eE]")).as_py())


def form_of_source(source: Source) -> Iterator[str]:
    """Say what a file has beside its table, and no new file takes over: its dialect, its documents, its elements."""
    if isinstance(source, TableSource):
        yield from source.format.form(source.table)
        return
    layout = source.layout
    yield f"the names of the elements around the fields: {'/'.join(map(local, layout.record_path))}"
    if spaces := sorted({tag[1:].partition("}")[0] for tag in layout.record_path if tag.startswith("{")}):
        yield f"namespaces: {', '.join(spaces)}"
    if attributes := [local(tag) for tag, _ in layout.root_attributes]:
        yield f"attributes of the root: {', '.join(attributes)}"


def copied(source: Source, target: str, path: Path, suffix: str, options: Mapping[str, str]) -> bool:
    """Write the file of a statistical package again as it is, where the target has its format and its suffix.

    A file of a format that is only read is written again in the one that is written in its place.

    Parameters
    ----------
    source : Source
    target : str
        Name of the format.
    path : Path
        What is written, unless False is returned: then it is to be made anew.
    suffix : str
        Of the name that it gets, which tells whether SPSS compresses it.
    options : mapping of str to str
        What a user says of the file.
    """
    if not isinstance(source, TableSource) or source.metadata is not None:
        return False
    made, table = table_format(target), source.table
    only_read = source.format.name not in written_formats(source.format.name)
    if not made.copies or target not in written_formats(source.format.name):
        return False
    if not only_read and (options or source.path.suffix.lower() != suffix.lower()):
        return False
    made.write(path, Release(table, table, np.arange(len(table), dtype=np.intp)), options)
    return True


def notes_of_source(source: Source) -> Iterator[Sentence]:
    """Say what a user should know of how a file reads, but for what only a masked file has of it."""
    yield from source.table.notes if isinstance(source, TableSource) else left_out_notes(source.left_out())


def require_names(table: Dataset, target: str) -> None:
    """Refuse names of columns that differ in case alone, where a database takes them for one.

    Raises
    ------
    UsageError
        Naming them, and options that rename them.
    """
    columns = [variable.column for variable in table.variables]
    if target in _ANY_CASE and len({re.sub("[A-Z]", _lower, column) for column in columns}) < len(columns):
        NamesAllowed(_ANY_CASE[target], _ANY_NAME, 60, 1 << 20, "any characters", any_case=True).require(columns)


def _lower(letter: re.Match[str]) -> str:
    return letter[0].lower()


def with_types(table: Dataset, digits: int | None = None) -> Dataset:
    """Return a table in which texts have a type where every one of them comes back from it as it is written.

    Only for variables without a type: integers of at most 18 digits, numbers that a double writes alike, and dates.
    ``007`` and ``1e3`` stay texts, and so does ``1.50`` where `with_scales` has not made it a decimal. Integers that
    no double holds become texts where the format has no other numbers.

    Parameters
    ----------
    table : Dataset
    digits : int or None
        What `TableFormat.exact_digits` says of the format that is written.
    """

    def kind_of(variable: Variable) -> pa.DataType:
        distinct = distinct_strings(table.columns[variable.name])
        kind = variable.stored
        if kind is None:
            kind = pa.string() if variable.typed.text else _type_of(distinct)
        if digits != _OF_DOUBLES or not pa.types.is_integer(kind):
            return kind
        long = distinct.filter(pc.match_substring_regex(distinct, _LONG))
        return pa.string() if len(long) and not _holds(long, pa.float64()) else kind

    return table.with_variables(replace(one, stored=kind_of(one)) for one in table.variables)


def _type_of(distinct: pa.Array) -> pa.DataType:
    if not len(distinct):
        return pa.string()
    if pc.all(pc.match_substring_regex(distinct, _INTEGER)).as_py():
        return pa.int64()
    for kind, pattern in ((pa.float64(), r"^-?[0-9]+(\.[0-9]+)?$"), (pa.date32(), _DATE)):
        if pc.all(pc.match_substring_regex(distinct, pattern)).as_py() and _holds(distinct, kind):
            return kind
    return pa.string()


def _holds(distinct: pa.Array, kind: pa.DataType) -> bool:
    texts = pa.chunked_array([distinct])
    try:
        back = lexemes_of(values_of(texts, kind), "", "")
    except UnfitError:
        return False
    return bool(pc.all(pc.equal(texts, back)).as_py())


def create_xml(target: Path, table: Dataset, record: str | None) -> None:
    """Write a table as XML: ``/Data/Record``, or with another name of the record element."""
    columns = tuple(variable.column for variable in table.variables)
    names = TwinNames(record=record) if record else TwinNames()
    write_twin(target, columns, blocks_of(table), names, str(target))


def columns_not_in_xml(table: Dataset, where: str) -> Iterator[str]:
    """Say which columns XML has not, as it has an element for each value.

    Raises
    ------
    UsageError
        No record has a value, so that no reader could tell what a record is.
    """
    empty = [one.variable.column for one in table.columns.values() if not len(distinct_strings(one))]
    if len(table) and len(empty) == len(table.variables):
        raise UsageError.of("cannot-hold", where, format="XML", detail="a table in which no record has a value")
    if empty:
        yield f"columns without a value: {', '.join(empty)}"


def empty_among_numbers(table: Dataset) -> list[str]:
    """Return the columns of numbers or dates in which some texts are empty, and would make texts of all others."""
    return [
        variable.name
        for variable in table.variables
        if variable.stored is None
        and not variable.typed.text
        and len(others := _without(table.columns[variable.name], [""]))
        and any(pc.all(pc.match_substring_regex(others, pattern)).as_py() for pattern in (_PLAIN_NUMBER, _DATE))
    ]


def without_empty_texts(table: Dataset, names: Collection[str]) -> tuple[Dataset, dict[str, int]]:
    """Return a table in which empty texts of some columns are missing, and how many there were by variable."""
    columns, found = {}, {}
    for name in names:
        column = table.columns[name]
        empty = column.where(column.states == Status.EMPTY) & (column.lexemes == "")
        if count := int(np.count_nonzero(empty)):
            found[name], columns[name] = count, column.without(np.flatnonzero(empty))
    return table.with_columns(columns), found

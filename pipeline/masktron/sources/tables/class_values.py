"""What is written for classes of values in a typed column, and whether its type holds that."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import pyarrow as pa

from masktron.recodings import exact_number
from masktron.sources.column import ColumnForm, all_numbers, numbered, shortest
from masktron.sources.tables.arrow_columns import values_of
from masktron.sources.tables.arrow_lexemes import is_text, lexemes_of, typed_of
from masktron.sources.tables.arrow_values import UnfitError
from masktron.sources.variables import Variable

_MOST_OF_8 = 127
"""Categories that an index of 8 bits counts."""


def class_values(
    variable: Variable, labels: Sequence[str], taken: Collection[str], *, labelled: bool
) -> tuple[str, ...]:
    """Return what is written for classes, one lexeme for each, as it is read again.

    Theorem: no lexeme means 'missing', unless a label does. Proof: 1, 2, ... are passed over where they do.

    Parameters
    ----------
    variable : Variable
    labels : sequence of str
        In the order of the classes.
    taken : collection of str
        Lexemes that mean 'missing'.
    labelled : bool
        Whether numbers have labels in the format, so that classes that are no numbers are numbered.

    Raises
    ------
    UsageError
        Too many numbers mean 'missing'.
    """
    if labelled and not variable.typed.text:
        short = [shortest(label) for label in labels]
        if all_numbers(short):
            return tuple(short)
        gone = {exact_number(code) for code in (*taken, *variable.missing)}

        def is_taken(number: int) -> bool:
            return number in gone or any(low <= number <= high for low, high in variable.spans)

        return numbered(labels, is_taken, variable.column)
    kind, short = variable.stored, [shortest(label) for label in labels]
    if kind is not None and is_text(kind) and not variable.typed.text:  # numbers beside codes that are none
        return tuple(short if all_numbers(short) else labels)
    if kind is not None and (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return tuple(short if holds(kind, short) else labels)
    return tuple(labels)


def recoded(variable: Variable, form: ColumnForm) -> Variable:
    """Return a variable of which the values were recoded, with the labels and in the type that are right for these.

    It has its own type where that holds all of them, that of numbers where these are numbers, else that of texts.
    Codes for missing values need not fit the type: the format has them beside it, or none.

    Parameters
    ----------
    variable : Variable
        Of the file that was read.
    form : ColumnForm
        What is to be written.
    """
    missing = {code: form.labels.get(code, "") for code in variable.missing}
    labels = {code: label for code, label in form.labels.items() if code not in missing}
    found = replace(variable, labels=labels, missing=missing, recoded=form.values)
    if not form.values:
        return found
    plain = [value for value in form.values if value not in missing]
    kind = _type_of(variable, plain, ordered=form.ordered)
    shown = variable.typed.shown and (variable.typed.shown[0], 0)
    return replace(
        found,
        missing={} if is_text(kind) and not variable.typed.text else missing,
        kind=None,
        order=form.values if form.ordered else (),
        observed=frozenset(),
        typed=replace(typed_of(kind), shown=shown),
        stored=kind,
        listed=False,
    )


def _type_of(variable: Variable, lexemes: Sequence[str], *, ordered: bool) -> pa.DataType:
    """Return the type of a recoded column; categories stay some, in an order where that of the classes is one."""
    own = variable.stored
    if own is not None and pa.types.is_dictionary(own):
        values = own.value_type
        values = values if is_text(values) or holds(values, lexemes) else pa.string()
        narrow = own.index_type.bit_width == 8 and len(lexemes) > _MOST_OF_8
        return pa.dictionary(pa.int16() if narrow else own.index_type, values, own.ordered and ordered)
    if variable.typed.text:
        return own if own is not None and is_text(own) else pa.string()
    if own is not None and not is_text(own) and holds(own, lexemes):
        return own
    if not all_numbers(lexemes):
        return pa.string()
    return pa.int64() if holds(pa.int64(), lexemes) else pa.float64()


def holds(kind: pa.DataType, lexemes: Sequence[str]) -> bool:
    """Whether a column of a type, which is none of categories, has these lexemes again when it is read."""
    try:
        values = values_of(pa.chunked_array([pa.array(lexemes, pa.string())]), kind)
    except UnfitError:
        return False
    return bool(lexemes_of(values, "", "").to_pylist() == list(lexemes))

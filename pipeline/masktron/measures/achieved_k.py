"""Achieved k: how many released records are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_value
from masktron.classify.forms import satisfied, variables_of_atom
from masktron.constraints import Atom
from masktron.errors import UsageError
from masktron.kernels.distinct import alike, codes_of
from masktron.sources.column import Column


def group_sizes(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Count, for each record, the records that equal it in all columns, itself included.

    Parameters
    ----------
    columns : sequence of ndarray, each of shape (n,), at least one
        Lexemes as written, compared as text: ``5`` and ``5.0`` differ, and None (absent) equals only None. Or
        numbers, also codes of texts; NaN equals NaN.

    Returns
    -------
    ndarray of int64, shape (n,)

    Raises
    ------
    UsageError
        There is no column, or their lengths differ.
    """
    require_value(columns, "columns", "one column or more", "none")
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise UsageError.of("arrays-differ", shapes=tuple(f"a column of {length}" for length in sorted(lengths)))
    codes, _ = alike(map(codes_of, columns), lengths.pop())
    return np.bincount(codes)[codes].astype(np.int64)


def achieved_k(columns: Sequence[NDArray[Any]]) -> int:
    """Return the smallest number of records that are alike in all columns; 0 where there is no record.

    This is the k of k-anonymity if the columns are the key variables. Parameters and errors are those of
    `group_sizes`.

    Notes
    -----
    Source: Samarati (2001) and Sweeney (2002), k-anonymity.
    """
    sizes = group_sizes(columns)
    return int(sizes.min()) if sizes.size else 0


def shared_columns(
    columns: Mapping[str, Column],
    codes: Mapping[str, NDArray[np.int32]],
    variables: Sequence[str],
    solved: Mapping[str, Sequence[Atom]],
) -> list[NDArray[np.int32]]:
    """Return what the records of a group have to share, for `achieved_k`.

    A solved variable counts only in records where none of its equalities holds. Where one does, it follows from the
    other variables and from unmasked fields: who knows these learns nothing from it.

    Parameters
    ----------
    columns : mapping of str to Column
        All fields of the file.
    codes : mapping of str to ndarray of int32, each of shape (n,)
        Lexemes of the variables, numbered by `codes_of`.
    variables : sequence of str
        Of the block.
    solved : mapping of str to sequence of Atom
        For each variable that may be solved, the equalities that give it.

    Returns
    -------
    list of ndarray of int32, each of shape (n,)
    """
    needed = {name for atoms in solved.values() for atom in atoms for name in variables_of_atom(atom)}
    seen = {name: columns[name].as_read() for name in needed & columns.keys()}
    shared = [codes[name] for name in variables if name not in solved]
    for name, atoms in solved.items():
        follows = np.zeros(len(codes[name]), dtype=np.bool_)
        for atom in atoms:
            if seen.keys() >= set(variables_of_atom(atom)):
                follows |= satisfied(atom, seen, {})
        # as if one more text stood there
        shared.append(np.where(follows, codes[name].max(initial=-1) + np.int32(1), codes[name]))
    return shared

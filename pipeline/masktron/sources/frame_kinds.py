"""What the types of a data frame say of the kinds of its fields: categories, where the user says nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pandas as pd

from masktron.config import Config, Kind
from masktron.sources.frame import field_names, lexemes_of
from masktron.sources.lexical import parse_number
from masktron.sources.records import Typed
from masktron.sources.variable_settings import with_variables
from masktron.sources.variables import Variable


def with_kinds(frame: pd.DataFrame, config: Config, *, texts: Collection[str] = ()) -> Config:
    """Return the settings with the kinds that the types of columns declare, for fields without a declared kind.

    Booleans are nominal. So is a categorical column, or ordinal in the order of its categories where it has one, if
    its categories are numbers, which would else be averaged. One of texts needs a role: they may be names.

    Parameters
    ----------
    frame : DataFrame
    config : Config
    texts : collection of str
        Fields that are nominal, too, unless something else is declared.
    """
    return with_variables(config, _variables(frame), texts=texts)[0]


def _variables(frame: pd.DataFrame) -> Iterator[Variable]:
    """Yield what types say of the columns that have values."""
    for at, name in enumerate(field_names(frame)):
        column = frame.iloc[:, at]
        kind: Any = column.dtype
        if column.isna().all():
            continue
        if isinstance(kind, pd.CategoricalDtype):
            lexemes = [str(text) for text in lexemes_of(pd.Series(kind.categories, name=column.name))]
            numbers = bool(lexemes) and not np.isnan([parse_number(text) for text in lexemes]).any()
            typed = Typed(text=not (numbers or set(lexemes) <= {"true", "false"}))
            ordered = Kind.ORDINAL if kind.ordered and lexemes else Kind.NOMINAL
            yield Variable(name, str(column.name), kind=ordered, order=tuple(lexemes), typed=typed)
        elif pd.api.types.is_bool_dtype(kind):
            yield Variable(name, str(column.name), kind=Kind.NOMINAL)

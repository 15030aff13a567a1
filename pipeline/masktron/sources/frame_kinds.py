"""What the types of a data frame say of the kinds of its fields: categories, where the user says nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from masktron.config import ALL_FIELDS, Config, Role
from masktron.sources.frame import field_names, lexemes_of
from masktron.sources.lexical import parse_number

_MASKED = (None, Role.CONFIDENTIAL)


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
    nominal, ordinal = list(config.nominal), dict(config.ordinal)
    nominal += [name for name in texts if config.kind_of(name) is None and config.roles.get(name) in _MASKED]
    for name, order in _kinds(frame, config):
        if order is None:
            nominal.append(name)
        else:
            ordinal[name] = order
    return replace(config, nominal=tuple(nominal), ordinal=ordinal)


def _kinds(frame: pd.DataFrame, config: Config) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    everywhere = config.missing.get(ALL_FIELDS, frozenset())
    for at, name in enumerate(field_names(frame)):
        column = frame.iloc[:, at]
        kind: Any = column.dtype
        role = config.roles.get(name)
        if config.kind_of(name) is not None or role not in _MASKED or column.isna().all():
            continue
        if isinstance(kind, pd.CategoricalDtype):
            lexemes = [str(text) for text in lexemes_of(pd.Series(kind.categories, name=column.name))]
            numbers = bool(lexemes) and not np.isnan([parse_number(text) for text in lexemes]).any()
            truths = set(lexemes) <= {"true", "false"}
            if not (numbers or truths or role):
                continue
            codes = config.missing.get(name, frozenset()) | everywhere
            order = tuple(text.strip() for text in lexemes if text.strip() not in codes)
            yield name, order if kind.ordered and len(set(order)) == len(order) > 1 else None
        elif pd.api.types.is_bool_dtype(kind):
            yield name, None

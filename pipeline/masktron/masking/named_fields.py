"""Fields that parameters of a method name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from masktron.arrays import Labels
from masktron.counts import counted
from masktron.errors import InfeasibleError, RefusalFacts, UsageError, did_you_mean
from masktron.grouping.members import codes_of_columns
from masktron.masking.file_values import FileValues
from masktron.methods.base import Method
from masktron.methods.parameters import CONDITIONS, STRATA


def named_fields(method: Method) -> dict[str, tuple[str, ...]]:
    """Return the fields that parameters of a method name, by parameter."""
    given = {name: getattr(method, name) for name, one in method.parameters.items() if one.kind == "fields"}
    return {parameter: tuple(names) for parameter, names in given.items() if names is not None}


def strata_of(file: FileValues, method: Method, k: int) -> Labels | None:
    """Return codes of the strata that a method is asked for, shape (n,); None where it is asked for none.

    Raises
    ------
    UsageError
        There is no such field, or it is masked.
    InfeasibleError
        A stratum has fewer than k records.
    """
    names = tuple(map(str, method.strata))
    if not names:
        return None
    refuse_unknown(file, method, {STRATA: names}, ())
    codes = codes_of_columns((file.columns[name].numbered() for name in names), file.n)
    smallest = int(np.bincount(codes).min())
    if smallest < k:
        raise InfeasibleError(
            f"a stratum of {', '.join(names)} has {counted(smallest, 'record')}, fewer than k = {k}",
            where=str(file.source),
            hint="name fewer strata, recode them so that each has k records, or lower k",
            facts=[RefusalFacts("few-records", records=smallest)],
        )
    return codes


def refuse_unknown(
    file: FileValues, method: Method, named: Mapping[str, Sequence[str]], variables: Sequence[str]
) -> None:
    """Refuse a field that a parameter names and the method cannot see, or must not keep.

    Raises
    ------
    UsageError
    """
    for parameter, names in named.items():
        stays = method.parameters[parameter].stays
        for name in names:
            if name not in file.columns:
                raise UsageError(
                    f"{parameter} of {method.name} names {name!r}, a field that the file does not have",
                    where=str(file.source),
                    hint=did_you_mean(name, file.columns),
                )
            if stays and name in file.masked:
                raise UsageError(
                    f"{parameter} of {method.name} names {name!r}, which is masked: it would be published as it was",
                    where=str(file.source),
                    hint=f"--role {name}=untouched says so; or leave it out of {parameter}",
                )
            if parameter in (CONDITIONS, STRATA) and name not in file.written:
                raise UsageError(
                    f"{parameter} of {method.name} names {name!r}, an identifier, a key or a weight",
                    where=str(file.source),
                    hint=f"leave it out of {parameter}; --role {name}=untouched if it is none",
                )
            if not stays and name not in file.masked:
                raise UsageError(
                    f"{parameter} of {method.name} names {name!r}, which is not masked",
                    where=str(file.source),
                    hint=f"--role {name}=confidential; or leave it out of {parameter}",
                )
            if name in file.masked and name not in variables:
                raise UsageError(
                    f"{parameter} of {method.name} names {name!r}, which is masked by groups for its categories",
                    where=str(file.source),
                    hint="name numbers, or take a method that masks categories",
                )

"""Fields that parameters of a method name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from masktron.arrays import Labels
from masktron.errors import InfeasibleError, RefusalFacts, UsageError
from masktron.grouping.members import codes_of_columns
from masktron.masking.file_values import FileValues
from masktron.methods.base import Method
from masktron.methods.parameters import CONDITIONS, STRATA
from masktron.problems.problem import Field, Known, fields


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
        raise InfeasibleError.of(
            "small-stratum",
            file.source,
            fields=fields(names),
            records=smallest,
            user=f"k = {k}",
            least=k,
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
        setting = f"the parameter {parameter} of {method.name}"
        stays = method.parameters[parameter].stays
        for name in names:
            if name not in file.columns:
                raise UsageError.of(
                    "unknown-name",
                    file.source,
                    name=Field(name),
                    known=Known(name, tuple(file.columns)),
                    kind="field",
                )
            if stays and name in file.masked:
                raise _misfit(file, setting, name, "which is masked", "untouched")
            if parameter in (CONDITIONS, STRATA) and name not in file.written:
                raise _misfit(file, setting, name, "an identifier, a key or a weight", "untouched")
            if not stays and name not in file.masked:
                raise _misfit(file, setting, name, "which is not masked", "confidential")
            if name in file.masked and name not in variables:
                raise UsageError.of(
                    "field-not-usable",
                    file.source,
                    setting=setting,
                    field=Field(name),
                    reason="which is masked by groups for its categories",
                )


def _misfit(file: FileValues, setting: str, name: str, reason: str, role: str) -> UsageError:
    field = Field(name)
    return UsageError.of("role-does-not-fit", file.source, setting=setting, field=field, reason=reason, role=role)

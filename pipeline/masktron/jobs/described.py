"""Settings completed by what the file says of its variables."""

from __future__ import annotations

from collections.abc import Sequence

from masktron.config import Config
from masktron.results import FieldExplanation
from masktron.roles import FieldFacts
from masktron.setting_values import ALL_FIELDS
from masktron.sources.source import Source
from masktron.sources.variable_settings import with_variables
from masktron.sources.variables import Variable

_NONE: frozenset[str] = frozenset()


def completed(config: Config, source: Source) -> tuple[Config, tuple[str, ...]]:
    """Return the settings with the kinds, missing codes and weight that a file declares, and what came from it.

    Variables without a value in any record are no fields of the file, and left out.

    Parameters
    ----------
    config : Config
    source : Source
        The original.

    Raises
    ------
    DocumentError, UsageError
        The file cannot be read.
    """
    variables = source.variables
    if not variables:
        return config, ()
    fields = {field.name for field in source.layout.fields}
    return with_variables(config, (variable for variable in variables if variable.name in fields))


def explained_fields(
    config: Config, variables: Sequence[Variable], facts: Sequence[FieldFacts]
) -> tuple[FieldExplanation, ...]:
    """Return what a file says of its fields, and what they are.

    Parameters
    ----------
    config : Config
        Completed by `completed`.
    variables : sequence of Variable
    facts : sequence of FieldFacts
        Empty where they are not known.
    """
    known = {fact.name: fact for fact in facts}
    found = []
    for variable in variables:
        fact = known.get(variable.name)
        role = config.roles.get(variable.name) if fact is None else fact.role
        kind = config.kind_of(variable.name) if fact is None else fact.kind
        everywhere = config.missing.get(ALL_FIELDS, _NONE)
        codes = sorted(config.missing.get(variable.name, _NONE) | everywhere) if fact is None else fact.codes
        # what only records tell is none of what is said here
        codes = [code for code in codes if code not in variable.observed]
        said = {**variable.labels, **variable.declared_missing, **dict.fromkeys(variable.ranges, "")}
        found.append(
            FieldExplanation(
                variable.name,
                variable.column,
                variable.label,
                None if role is None else str(role),
                None if kind is None else str(kind),
                {code: said.get(code, "") for code in (*codes, *variable.ranges)},
                {code: label for code, label in said.items() if code not in codes and code not in variable.ranges},
            )
        )
    return tuple(found)

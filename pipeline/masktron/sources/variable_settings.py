"""What a file or a data frame says of its variables, as settings that a user need not state again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from masktron.config import Config, Kind, Role
from masktron.setting_values import ALL_FIELDS
from masktron.sources.variables import Variable

_MASKED = (None, Role.CONFIDENTIAL)
_NONE: frozenset[str] = frozenset()


def with_variables(
    config: Config, variables: Iterable[Variable], *, texts: Collection[str] = ()
) -> tuple[Config, tuple[str, ...]]:
    """Return the settings with what is said of variables, where a user says nothing else.

    - Codes for missing values are those of the variable; codes that a user names for a field take their place, and
      those for all fields are added.
    - The weight gets its role where no field has it from the user, nor this one another role.
    - Kinds count for fields without a declared kind that are masked. Texts are categories only where they have
      labels, where their values are listed, or where the user gives them a role: they may be names.

    Parameters
    ----------
    config : Config
    variables : iterable of Variable
    texts : collection of str
        Fields that are nominal, too, unless something else is declared.

    Returns
    -------
    Config
    notes : tuple of str
        What was taken from the variables, in sentences.
    """
    told = tuple(variables)
    missing, roles = dict(config.missing), dict(config.roles)
    for variable in told:
        if variable.missing and variable.name not in missing:
            missing[variable.name] = frozenset(variable.missing)
    weighted = Role.WEIGHT in roles.values()
    weights = [variable.name for variable in told if variable.weight and variable.name not in roles]
    if len(weights) == 1 and not weighted:
        roles[weights[0]] = Role.WEIGHT
    settled = replace(config, missing=missing, roles=roles)
    nominal, ordinal, numeric = list(config.nominal), dict(config.ordinal), list(config.numeric)
    nominal += [name for name in texts if config.kind_of(name) is None and roles.get(name) in _MASKED]
    for variable in _with_kinds(told, settled):
        name, order = variable.name, _order(variable, settled)
        if variable.kind is Kind.NUMBER:
            numeric.append(name)
        elif variable.kind is Kind.ORDINAL and (len(order) > 1 or variable.order == ()):
            ordinal[name] = order
        else:
            nominal.append(name)
    settled = replace(
        settled, nominal=tuple(dict.fromkeys(nominal)), ordinal=ordinal, numeric=tuple(dict.fromkeys(numeric))
    )
    return settled, tuple(_notes(config, settled))


def _with_kinds(variables: Iterable[Variable], config: Config) -> Iterator[Variable]:
    for variable in variables:
        role = config.roles.get(variable.name)
        if variable.kind is None or role not in _MASKED or config.kind_of(variable.name) is not None:
            continue
        texts = variable.typed.text
        if texts and (variable.kind is Kind.NUMBER or not (variable.labels or variable.listed or role)):
            continue
        yield variable


def _order(variable: Variable, config: Config) -> tuple[str, ...]:
    codes = config.missing.get(variable.name, _NONE) | config.missing.get(ALL_FIELDS, _NONE)
    order = tuple(text.strip() for text in variable.order if text.strip() not in codes)
    return order if len(set(order)) == len(order) else ()


def _notes(before: Config, after: Config) -> Iterator[str]:
    gained = {
        "weight": [name for name in after.roles if name not in before.roles],
        "codes for missing values": [name for name in after.missing if name not in before.missing],
        "nominal": [name for name in after.nominal if name not in before.nominal],
        "ordinal": [name for name in after.ordinal if name not in before.ordinal],
        "numeric": [name for name in after.numeric if name not in before.numeric],
    }
    found = [f"{what}: {', '.join(names)}" for what, names in gained.items() if names]
    if found:
        yield f"as the file or its description says, where the settings say nothing else: {'; '.join(found)}"

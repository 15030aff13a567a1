"""The masking methods for the eye and for machines: what each does, needs, promises and keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table

from masktron.config import Config
from masktron.contracts import as_plain
from masktron.methods.base import Method, Partitioning
from masktron.methods.chosen import CLASS_FIELDS
from masktron.methods.parameters import Parameter
from masktron.report.tables.cells import table_of
from masktron.report.text import plain
from masktron.results import SCHEMA_VERSION

K = Config().k
"""The k of a run that does not say another one, whatever a method has in Python."""
VARIABLES = (1, 5, 10)
"""Numbers of variables for which the fewest records of a method are told."""

TOLD = (
    "keeping the rules moves what was drawn: a run says by how much means moved, which variance and which "
    "correlation are farthest from the original's, as drawn and as written, and how many records came out as they "
    "went in, and why"
)
"""What the notes of `mask` have for each method that draws."""


def methods_tables(kinds: Sequence[type[Method]]) -> list[RenderableType]:
    """One row per method; the first is the default."""
    table = table_of()
    table.add_column("method", no_wrap=True)
    table.add_column("what it is")
    table.add_column("promises")
    table.add_column("needs")
    for kind in kinds:
        table.add_row(
            kind.name, plain(kind.title), _words(kind().contract.kind), "a class" if kind.needs_class else "-"
        )
    return [
        table,
        f"The default is {kinds[0].name}. `masktron methods NAME` explains one; `masktron mask --method NAME "
        "--param KEY=VALUE` runs it.",
    ]


def explained(kind: type[Method]) -> list[RenderableType]:
    """Everything that a method declares."""
    method = _as_run(kind)
    return [
        f"[bold]{kind.name}[/]: {plain(kind.title)}",
        *_paragraph("does", [kind.says]),
        *_paragraph("when", [kind.when]),
        *_paragraph("masks", [_masks(kind)]),
        *_paragraph("needs", ["the class of each record"] * kind.needs_class + [_fewest(method)]),
        *_paragraph("promises", [f"{_words(method.contract.kind)}: {method.contract.says}"]),
        *_paragraph("keeps", kind.preserves),
        *_paragraph("loses", kind.loses),
        *_paragraph("tells", [] if issubclass(kind, Partitioning) else [TOLD]),
        *_paragraph("attacker", [kind.attacker]),
        *_paragraph("source", [kind.source]),
        *_parameters(_asked_for(kind), method),
    ]


def methods_dict(kinds: Iterable[type[Method]], default: type[Method]) -> dict[str, Any]:
    """Plain data with the stable keys of ``schemas/methods.schema.json``."""
    return {
        "schema_version": SCHEMA_VERSION,
        "job": "methods",
        "default": default.name,
        "methods": [_method_dict(kind) for kind in kinds],
    }


def _method_dict(kind: type[Method]) -> dict[str, Any]:
    method = _as_run(kind)
    return {
        "name": kind.name,
        "title": kind.title,
        "says": kind.says,
        "when": kind.when,
        "needs_class": kind.needs_class,
        "categories": kind.categories,
        "contract": {**as_plain(method.contract), "says": method.contract.says},
        "preserves": list(kind.preserves),
        "loses": list(kind.loses),
        "attacker": kind.attacker,
        "source": kind.source,
        "fewest_records": {str(number): method.least(number) for number in VARIABLES},
        "parameters": [_parameter_dict(one, method) for one in _asked_for(kind)],
    }


def _asked_for(kind: type[Method]) -> tuple[Parameter, ...]:
    own = tuple(kind.parameters.values())
    return (CLASS_FIELDS, *own) if kind.needs_class else own


def _parameter_dict(parameter: Parameter, method: Method) -> dict[str, Any]:
    needed = parameter is CLASS_FIELDS
    default = None if needed else getattr(method, parameter.name)
    return {
        "name": parameter.name,
        "kind": parameter.kind,
        "says": parameter.help,
        "admits": parameter.admits,
        "default": list(default) if isinstance(default, tuple) else default,
        "needed": needed,
        "option": _option(parameter),
    }


def _as_run(kind: type[Method]) -> Method:
    """Return a method as `mask` makes it where nothing is asked for."""
    method = kind()
    if "k" in kind.parameters:
        setattr(method, "k", K)  # noqa: B010 -- not every method has one
    return method


def _masks(kind: type[Method]) -> str:
    """What fields it is for, and what becomes of others."""
    if issubclass(kind, Partitioning) or kind.categories:
        return "numbers and categories"
    return "numbers; fields that are masked together with categories are masked by groups"


def _fewest(method: Method) -> str:
    """The fewest records that the method masks together, with its defaults."""
    fewest = [method.least(number) for number in VARIABLES]
    if len({*fewest}) == 1:
        return f"at least {fewest[0]} records that are masked together"
    told = ", ".join(f"{least} for {number}" for number, least in zip(VARIABLES, fewest, strict=True))
    return f"records that are masked together, by the number of variables: at least {told}"


def _words(kind: str) -> str:
    return kind.replace("-", " ")


def _paragraph(label: str, lines: Iterable[str]) -> Iterator[RenderableType]:
    """Lines behind a label, broken at the width of the terminal and indented below it."""
    for line in lines:
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=max(map(len, ("promises", label))), no_wrap=True)
        grid.add_column()
        grid.add_row(f"[bold]{label}[/]", plain(line))
        yield grid
        label = ""


def _parameters(parameters: Sequence[Parameter], method: Method) -> Iterator[RenderableType]:
    if not parameters:
        yield "It has no parameters."
        return
    table = table_of()
    table.add_column("parameter", no_wrap=True)
    for header in ("default", "may be", "what it does"):
        table.add_column(header)
    for one in parameters:
        default = "needed" if one is CLASS_FIELDS else _spelled(getattr(method, one.name))
        table.add_row(_option(one), default, plain(one.admits), plain(one.help))
    yield Padding(table, (1, 0, 0, 0))


def _option(parameter: Parameter) -> str:
    """How the parameter is given on the command line: behind ``--param``, unless it has an option of its own."""
    return "-k" if parameter.name == "k" else parameter.name


def _spelled(value: Any) -> str:
    """A default as the command line spells it."""
    if value is None:
        return "auto"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return ",".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)

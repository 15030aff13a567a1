"""The settings of `masktron.config.Config` as keyword arguments, with their types, in signatures and in help."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from os import PathLike
from typing import Any, TypedDict, get_type_hints

from masktron.config import Config, ExecutorName, Grouping, InvalidRecords, OnRefusal, Order, Param, Register, Role

type Codes = str | int | Collection[str | int]
"""Values that mean 'missing', as the file shows them."""
type Fields = list[str] | tuple[str, ...]


class FieldSettings(TypedDict, total=False):
    """What fields are, and how a file is read."""

    roles: Mapping[str, Role | str]
    missing: Mapping[str, Codes] | Collection[str | int]
    nominal: Fields
    ordinal: Mapping[str, Collection[str | int]] | Fields
    numeric: Fields
    quasi_identifiers: Fields
    record: str | None
    format: str | None
    format_options: Mapping[str, str]
    metadata: str | PathLike[str] | None
    levels: Mapping[str, Mapping[str, Any]]
    workers: int | None


class PairSettings(FieldSettings, total=False):
    """What fields are, how two files are read, and how much memory they may take."""

    memory: int | str | None


class Settings(PairSettings, total=False):
    """Every field of `Config`, in the forms that Python has for it; a test keeps the two in step."""

    k: int
    seed: int | None
    grouping: Grouping
    group_size_vars: int
    keep_missing: bool
    invalid: InvalidRecords
    rare_units: InvalidRecords
    reweight: Fields
    protect: str | None
    member_order: Fields | str | None
    allow: Fields
    allow_unfired: Fields
    documents: Mapping[str, str | PathLike[str]]
    secret: bytes | str | PathLike[str] | None
    phase: str | None
    limits: Mapping[str, float]
    order: Order
    max_observed_share: float
    max_block_records: int | None
    unit_records: int | str | None
    executor: ExecutorName
    scheduler: str | None
    max_failures: Mapping[str, int | str]
    method: str
    params: Mapping[str, Param | list[str | int | float]]
    aggregator: str | None
    rule_timeout: float
    recode: Mapping[str, str | PathLike[str]]
    allow_lost: Fields
    key_k: int | None
    keys: Mapping[str, int | bool | Mapping[str, float]]
    pram: Mapping[str, str | PathLike[str]]
    swap: Mapping[str, Fields | str | float | None]
    register: Register | Mapping[str, str | PathLike[str]] | str | PathLike[str] | None
    on_refusal: OnRefusal


def takes[F: Callable[..., Any]](kind: type[FieldSettings]) -> Callable[[F], F]:
    """Show settings in the signature and the docstring of a function that takes them as ``**settings``.

    Type checkers and editors read ``Unpack[Settings]``; `help` and `inspect` read what this leaves. The sentences are
    those of `Config`, in numpydoc's section of other parameters.
    """

    def shown(function: F) -> F:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        described = _described()
        names = [name for name in described if name in kind.__annotations__]
        hints, defaults = get_type_hints(kind), Config()
        added = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=getattr(defaults, name), annotation=hints[name]
            )
            for name in names
        ]
        function.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        if function.__doc__ is not None:
            section = ["Other Parameters", "----------------", *(line for name in names for line in described[name])]
            text = "\n".join(f"    {line}".rstrip() for line in section)
            function.__doc__ = function.__doc__.replace("    Returns\n", f"{text}\n\n    Returns\n", 1)
        return function

    return shown


def _described() -> dict[str, list[str]]:
    """Take the entries of the section of attributes from the docstring of `Config`, by name and in its order."""
    entries: dict[str, list[str]] = {}
    for line in inspect.cleandoc(Config.__doc__ or "").splitlines():
        if start := re.match(r"(\w+) : ", line):
            entries[start[1]] = []
        if entries and line:
            next(reversed(entries.values())).append(line)
    return entries or {name: [] for name in Settings.__annotations__}

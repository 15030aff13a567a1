"""A survey as the generator sees it: records, the faults to plant in its invalid version, and the XML text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

type Record = dict[str, str | None]
"""Field texts in document order: None is an absent element, '' an empty one; ``@name`` is an attribute."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A record with records in it, such as a household with its persons: the members stand behind its own fields."""

    own: Record
    members: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """The names of the elements; with a prefix they stand in the namespace."""

    root: str
    record: str
    prefix: str = ""
    namespace: str = ""
    member: str = ""


@dataclass(frozen=True, slots=True)
class Fault[T]:
    """A known violation: ``times`` records that match ``where`` are changed and then break each of ``rules``."""

    rules: tuple[str, ...]
    times: int
    change: Callable[[T], T]
    where: Callable[[T], bool] = field(default=lambda record: True)


def plant[T](records: Iterable[T], faults: Iterable[Fault[T]]) -> tuple[list[T], dict[str, int]]:
    """Return a copy of the records with the faults in it, and how often each rule then fails.

    Every fault takes records of its own, far enough apart that no record carries two.

    Raises
    ------
    ValueError
        When fewer records than asked for match a fault.
    """
    copies = list(records)
    free = list(_scattered(len(copies)))
    failed: Counter[str] = Counter()
    for fault in faults:
        taken = [i for i in free if fault.where(copies[i])][: fault.times]
        if len(taken) < fault.times:
            raise ValueError(f"too few records for the fault {', '.join(fault.rules)}")
        for i in taken:
            copies[i] = fault.change(copies[i])
            free.remove(i)
        failed.update(dict.fromkeys(fault.rules, 0))
        for rule in fault.rules:
            failed[rule] += fault.times
    return copies, dict(sorted(failed.items()))


def _scattered(count: int) -> Iterator[int]:
    """Yield all positions but the first, spread over the file: 17 apart, then those left over."""
    for start in range(1, 18):
        yield from range(start, count, 17)


def to_xml(shape: Shape, records: Iterable[Record] | Iterable[Unit]) -> str:
    """Write the records, one field a line."""
    prefix = f"{shape.prefix}:" if shape.prefix else ""
    declaration = f" xmlns:{shape.prefix}={quoteattr(shape.namespace)}" if shape.prefix else ""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<{prefix}{shape.root}{declaration}>"]
    for record in records:
        own, members = (record.own, record.members) if isinstance(record, Unit) else (record, ())
        inner = [line for member in members for line in _element(prefix, shape.member, member)]
        lines += _element(prefix, shape.record, own, inner)
    lines.append(f"</{prefix}{shape.root}>")
    return "\n".join(lines) + "\n"


def _element(prefix: str, name: str, record: Record, inner: Iterable[str] = ()) -> Iterator[str]:
    """Yield the lines of a record, with those of what stands behind its fields."""
    attributes = "".join(
        f" {field[1:]}={quoteattr(text)}"
        for field, text in record.items()
        if field.startswith("@") and text is not None
    )
    yield f"<{prefix}{name}{attributes}>"
    for child, text in record.items():
        if not child.startswith("@") and text is not None:
            yield f"<{prefix}{child}>{escape(text)}</{prefix}{child}>" if text else f"<{prefix}{child}/>"
    yield from inner
    yield f"</{prefix}{name}>"

"""A survey as the generator sees it: records, the faults to plant in its invalid version, and the XML text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

type Record = dict[str, str | None]
"""Field texts in document order: None is an absent element, '' an empty one; ``@name`` is an attribute."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The names of the elements; with a prefix they stand in the namespace."""

    root: str
    record: str
    prefix: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """A known violation: ``times`` records that match ``where`` are changed and then break each of ``rules``."""

    rules: tuple[str, ...]
    times: int
    change: Callable[[Record], Mapping[str, str | None]]
    where: Callable[[Record], bool] = field(default=lambda record: True)


def plant(records: Iterable[Record], faults: Iterable[Fault]) -> tuple[list[Record], dict[str, int]]:
    """Return a copy of the records with the faults in it, and how often each rule then fails.

    Every fault takes records of its own, far enough apart that no record carries two.

    Raises
    ------
    ValueError
        When fewer records than asked for match a fault.
    """
    copies = [dict(record) for record in records]
    free = list(_scattered(len(copies)))
    failed: Counter[str] = Counter()
    for fault in faults:
        taken = [i for i in free if fault.where(copies[i])][: fault.times]
        if len(taken) < fault.times:
            raise ValueError(f"too few records for the fault {', '.join(fault.rules)}")
        for i in taken:
            copies[i].update(fault.change(copies[i]))
            free.remove(i)
        failed.update(dict.fromkeys(fault.rules, 0))
        for rule in fault.rules:
            failed[rule] += fault.times
    return copies, dict(sorted(failed.items()))


def _scattered(count: int) -> Iterator[int]:
    """Yield all positions but the first, spread over the file: 17 apart, then those left over."""
    for start in range(1, 18):
        yield from range(start, count, 17)


def to_xml(shape: Shape, records: Iterable[Record]) -> str:
    """Write the records, one field a line."""
    prefix = f"{shape.prefix}:" if shape.prefix else ""
    declaration = f" xmlns:{shape.prefix}={quoteattr(shape.namespace)}" if shape.prefix else ""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<{prefix}{shape.root}{declaration}>"]
    for record in records:
        attributes = "".join(
            f" {name[1:]}={quoteattr(text)}"
            for name, text in record.items()
            if name.startswith("@") and text is not None
        )
        lines.append(f"<{prefix}{shape.record}{attributes}>")
        lines += [
            f"<{prefix}{name}>{escape(text)}</{prefix}{name}>" if text else f"<{prefix}{name}/>"
            for name, text in record.items()
            if not name.startswith("@") and text is not None
        ]
        lines.append(f"</{prefix}{shape.record}>")
    lines.append(f"</{prefix}{shape.root}>")
    return "\n".join(lines) + "\n"

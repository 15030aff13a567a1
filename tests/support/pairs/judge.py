"""Judge a written file without masktron: by libxml2 record by record, and by the stylesheets of `xslt_oracle`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lxml import etree

from pairs.spelling import SCH
from xslt_oracle import evaluate


def violations(rules: Path, data: Path, original: Path) -> dict[str, int]:
    """Count violations by check, the most that any engine sees; every check has to fire alike in all engines.

    XPath 1.0 is judged by libxml2 on each record, by libxslt and by Saxon; XPath 2.0 by Saxon.
    """
    modern = etree.parse(str(rules)).getroot().get("queryBinding") == "xslt2"
    outcomes = [evaluate(rules, data, original)]
    counts: Counter[str] = Counter()
    if not modern:
        outcomes.append(evaluate(rules, data, original, engine="libxslt"))
        fired, failed = by_record(rules, data, original)
        if fired != {check: count for check, count in outcomes[0].fired.items() if count}:
            counts["fired alike"] = 1
        counts |= Counter(failed)
    for outcome in outcomes:
        counts |= Counter(outcome.broken)
        if outcome.fired != outcomes[0].fired:
            counts["fired alike"] = 1
    return dict(counts)


def by_record(rules: Path, data: Path, original: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Evaluate XPath 1.0 rules with libxml2's XPath, node by node: fired and failed counts."""
    schema = etree.parse(str(rules)).getroot()
    document: Any = etree.parse(str(data))  # lxml's types do not know what an expression returns
    source = etree.parse(str(original)).getroot()
    here: list[etree._Element] = []
    extensions = {(None, "document"): lambda _, __: [source], (None, "current"): lambda _: here[-1:]}
    fired: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for pattern in schema.iter(f"{{{SCH}}}pattern"):
        taken: set[etree._Element] = set()
        for rule in pattern.iter(f"{{{SCH}}}rule"):
            for node in document.xpath(f"//{rule.get('context')}", extensions=extensions):
                if node in taken:
                    continue
                taken.add(node)
                here.append(node)
                values = {let.get("name", ""): node.xpath(let.get("value", "")) for let in rule.iter(f"{{{SCH}}}let")}
                for check in rule.iter(f"{{{SCH}}}assert", f"{{{SCH}}}report"):
                    name = check.get("id", "")
                    test = f"boolean({check.get('test')})"
                    truth = etree.XPath(test, extensions=extensions)(node, **values)
                    fired[name] += 1
                    failed[name] += truth != (check.tag == f"{{{SCH}}}assert")
    return dict(fired), {name: count for name, count in failed.items() if count}


def table(path: Path) -> list[dict[str, str | None]]:
    """Read the records of a plain file: lexemes by field, attributes with ``@``."""
    root: Any = etree.parse(str(path)).getroot()
    return [
        {f"@{key}": value for key, value in record.attrib.items()} | {field.tag: field.text or "" for field in record}
        for record in root
    ]


def smallest_group(records: Sequence[Mapping[str, str | None]], names: Iterable[str]) -> int:
    """Count the records that share all values of some fields, where they are fewest."""
    names = list(names)
    return min(Counter(tuple(record.get(name) for name in names) for record in records).values())


def follow(
    records: Sequence[Mapping[str, str | None]],
    grouped: Iterable[str],
    unmasked: Iterable[str],
    solved: Iterable[str],
    k: int,
) -> bool:
    """Tell whether solved fields are functions of the grouped and the unmasked ones, or shared by k records."""
    shared, others, last = list(grouped), list(unmasked), list(solved)
    seen: dict[tuple[str | None, ...], set[tuple[str | None, ...]]] = {}
    for record in records:
        key = tuple(record.get(name) for name in (*shared, *others))
        seen.setdefault(key, set()).add(tuple(record.get(name) for name in last))
    sizes = Counter(tuple(record.get(name) for name in (*shared, *last)) for record in records)
    return all(
        len(seen[tuple(record.get(name) for name in (*shared, *others))]) == 1
        or sizes[tuple(record.get(name) for name in (*shared, *last))] >= k
        for record in records
    )


def changed(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], names: Iterable[str]) -> bool:
    """Tell whether a field that must stay as it is differs in some record."""
    names = list(names)
    return any(old.get(name) != new.get(name) for old, new in zip(before, after, strict=True) for name in names)

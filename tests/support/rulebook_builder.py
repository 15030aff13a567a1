"""Rulebooks for tests, without a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from masktron.classify import Edit, classify
from masktron.rulebook.schema import Check, Let, Origin, Pattern, Rule, Rulebook, XPathVersion
from masktron.sources.record_layout import Field, Layout

HERE = Origin("test.sch", 1)


def lets(values: Mapping[str, str]) -> tuple[Let, ...]:
    return tuple(Let(name, value, HERE) for name, value in values.items())


def rulebook(
    rules: Sequence[tuple[str, str]],
    *,
    version: XPathVersion = "1.0",
    kind: Literal["assert", "report"] = "assert",
    namespaces: Mapping[str, str] | None = None,
    rule_lets: Mapping[str, str] | None = None,
    pattern_lets: Mapping[str, str] | None = None,
    schema_lets: Mapping[str, str] | None = None,
) -> Rulebook:
    """One pattern whose rules have a context and a test each."""
    made = tuple(
        Rule(
            context,
            lets(rule_lets or {}),
            (Check(f"rule-{index + 1}", index, kind, test, (), Origin("test.sch", index + 1)),),
            Origin("test.sch", index + 1),
        )
        for index, (context, test) in enumerate(rules)
    )
    pattern = Pattern("pattern-1", lets(pattern_lets or {}), made, HERE, version)
    spaces = {"xs": "http://www.w3.org/2001/XMLSchema", **(namespaces or {})}
    binding = {"1.0": "xslt", "2.0": "xslt2", "3.0": "xslt3", "3.1": "xpath31"}[version]
    return Rulebook(Path("test.sch"), binding, tuple(spaces.items()), lets(schema_lets or {}), (pattern,))


def layout(*names: str, record: str = "Record", namespace: str = "") -> Layout:
    def tag(name: str) -> str:
        return f"{{{namespace}}}{name}" if namespace else name

    fields = tuple(Field(n, tag(n.lstrip("@")), attribute=n.startswith("@")) for n in names)
    return Layout((tag("Records"), tag(record)), fields)


def edit_of(test: str, *, context: str = "Record", of: Layout | None = None, **options: object) -> Edit:
    """Classify one test."""
    return classify(rulebook([(context, test)], **options), of)[0]  # type: ignore[arg-type]

"""Each abstract pattern of rules/patterns.sch says what its comment promises, in both families of XPath."""

from __future__ import annotations

import re
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from lxml import etree

from paths import RULES
from xslt_oracle import SCH, Engine, evaluate

PATTERNS = RULES / "patterns.sch"
BINDINGS: tuple[tuple[str, Engine], ...] = (("xslt", "libxslt"), ("xslt", "saxon"), ("xslt2", "saxon"))

CASES: dict[str, tuple[dict[str, str], list[str], list[str]]] = {
    "sum": (
        {"parts": "number(A) + number(B)", "total": "C"},
        ["<A>1</A><B>2</B><C>3</C>", "<A>-1</A><B>1</B><C>0.0</C>"],
        ["<A>1</A><B>2</B><C>4</C>", "<A>1</A><B>2</B><C>2</C>", "<A>1</A><B/><C>1</C>", "<A>1</A><B>2</B>"],
    ),
    "balance": (
        {"parts": "number(A) - number(B)", "total": "C", "tolerance": "0.5"},
        ["<A>3</A><B>2</B><C>1.5</C>", "<A>3</A><B>2</B><C>0.5</C>", "<A>3</A><B>2</B><C>1</C>"],
        ["<A>3</A><B>2</B><C>1.75</C>", "<A>3</A><B>2</B><C>0.25</C>", "<A>3</A><C>3</C>", "<A>3</A><B>2</B>"],
    ),
    "product": (
        {"factors": "number(A) * number(B)", "result": "C"},
        ["<A>2</A><B>1.5</B><C>3</C>", "<A>0</A><B>9</B><C>0</C>"],
        ["<A>2</A><B>1.5</B><C>3.1</C>", "<A/><B>1</B><C>0</C>"],
    ),
    "ratio": (
        {"numerator": "A", "denominator": "B", "low": "0.5", "high": "2"},
        ["<A>1</A><B>2</B>", "<A>4</A><B>2</B>", "<A>-1</A><B>-1</B>"],
        ["<A>5</A><B>2</B>", "<A>1</A><B>3</B>", "<A>1</A><B>0</B>", "<A>0</A><B>0</B>", "<A>1</A>"],
    ),
    "range": (
        {"field": "A", "low": "-1", "high": "7500"},
        ["<A>-1</A>", "<A>7500</A>", "<A> 800 </A>"],
        ["<A>-1.01</A>", "<A>7501</A>", "<A/>", "<B>1</B>", "<A>many</A>"],
    ),
    "codes": (
        {"field": "A", "codes": "NO EA 01"},
        ["<A>NO</A>", "<A>EA</A>", "<A>01</A>"],
        ["<A>N</A>", "<A>NO EA</A>", "<A>1</A>", "<A/>", "<A> </A>", "<B>NO</B>", "<A>no</A>"],
    ),
    "integer": (
        {"field": "A"},
        ["<A>18</A>", "<A>-3</A>", "<A>4.0</A>"],
        ["<A>18.5</A>", "<A/>", "<B>1</B>", "<A>x</A>"],
    ),
    "order": (
        {"lesser": "A", "greater": "B"},
        ["<A>9</A><B>10</B>", "<A>10</A><B>10.0</B>", "<A>-10</A><B>-9</B>"],
        ["<A>10</A><B>9</B>", "<A>1</A>", "<A/><B>1</B>"],
    ),
    "if-then": (
        {"antecedent": "number(A) < 10", "consequent": "number(B) = 0 or C = 'x'", "shown": "concat(A, '/', B)"},
        ["<A>9</A><B>0</B>", "<A>10</A><B>1</B>", "<A/><B>1</B>", "<B>1</B>", "<A>9</A><C>x</C>"],
        ["<A>9</A><B>1</B>", "<A>9</A>", "<A>-1</A><B/><C>y</C>"],
    ),
    "combinations": (
        {"allowed": "A = 'a' or (A = 'b' and B != 'c')", "shown": "concat(A, '/', B)"},
        ["<A>a</A><B>c</B>", "<A>b</A><B>d</B>"],
        ["<A>b</A><B>c</B>", "<A>z</A><B>d</B>", "<A>b</A>"],
    ),
    "domain": (
        {"field": "A", "original": "document('original.xml')//R/A"},
        ["<A>5</A>", "<A>7</A>"],
        ["<A>6</A>", "<A>5.0</A>", "<A/>", "<B>5</B>"],
    ),
    "unique": (
        {"key": "@id"},
        ["id='1'>", "id='2'>", ">", ">"],
        ["id='1'>", "id='2'>"],
    ),
}  # fmt: skip


def rulebook(folder: Path, name: str, params: dict[str, str], binding: str) -> Path:
    listed = "".join(f"<param name={quoteattr(key)} value={quoteattr(value)}/>" for key, value in params.items())
    path = folder / "rules.sch"
    path.write_text(
        f'<schema xmlns="{SCH}" queryBinding="{binding}"><extends href="patterns.sch"/>'
        f'<pattern id="mine" is-a="{name}"><param name="record" value="R"/>{listed}</pattern></schema>'
    )
    (folder / "patterns.sch").write_bytes(PATTERNS.read_bytes())
    return path


def document(folder: Path, name: str, bodies: list[str]) -> Path:
    """Write records; a body that does not begin with an element begins with the attributes of the record."""
    starts = ("<R>" if body.startswith("<") else "<R " for body in bodies)
    path = folder / name
    path.write_text(
        "<F>" + "".join(start + body + "</R>" for start, body in zip(starts, bodies, strict=True)) + "</F>"
    )
    return path


def abstract() -> list[etree._Element]:
    return [p for p in etree.parse(str(PATTERNS)).iter(f"{{{SCH}}}pattern") if p.get("abstract") == "true"]


def test_every_abstract_pattern_has_cases() -> None:
    assert [p.get("id") for p in abstract()] == list(CASES)


@pytest.mark.parametrize("pattern", abstract(), ids=lambda p: str(p.get("id")))
def test_a_pattern_uses_exactly_its_parameters_and_has_one_check(pattern: etree._Element) -> None:
    texts = " ".join(str(text) for element in pattern.iter("{*}*") for text in element.attrib.values())
    assert set(re.findall(r"\$([\w-]+)", texts)) == {"record", *CASES[str(pattern.get("id"))][0]}
    (check,) = pattern.iter(f"{{{SCH}}}assert", f"{{{SCH}}}report")
    assert check.get("id") is None


@pytest.mark.parametrize(("binding", "engine"), BINDINGS)
@pytest.mark.parametrize("name", CASES)
def test_a_pattern_accepts_and_rejects(tmp_path: Path, name: str, binding: str, engine: Engine) -> None:
    params, good, bad = CASES[name]
    rules = rulebook(tmp_path, name, params, binding)
    original = document(tmp_path, "original.xml", ["<A>5</A>", "<A>7</A>"])
    accepted = evaluate(rules, document(tmp_path, "good.xml", good), original, engine)
    assert (accepted.fired, accepted.broken) == ({"mine": len(good)}, {})
    if name == "unique":
        rejected = evaluate(rules, document(tmp_path, "bad.xml", good + bad), original, engine)
        assert rejected.broken == {"mine": len(bad)}
        return
    for body in bad:
        rejected = evaluate(rules, document(tmp_path, "bad.xml", [body]), original, engine)
        assert rejected.broken == {"mine": 1}, body

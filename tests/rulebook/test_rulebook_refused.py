"""What is refused in a rulebook, and where the error says it stands; no engine and no foreign file is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from examples import parts
from masktron.errors import Exit, RulebookError
from masktron.problems.problem import Known, Problem
from masktron.rulebook.expressions.forbidden import FORBIDDEN
from masktron.rulebook.functions import FUNCTIONS, not_in_version
from masktron.rulebook.schematron.reader import read_rules
from refusals import problem_of, refused

ISO = 'xmlns="http://purl.oclc.org/dsdl/schematron"'
FN = "Q{http://www.w3.org/2005/xpath-functions}"
FUNCTIONS_1 = tuple(sorted(name for name, first in FUNCTIONS.items() if first == "1.0"))


def refused_by(folder: Path, body: str, code: str, head: str = "", phase: str | None = None, **names: Any) -> str:
    """Return where the error stands that a rulebook ends in."""
    path = folder / "rules.sch"
    path.write_text(f"<schema {ISO} {head}>\n{body}</schema>", encoding="utf-8")
    with refused(RulebookError, code, **names) as caught:
        read_rules(path, phase)
    assert caught.value.exit_code == Exit.RULEBOOK
    assert ".sch" in caught.value.where
    return caught.value.where.partition(", rule ")[0]


def rule(inside: str, context: str = "Record") -> str:
    return f'<pattern><rule context="{context}">{inside}</rule></pattern>'


OK = rule('<assert test="1"/>')
ABSTRACT = '<rule abstract="true" id="a">'
XSL = 'xmlns:x="http://www.w3.org/1999/XSL/Transform"'
STRUCTURE = [
    ("", "nothing-to-check", {"lacking": "pattern"}),
    ("<pattern/>", "nothing-to-check", {"lacking": "assert or report"}),
    (rule(""), "nothing-to-check", {"scope": "the rulebook"}),
    (rule("<assert>x</assert>"), "attribute-missing", {"element": "assert", "attribute": "test"}),
    (rule('<assert test=" "/>'), "attribute-missing", {"element": "assert", "attribute": "test"}),
    ("<pattern><rule/></pattern>", "attribute-missing", {"element": "rule", "attribute": "context"}),
    (rule('<assert test="1"><value-of/></assert>'), "attribute-missing", {"element": "value-of"}),
    (rule('<let name="x"><a/></let><assert test="1"/>'), "not-supported", {"construct": "this content of <let>"}),
    (rule('<let name="x" value="1"/><let name="x" value="2"/><assert test="1"/>'), "name-taken", {"name": "$x"}),
    (rule('<let name="1x" value="1"/><assert test="1"/>'), "bad-value", {"name": "let/@name", "given": "'1x'"}),
    (rule('<let name="x" as="xs:integer" value="1"/><assert test="1"/>'), "not-supported", {"construct": "let/@as"}),
    (rule('<assert test="1" id="a"/><assert test="1" id="a"/>'), "name-taken", {"kind": "id", "name": "a"}),
    (rule('<extends rule="none"/><assert test="1"/>'), "unknown-name", {"kind": "abstract rule", "name": "none"}),
    (
        rule('<let name="x" value="1"/><assert test="1 = $(: c :)x"/>'),
        "xpath-error",
        {"reason": "not-in-version"},
    ),
    (rule("<asert test='1'/>"), "not-allowed-here", {"child": "<asert>", "parent": "<rule>"}),
    (OK.replace("<pattern>", '<pattern documents="d">'), "not-supported", {"construct": "pattern/@documents"}),
    (f"<x:template {XSL}/>{OK}", "not-supported", {"construct": "the foreign element <x:template>"}),
    (f"<key {XSL.replace(':x', '')}/>{OK}", "attribute-missing", {"element": "xsl:key"}),
    ('<pattern is-a="none"/>' + OK, "unknown-name", {"kind": "abstract pattern", "name": "none"}),
    ('<pattern abstract="true"/>' + OK, "attribute-missing", {"attribute": "id"}),
    ('<pattern id="p"/><pattern is-a="p"/>' + OK, "unknown-name", {"kind": "abstract pattern", "name": "p"}),
    ('<phase id="a"><active pattern="none"/></phase>' + OK, "unknown-name", {"kind": "pattern", "name": "none"}),
    ('<ns prefix="p" uri="a"/><ns prefix="p" uri="b"/>' + OK, "name-taken", {"kind": "prefix", "first": "for a"}),
    (
        f'<pattern>{ABSTRACT}<extends rule="b"/></rule>'
        f'<rule abstract="true" id="b"><extends rule="a"/></rule></pattern>{OK}',
        "refers-to-itself",
        {"name": "the rule"},
    ),
    (
        f'<pattern>{ABSTRACT}<assert test="1"/></rule><rule context="R">{2 * '<extends rule="a"/>'}</rule></pattern>',
        "given-twice",
        {"one": "an <extends>"},
    ),
]


@pytest.mark.parametrize(("body", "code", "names"), STRUCTURE)
def test_structure(tmp_path: Path, body: str, code: str, names: dict[str, str]) -> None:
    refused_by(tmp_path, body, code, **names)


def test_phases(tmp_path: Path) -> None:
    body = f'<phase id="one"/>{OK}'
    refused_by(tmp_path, body, "unknown-name", phase="two", kind="phase", name="two", known=("one", "#ALL"))
    refused_by(tmp_path, body, "nothing-to-check", phase="one", scope="the phase 'one'", lacking="pattern")


@pytest.mark.parametrize("binding", ["exslt", "stx", "xquery", "python"])
def test_an_unknown_binding(tmp_path: Path, binding: str) -> None:
    refused_by(tmp_path, OK, "bad-value", f'queryBinding="{binding}"', name="queryBinding", given=repr(binding))


@pytest.mark.parametrize("head", parts(["", 'queryBinding="xslt2"', 'queryBinding="xslt3"'], 2))
@pytest.mark.parametrize("function", sorted(FORBIDDEN))
def test_forbidden_functions(tmp_path: Path, function: str, head: str) -> None:
    for test in (f"{function}('a')", f"not( {function} (: c :) ('a'))", f"V1[{function}()]"):
        body = rule(f'<assert test="{test}"/>')
        where = refused_by(tmp_path, body, "forbidden-function", head, function=function, reason=FORBIDDEN[function])
        assert where.endswith("rules.sch:2")
    refused_by(tmp_path, rule(f'<assert test="1 + 1)) {function}("/>'), "xpath-error", head)


@pytest.mark.parametrize(
    ("test", "function"),
    [
        ("unparsed-text#1", "unparsed-text"),
        ("fn:unparsed-text('a')", "fn:unparsed-text"),
        (f"{FN}unparsed-text('a')", f"{FN}unparsed-text"),
        ("ext:f(V1)", "ext:f"),
        ("math:max(V1)", "math:max"),
        ("Q{urn:x}f(1)", "Q{urn:x}f"),
        ("document(V1)//a", "document"),
        ("document('')//a", "document"),
        ("document('a.xml', .)", "document"),
        ("position() = 1", "position"),
        ("V1 and last() > 2", "last"),
    ],
)
def test_forbidden_calls(tmp_path: Path, test: str, function: str) -> None:
    body = '<ns prefix="ext" uri="urn:x"/><ns prefix="math" uri="http://exslt.org/math"/>'
    body += rule(f'<assert test="{test}"/>')
    refused_by(tmp_path, body, "forbidden-function", 'queryBinding="xslt3"', function=function)


PLACES = [
    '<let name="x" value="{}"/>' + OK,
    rule('<let name="x" value="{}"/><assert test="1"/>'),
    rule('<assert test="1"/>', "Record[{}]"),
    rule('<assert test="1"><value-of select="{}"/></assert>'),
    rule('<assert test="1"><name path="{}"/></assert>'),
    rule('<report test="{}"/>'),
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("head", ["", 'queryBinding="xslt2"'])
def test_every_expression_is_screened_and_compiled(tmp_path: Path, place: str, head: str) -> None:
    for expression, code, reason in (
        ("system-property('x')", "forbidden-function", "it reads the machine's settings"),
        ("V1 = ", "xpath-error", None),
        ("$none", "xpath-error", "unknown-name"),
        ("nothing(V1)", "xpath-error", None),
        ("no:V1", "xpath-error", None),
        ("'open", "xpath-error", None),
    ):
        names = {} if reason is None else {"reason": reason}
        assert refused_by(tmp_path, place.format(expression), code, head, **names).endswith("rules.sch:2")


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("exists(V1)", not_in_version("1.0", "function exists()", "2.0")),
        ("foo(V1)", Problem("unknown-name", kind="function", name="foo()", known=Known("foo", FUNCTIONS_1))),
        ("no:V1", Problem("prefix-not-declared", prefix="no")),
        ("V1 eq 3", not_in_version("1.0", "'eq' (character 4)", "2.0")),
        ("V1 and and V2", "unexpected 'V2' (character 12)"),
        ("V1 =", "something is missing at the end"),
    ],
)  # fmt: skip
def test_what_is_wrong_and_where(tmp_path: Path, test: str, reason: Problem | str) -> None:
    path = tmp_path / "rules.sch"
    path.write_text(f"<schema {ISO}>{rule(f'<assert id="R" test="{test}"/>')}</schema>")
    with refused(RulebookError, "xpath-error", expression=repr(test), where=f"{path}:1, rule R") as caught:
        read_rules(path)
    assert problem_of(caught.value).references["reason"] == reason


@pytest.mark.parametrize("test", ["if (V1) then V2 else V3", "some $x in V1 satisfies $x", "(1, 2) = V1", "V1 eq 3"])
def test_the_version_decides_what_is_xpath(tmp_path: Path, test: str) -> None:
    refused_by(tmp_path, rule(f'<assert test="{test}"/>'), "xpath-error")
    path = tmp_path / "two.sch"
    path.write_text(f'<schema {ISO} queryBinding="xslt2">{rule(f"<assert test={chr(34)}{test}{chr(34)}/>")}</schema>')
    assert read_rules(path).checks[0].test == test


SECRET = f'<pattern {ISO}><rule context="Record"><assert test="secret"/></rule></pattern>'


@pytest.mark.parametrize(
    "href",
    [
        "../out.sch",
        "in/../../out.sch",
        "%2e%2e/out.sch",
        "..%2Fout.sch",
        "file:///etc/passwd",
        "http://example.org/a",
        "/etc/passwd",
        "\\\\host\\share",
        "C:/x",
        "link.sch",
        "folder/out.sch",
        "",
        "none.sch",
        "in",
        "in/#x",
    ],
)
@pytest.mark.parametrize("element", ["include", "extends"])
def test_inclusions_stay_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, href: str, element: str
) -> None:
    folder = tmp_path / "rules"
    (folder / "in").mkdir(parents=True)
    (tmp_path / "out.sch").write_text(SECRET)
    (folder / "link.sch").symlink_to(tmp_path / "out.sch")
    (folder / "folder").symlink_to(tmp_path)
    opened: list[Path] = []
    real = Path.open

    def spy(self: Path, *args: object, **kwargs: object) -> object:
        opened.append(self)
        return real(self, *args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", spy)
    assert refused_by(folder, f'\n<{element} href="{href}"/>{OK}', "bad-href", href=href).endswith("rules.sch:3")
    assert {path.name for path in opened} == {"rules.sch"}


def test_inclusion_cycles(tmp_path: Path) -> None:
    (tmp_path / "a.sch").write_text(f'<pattern {ISO}>\n<include href="b.sch"/></pattern>')
    (tmp_path / "b.sch").write_text(f'<rule {ISO} context="R"><include href="./a.sch"/></rule>')
    body = '<include href="a.sch"/>'
    assert refused_by(tmp_path, body, "refers-to-itself", name="./a.sch") == f"{tmp_path / 'b.sch'}:1"


@pytest.mark.parametrize(
    ("included", "body", "code", "names"),
    [
        (f"<schema {ISO}>{OK}</schema>", "include", "cannot-include", {"element": "include", "found": "schema"}),
        (f"<schema {ISO} queryBinding='xslt3'>{OK}</schema>", "extends", "bad-value", {"given": "'xslt3'"}),
        (f'<pattern {ISO}><rule context="R"><assert test="V1 ="/></rule></pattern>', "include", "xpath-error", {}),
    ],
)
def test_included_files(tmp_path: Path, included: str, body: str, code: str, names: dict[str, str]) -> None:
    (tmp_path / "a.sch").write_text(included)
    where = refused_by(tmp_path, f'<{body} href="a.sch"/>', code, **names)
    assert where == f"{tmp_path / ('a.sch:1' if code == 'xpath-error' else 'rules.sch:2')}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<schema",
        "<html/>",
        '<schema xmlns="urn:other"/>',
        "plain",
        '<!DOCTYPE s [<!ENTITY a "b">]><schema>&a;</schema>',
    ],
)
def test_what_is_no_schematron_at_all(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rules.sch"
    path.write_text(text)
    with pytest.raises(RulebookError):
        read_rules(path)


def test_a_missing_rulebook(tmp_path: Path) -> None:
    with refused(RulebookError, "cannot-read"):
        read_rules(tmp_path / "none.sch")

"""What is refused in a rulebook, and where the error says it stands; no engine and no foreign file is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples import parts
from masktron.errors import Exit, RulebookError
from masktron.rulebook.forbidden import FORBIDDEN
from masktron.rulebook.schematron.reader import read_rules

ISO = 'xmlns="http://purl.oclc.org/dsdl/schematron"'


def refused(folder: Path, body: str, head: str = "", phase: str | None = None) -> RulebookError:
    path = folder / "rules.sch"
    path.write_text(f"<schema {ISO} {head}>\n{body}</schema>", encoding="utf-8")
    with pytest.raises(RulebookError) as caught:
        read_rules(path, phase)
    assert caught.value.exit_code == Exit.RULEBOOK
    assert "rules.sch:" in caught.value.where or ".sch" in caught.value.where
    return caught.value


def rule(inside: str, context: str = "Record") -> str:
    return f'<pattern><rule context="{context}">{inside}</rule></pattern>'


OK = rule('<assert test="1"/>')
STRUCTURE = [
    ("", "no pattern"),
    ("<pattern/>", "no assert or report"),
    (rule(""), "no assert or report"),
    (rule("<assert>x</assert>"), "<assert> has no test"),
    (rule('<assert test=" "/>'), "<assert> has an empty test"),
    ('<pattern><rule><assert test="1"/></rule></pattern>', "a rule has no context"),
    (rule('<assert test="1"><value-of/></assert>'), "<value-of> has no select"),
    (rule('<let name="x"><a/></let><assert test="1"/>'), "<let> has no value"),
    (rule('<let name="x" value="1"/><let name="x" value="2"/><assert test="1"/>'), "$x is declared twice"),
    (rule('<let name="1x" value="1"/><assert test="1"/>'), "'1x' is not a name"),
    (rule('<let name="x" as="xs:integer" value="1"/><assert test="1"/>'), "let/@as"),
    (rule('<assert test="1" id="a"/><assert test="1" id="a"/>'), "the id 'a' is given twice"),
    (rule('<extends rule="none"/><assert test="1"/>'), "no abstract rule: 'none'"),
    (rule("<asert test='1'/>"), "<asert> is not allowed in <rule>"),
    (rule('<assert test="1"/>').replace("<pattern>", '<pattern documents="d">'), "pattern/@documents"),
    ('<key xmlns="http://www.w3.org/1999/XSL/Transform" name="k" match="a" use="b"/>' + OK, "<key> is foreign"),
    ('<x:function xmlns:x="http://www.w3.org/1999/XSL/Transform" name="f"/>' + OK, "<x:function> is foreign"),
    ('<pattern is-a="none"/>' + OK, "no abstract pattern: 'none'"),
    ('<pattern abstract="true"/>' + OK, "an abstract pattern has no id"),
    ('<pattern id="p"/><pattern is-a="p"/>' + OK, "no abstract pattern: 'p'"),
    ('<phase id="a"><active pattern="none"/></phase>' + OK, "no pattern has the id 'none'"),
    ('<ns prefix="p" uri="a"/><ns prefix="p" uri="b"/>' + OK, "bound to two namespaces"),
    (
        '<pattern><rule abstract="true" id="a"><extends rule="b"/></rule>'
        '<rule abstract="true" id="b"><extends rule="a"/></rule></pattern>' + OK,
        "extends itself",
    ),
    (
        '<pattern><rule abstract="true" id="a"><assert test="1"/></rule>'
        '<rule context="R"><extends rule="a"/><extends rule="a"/></rule></pattern>',
        "extends the same rule twice",
    ),
]


@pytest.mark.parametrize(("body", "what"), STRUCTURE, ids=[what for _, what in STRUCTURE])
def test_structure(tmp_path: Path, body: str, what: str) -> None:
    assert what in refused(tmp_path, body).what


def test_an_unknown_phase_is_named_with_those_there_are(tmp_path: Path) -> None:
    body = f'<phase id="one"/>{OK}'
    error = refused(tmp_path, body, phase="two")
    assert "'two'" in error.what
    assert "one" in error.hint


def test_a_phase_without_checks(tmp_path: Path) -> None:
    assert "the phase 'one' has no pattern" in refused(tmp_path, f'<phase id="one"/>{OK}', phase="one").what


@pytest.mark.parametrize("binding", ["exslt", "stx", "xquery", "python"])
def test_an_unknown_binding(tmp_path: Path, binding: str) -> None:
    assert repr(binding) in refused(tmp_path, OK, f'queryBinding="{binding}"').what


@pytest.mark.parametrize("head", parts(["", 'queryBinding="xslt2"', 'queryBinding="xslt3"'], 2))
@pytest.mark.parametrize("function", sorted(FORBIDDEN))
def test_forbidden_functions(tmp_path: Path, function: str, head: str) -> None:
    spellings = [f"{function}('a')", f"not( {function} (: c :) ('a'))", f"V1[{function}()]", f"1 + 1)) {function}("]
    for test in spellings:
        body = rule(f'<assert test="{test}"/>')
        error = refused(tmp_path, body, head)
        assert function in error.what or "XPath error" in error.what
    named = refused(tmp_path, rule(f"<assert test=\"{function}('a')\"/>"), head)
    assert f"{function}() is forbidden" in named.what
    assert named.where.endswith("rules.sch:2")


@pytest.mark.parametrize(
    "test",
    ["unparsed-text#1", "Q{http://www.w3.org/2005/xpath-functions}unparsed-text('a')", "fn:unparsed-text('a')"],
)
def test_forbidden_functions_by_other_names(tmp_path: Path, test: str) -> None:
    assert "is forbidden" in refused(tmp_path, rule(f'<assert test="{test}"/>'), 'queryBinding="xslt3"').what


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
    for expression, what in (
        ("system-property('x')", "forbidden"),
        ("V1 = ", "XPath error"),
        ("$none", "$none is not declared"),
        ("nothing(V1)", "nothing"),
        ("no:V1", "no"),
        ("'open", "not closed"),
    ):
        error = refused(tmp_path, place.format(expression), head)
        assert what in error.what
        assert error.where.endswith("rules.sch:2")


@pytest.mark.parametrize("test", ["ext:f(V1)", "math:max(V1)", "Q{urn:x}f(1)"])
def test_extension_functions(tmp_path: Path, test: str) -> None:
    body = '<ns prefix="ext" uri="urn:x"/><ns prefix="math" uri="http://exslt.org/math"/>'
    error = refused(tmp_path, body + rule(f'<assert test="{test}"/>'), 'queryBinding="xslt2"')
    assert "extension function" in error.what


def test_a_function_of_a_later_version_comes_with_a_hint(tmp_path: Path) -> None:
    error = refused(tmp_path, rule('<assert test="exists(V1)"/>'))
    assert "no function exists()" in error.what
    assert 'queryBinding="xslt2"' in error.hint


@pytest.mark.parametrize("head", ["", 'queryBinding="xslt2"'])
@pytest.mark.parametrize("test", ["position() = 1", "V1 and last() > 2"])
def test_a_position_without_a_predicate_has_no_meaning(tmp_path: Path, test: str, head: str) -> None:
    assert "outside a predicate" in refused(tmp_path, rule(f'<assert test="{test}"/>'), head).what


@pytest.mark.parametrize(
    ("test", "what"),
    [
        ("document(V1)//a", "literal file name"),
        ("document('')//a", "literal file name"),
        ("document('a.xml', .)", "literal file name"),
    ],
)
def test_documents(tmp_path: Path, test: str, what: str) -> None:
    assert what in refused(tmp_path, rule(f'<assert test="{test}"/>')).what


def test_the_version_decides_what_is_xpath(tmp_path: Path) -> None:
    for test in ("if (V1) then V2 else V3", "some $x in V1 satisfies $x", "(1, 2) = V1", "V1 eq 3"):
        assert "XPath error" in refused(tmp_path, rule(f'<assert test="{test}"/>')).what
        path = tmp_path / "two.sch"
        path.write_text(
            f'<schema {ISO} queryBinding="xslt2">{rule(f"<assert test={chr(34)}{test}{chr(34)}/>")}</schema>'
        )
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
    error = refused(folder, f'\n<{element} href="{href}"/>{OK}')
    assert error.where.endswith("rules.sch:3")
    assert {path.name for path in opened} == {"rules.sch"}


def test_inclusion_cycles(tmp_path: Path) -> None:
    (tmp_path / "a.sch").write_text(f'<pattern {ISO}>\n<include href="b.sch"/></pattern>')
    (tmp_path / "b.sch").write_text(f'<rule {ISO} context="R"><include href="./a.sch"/></rule>')
    error = refused(tmp_path, '<include href="a.sch"/>')
    assert "includes itself" in error.what
    assert error.where == f"{tmp_path / 'b.sch'}:1"


def test_an_included_schema_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "a.sch").write_text(f"<schema {ISO}>{OK}</schema>")
    assert "<extends" in refused(tmp_path, '<include href="a.sch"/>').hint


def test_extended_schemas_share_the_binding(tmp_path: Path) -> None:
    (tmp_path / "a.sch").write_text(f'<schema {ISO} queryBinding="xslt3">{OK}</schema>')
    assert 'queryBinding="xslt3"' in refused(tmp_path, '<extends href="a.sch"/>', 'queryBinding="xslt2"').what


def test_an_error_in_an_included_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "a.sch").write_text(f'<pattern {ISO}>\n<rule context="R">\n<assert test="V1 ="/></rule></pattern>')
    assert refused(tmp_path, '<include href="a.sch"/>').where == f"{tmp_path / 'a.sch'}:3"


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
    with pytest.raises(RulebookError, match="does not exist"):
        read_rules(tmp_path / "none.sch")

"""Functions and keys of XSLT, and variables with content: as a compiled Schematron has them, and safe."""

from __future__ import annotations

from pathlib import Path

import pytest
from saxonche import PySaxonProcessor

import masktron
from cli_runner import SCHEMATRON
from masktron.errors import RulebookError
from masktron.rulebook.schematron.reader import read_rules
from refusals import refused

XSL = "http://www.w3.org/1999/XSL/Transform"
DATA = (
    "<order><code>7300010000001</code><code>7300010000002</code>"
    "<line ref='a'><n>1</n></line><line ref='b'><n>2</n></line><line ref='z'><n>3</n></line>"
    "<item id='a'><x/></item><item id='b'><x/></item></order>"
)
GTIN = """<xsl:function name="u:gtin" as="xs:boolean"><xsl:param name="val"/>
<xsl:variable name="length" select="string-length($val) - 1"/>
<xsl:variable name="digits" select="reverse(
  for $i in string-to-codepoints(substring($val, 0, $length + 1)) return $i - 48)"/>
<xsl:variable name="sum" select="sum(for $i in 1 to $length return
  xs:integer($digits[$i]) * (1 + ((($i + 1) mod 2) * 2)))"/>
<xsl:value-of select="(10 - ($sum mod 10)) mod 10 = xs:integer(substring($val, $length + 1, 1))"/></xsl:function>"""
SIZE = """<xsl:function name="u:size" as="xs:string"><xsl:param name="n" as="xs:integer"/><xsl:choose>
<xsl:when test="$n gt $most"><xsl:text>large</xsl:text></xsl:when><xsl:otherwise>
<xsl:if test="u:even($n)"><xsl:sequence select="'even'"/></xsl:if><xsl:if test="not(u:even($n))">
<xsl:for-each select="1 to 1"><xsl:value-of select="'odd'"/></xsl:for-each></xsl:if></xsl:otherwise></xsl:choose>
</xsl:function>
<xsl:function name="u:even"><xsl:param name="n"/><xsl:sequence select="$n mod 2 = 0"/></xsl:function>"""
KEY = '<xsl:key name="items" match="item" use="@id"/>'


def book(folder: Path, programs: str, *rules: tuple[str, str], lets: str = "", query: str = "xslt2") -> Path:
    path = folder / "book.sch"
    body = "".join(
        f'<rule context="{context}"><assert id="r{at}" test="{test}">m <value-of select="."/></assert></rule>'
        for at, (context, test) in enumerate(rules)
    )
    path.write_text(
        f'<schema xmlns="{SCHEMATRON}" xmlns:xsl="{XSL}" queryBinding="{query}"><ns prefix="u" uri="utils"/>{lets}'
        f'{programs}<pattern id="p">{body}</pattern></schema>'
    )
    return path


def plain_failures(programs: str, rules: tuple[tuple[str, str], ...], lets: str) -> list[int]:
    """Return how many nodes fail each rule by the stylesheet that a plain compiler of Schematron writes."""
    templates = "".join(
        f'<xsl:for-each select="//{context}"><xsl:if test="not({test})">{at} </xsl:if></xsl:for-each>'
        for at, (context, test) in enumerate(rules)
    )
    sheet = (
        f'<xsl:stylesheet version="3.0" xmlns:xsl="{XSL}" xmlns:u="utils" '
        'xmlns:xs="http://www.w3.org/2001/XMLSchema" exclude-result-prefixes="#all"><xsl:output method="text"/>'
        f'{lets}{programs}<xsl:template match="/">{templates}</xsl:template></xsl:stylesheet>'
    )
    with PySaxonProcessor(license=False) as saxon:
        program = saxon.new_xslt30_processor().compile_stylesheet(stylesheet_text=sheet)
        found = str(program.transform_to_string(xdm_node=saxon.parse_xml(xml_text=DATA)) or "").split()
    return [found.count(str(at)) for at in range(len(rules))]


CASES = [
    (GTIN, (("code", "u:gtin(.)"),), "", ""),
    (
        SIZE,
        (("n", "u:size(xs:integer(.)) = ('odd', 'even')"), ("line", "u:size(count(../line)) = 'large'")),
        '<let name="most" value="2"/>',
        '<xsl:variable name="most" select="2"/>',
    ),
    (KEY, (("line", "key('items', @ref)"), ("item", "count(key('items', @id)) = 1")), "", ""),
    (
        "",
        (("line", "@ref = $codes/codes/c"), ("item", "$codes/codes/c[. = current()/@id]/@n = '1'")),
        "<let name='codes'><codes xmlns=''><c n='1'>a</c>\n <c>b &amp; c</c></codes></let>",
        "<xsl:variable name='codes'><codes><c n='1'>a</c>\n <c>b &amp; c</c></codes></xsl:variable>",
    ),
    (
        f"{KEY}<xsl:function name='u:known'><xsl:param name='n'/><xsl:param name='most'/>"
        "<xsl:sequence select=\"exists(key('items', $n/@ref, root($n))) and $most\"/></xsl:function>",
        (("line", "u:known(., true())"), ("code", "every $most in (1, 2) satisfies $most lt 2")),
        '<let name="most" value="2"/>',
        '<xsl:variable name="most" select="2"/>',
    ),
]


@pytest.mark.parametrize(("programs", "rules", "lets", "variables"), CASES)
def test_rules_fail_where_compiled_schematron_fails(
    tmp_path: Path, programs: str, rules: tuple[tuple[str, str], ...], lets: str, variables: str
) -> None:
    data = tmp_path / "order.xml"
    data.write_text(DATA)
    expected = plain_failures(programs, rules, variables)
    assert any(expected)
    found = masktron.validate([data], book(tmp_path, programs, *rules, lets=lets))
    assert [rule.failed for rule in found.rules] == expected
    assert sum(rule.errors for rule in found.rules) == 0


@pytest.mark.parametrize("query", ["xslt", "xslt2", "xslt3"])
def test_keys_and_content_in_each_version(tmp_path: Path, query: str) -> None:
    data = tmp_path / "order.xml"
    data.write_text(DATA)
    content = "<let name='codes'><codes xmlns=''><c>a</c><c>b</c></codes></let>"
    rules = (("line", "key('items', @ref)"), ("item", "@id = $codes/codes/c"))
    found = masktron.validate([data], book(tmp_path, KEY, *rules, lets=content, query=query))
    assert [(rule.fired, rule.failed) for rule in found.rules] == [(3, 1), (2, 0)]
    assert "Saxon" in found.engine
    alone = masktron.validate([data], book(tmp_path, "", rules[1], lets=content, query=query))
    assert [(rule.fired, rule.failed) for rule in alone.rules] == [(2, 0)]


def test_records_have_functions_and_keys_too(tmp_path: Path) -> None:
    data = tmp_path / "data.xml"
    data.write_text(f"<Data>{''.join(f'<Record><A>{i % 3}</A><B>{i}</B></Record>' for i in range(9))}</Data>")
    key = '<xsl:key name="by" match="Record" use="A"/>'
    path = book(tmp_path, key + SIZE, ("Record", "count(key('by', A)) = 3"), lets='<let name="most" value="2"/>')
    assert masktron.validate(data, path).valid
    path = book(tmp_path, SIZE, ("Record", "u:size(xs:integer(B)) = 'even'"), lets='<let name="most" value="6"/>')
    result = masktron.validate(data, path)
    assert result.violations == 5
    assert not [note for note in result.notes if "XPath error" in str(note)], "the engine knows the function"


READS = ("unparsed-text('/etc/passwd')", "document(@x)", "doc('/etc/passwd' || '')", "collection('x')",
         "environment-variable('HOME')", "Q{http://www.w3.org/2005/xpath-functions}unparsed-text('x')",
         "transform(map{})", "parse-xml('x')", "Q{http://saxon.sf.net/}evaluate('1')", "u:other(1)",
         "function-lookup(xs:QName('fn:doc'), 1)('x')", "'/etc/passwd' ! unparsed-text#1(.)")  # fmt: skip


@pytest.mark.parametrize("call", READS)
@pytest.mark.parametrize("where", ["sequence", "variable", "when", "match", "use"])
def test_nothing_in_a_function_or_key_reaches_outside(tmp_path: Path, call: str, where: str) -> None:
    within = {
        "sequence": f'<xsl:sequence select="{call}"/>',
        "variable": f'<xsl:variable name="v"><xsl:for-each select="{call}"/></xsl:variable>',
        "when": f'<xsl:choose><xsl:when test="{call}"/></xsl:choose>',
    }
    program = (
        f"<xsl:function name='u:f'>{within[where]}</xsl:function>"
        if where in within
        else KEY.replace('match="item"' if where == "match" else 'use="@id"', f'{where}="{call}"')
    )
    with refused(RulebookError, "forbidden-function"):
        read_rules(book(tmp_path, KEY + program, ("item", "true()")))


@pytest.mark.parametrize(
    ("program", "construct"),
    [
        ('<xsl:function name="u:f"><xsl:copy-of select="."/></xsl:function>', "xsl:copy-of in xsl:function"),
        ('<xsl:function name="u:f"><xsl:result-document href="x"/></xsl:function>', "xsl:result-document"),
        ('<xsl:function name="u:f"><xsl:evaluate xpath="x"/></xsl:function>', "xsl:evaluate"),
        ('<xsl:function name="u:f"><xsl:variable name="v"><a/></xsl:variable></xsl:function>', "a in xsl:variable"),
        ('<xsl:function name="u:f" extension-element-prefixes="u"/>', "xsl:function/@extension-element-prefixes"),
        ('<xsl:function name="u:f" xsl:version="3.0"/>', "@"),
        ('<xsl:function name="u:f"><xsl:value-of select="1" separator="{doc(\'x\')}"/></xsl:function>', "separator"),
        ('<xsl:key name="k" match="item">x</xsl:key>', "xsl:key without use"),
        ('<xsl:key name="k" match="item" use="@id" collation="http://x"/>', "xsl:key/@collation"),
        ('<xsl:key name="k" match="item" use="document(\'a.xml\')/b"/>', "document() in xsl:key"),
        ('<xsl:key name="k" match="item" use="$x"/>', "a variable in xsl:key"),
        ('<xsl:include href="x.xsl"/>', "xsl:include"),
        ('<xsl:template match="/"/>', "xsl:template"),
        ('<let name="x"><a xmlns="" b="{doc(\'x\')}"/></let>', "content of <let>"),
        (f'<let name="x"><a xmlns="" xsl:use-attribute-sets="b" xmlns:xsl="{XSL}"/></let>', "content of <let>"),
        ('<let name="x"><a xmlns=""><xsl:copy-of select="doc(\'x\')"/></a></let>', "content of <let>"),
        ('<let name="x"><a xmlns=""/><b xmlns=""/></let>', "several elements"),
    ],
)
def test_what_is_not_carried_out_is_refused_by_name(tmp_path: Path, program: str, construct: str) -> None:
    with pytest.raises(RulebookError) as told:
        read_rules(book(tmp_path, program, ("item", "true()")))
    assert told.value.problem.code == "not-supported"
    assert construct in str(told.value.problem.references["construct"])
    assert "book.sch:1" in str(told.value)


def test_key_needs_a_key_and_functions_a_namespace(tmp_path: Path) -> None:
    with refused(RulebookError, "forbidden-function"):
        read_rules(book(tmp_path, "", ("line", "key('items', @ref)")))
    for name in ("f", "fn:doc", "xs:integer", "map:get", "v:f"):
        with refused(RulebookError, "bad-value"):
            read_rules(book(tmp_path, f'<xsl:function name="{name}"/>', ("line", "true()")))
    with refused(RulebookError, "not-supported"):
        read_rules(book(tmp_path, GTIN, ("code", "u:gtin(.)"), query="xslt"))


def test_a_declared_name_allows_no_other_number_of_arguments(tmp_path: Path) -> None:
    path = book(tmp_path, '<xsl:function name="u:evaluate"/>', ("item", "u:evaluate('1', 2)"))
    path.write_text(path.read_text().replace('uri="utils"', 'uri="http://saxon.sf.net/"'))
    with refused(RulebookError, "forbidden-function"):
        read_rules(path)
    with refused(RulebookError, "forbidden-function"):
        read_rules(book(tmp_path, KEY, ("item", "key('items')")))


def test_a_function_that_does_not_end_is_ended(tmp_path: Path) -> None:
    data = tmp_path / "order.xml"
    data.write_text(DATA)
    endless = (
        "<xsl:function name='u:f' as='xs:integer'><xsl:param name='n'/>"
        "<xsl:sequence select='u:f($n + 1)'/></xsl:function>"
    )
    path = book(tmp_path, endless, ("item", "u:f(1) = 1"))
    found = masktron.validate([data], path, rule_timeout=2)
    assert not found.valid
    assert found.exit_code in (1, 6)

"""Reading of rulebooks: what is resolved, in which order, and with which origins."""

from __future__ import annotations

from pathlib import Path

import pytest

import masktron
from cli_runner import SCHEMATRON, write_data
from masktron.rulebook.schema import Rulebook, ValueOf
from masktron.rulebook.schematron.reader import read_rules
from paths import RULEBOOKS

ISO = 'xmlns="http://purl.oclc.org/dsdl/schematron"'


def read(folder: Path, body: str, head: str = "", ns: str = ISO, phase: str | None = None) -> Rulebook:
    path = folder / "rules.sch"
    path.write_text(f"<schema {ns} {head}>{body}</schema>", encoding="utf-8")
    return read_rules(path, phase)


def written(rulebook: Rulebook) -> list[str]:
    return [check.test for check in rulebook.checks]


def test_the_figures_are_read_as_printed() -> None:
    rulebook = read_rules(RULEBOOKS / "figures.sch")
    assert [c.id for c in rulebook.checks] == [
        "EC-LC: V9+V10 = V14",
        "EC-NLC: V5*V15 = V16",
        "EC-PV: V3 in [0, 7500]",
        "EC-LC: if V8 < 1115 then V13 <= V12",
    ]
    assert [c.origin.line for c in rulebook.checks] == [5, 17, 31, 43]
    assert rulebook.version == "1.0"
    assert rulebook.checks[2].message[1] == ValueOf("V3")
    assert any("without a namespace" in note for note in rulebook.notes)


def test_figure_5_names_its_document() -> None:
    rulebook = read_rules(RULEBOOKS / "figure-5.sch")
    assert rulebook.documents == ("microdata.xml",)
    assert rulebook.version == "2.0"
    assert [let.name for let in rulebook.patterns[0].rules[0].lets] == ["original"]


@pytest.mark.parametrize("ns", [ISO, 'xmlns="http://www.ascc.net/xml/schematron"', "", None])
def test_every_namespace_is_read_alike(tmp_path: Path, ns: str | None) -> None:
    body = '<pattern name="p"><rule context="Record"><assert test="V1"/><report test="V2"/></rule></pattern>'
    if ns is None:
        path = tmp_path / "rules.sch"
        path.write_text(
            '<s:schema xmlns:s="http://purl.oclc.org/dsdl/schematron">'
            + body.replace("</", "</@").replace("<", "<s:").replace("<s:/@", "</s:")
            + "</s:schema>"
        )
        rulebook = read_rules(path)
    else:
        rulebook = read(tmp_path, body, ns=ns)
    assert written(rulebook) == ["V1", "V2"]
    assert [c.kind for c in rulebook.checks] == ["assert", "report"]
    assert bool(rulebook.notes) == (ns not in (ISO, None))


def test_a_bare_pattern_is_a_rulebook(tmp_path: Path) -> None:
    path = tmp_path / "rules.sch"
    path.write_text('<pattern name="p"><rule context="Record"><assert test="V1"/></rule></pattern>')
    assert written(read_rules(path)) == ["V1"]


@pytest.mark.parametrize(
    ("binding", "version"),
    [
        ("", "1.0"),
        ("xslt", "1.0"),
        ("xpath", "1.0"),
        ("xslt2", "2.0"),
        ("XPath2", "2.0"),
        ("xslt3", "3.1"),
        ("xpath3", "3.1"),
        ("xpath31", "3.1"),
    ],
)
def test_bindings(tmp_path: Path, binding: str, version: str) -> None:
    head = f'queryBinding="{binding}"' if binding else ""
    rulebook = read(tmp_path, '<pattern><rule context="a"><assert test="1"/></rule></pattern>', head)
    assert rulebook.version == version


def test_document_order_is_kept_where_pyschematron_sorts(tmp_path: Path) -> None:
    rulebook = read(
        tmp_path,
        """<pattern>
          <rule abstract="true" id="shared"><report test="s1"/><let name="x" value="1"/><assert test="s2"/></rule>
          <rule context="Record"><report test="r1"/><assert test="r2"/>
            <extends rule="shared"/><let name="y" value="$x"/><report test="r3 = $y"/></rule>
        </pattern>""",
    )
    assert written(rulebook) == ["r1", "r2", "s1", "s2", "r3 = $y"]
    assert [c.index for c in rulebook.checks] == [0, 1, 2, 3, 4]
    assert [let.name for let in rulebook.patterns[0].rules[0].lets] == ["x", "y"]
    assert [c.origin.line for c in rulebook.checks] == [3, 3, 2, 2, 4]


def test_includes_stand_where_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "rule.sch").write_text(
        f'<rule {ISO} context="Record[V1]"><!-- x -->\n<include href="assert.sch"/></rule>'
    )
    (tmp_path / "part" / "assert.sch").write_text(f'<assert {ISO} test="inc"/>')
    rulebook = read(
        tmp_path,
        '<pattern><rule context="Record[V2]"><assert test="a"/></rule>'
        '<include href="part/rule.sch"/><rule context="Record"><assert test="b"/></rule></pattern>',
    )
    assert written(rulebook) == ["a", "inc", "b"]
    assert [r.context for r in rulebook.patterns[0].rules] == ["Record[V2]", "Record[V1]", "Record"]
    assert str(rulebook.checks[1].origin) == f"{tmp_path / 'part' / 'assert.sch'}:1"


def test_an_include_may_name_one_element(tmp_path: Path) -> None:
    (tmp_path / "lib.sch").write_text(
        f'<schema {ISO}><pattern id="one"><rule context="R"><assert test="1"/></rule></pattern>'
        '<pattern id="two"><rule context="R"><assert test="2"/></rule></pattern></schema>'
    )
    assert written(read(tmp_path, '<include href="lib.sch#two"/>')) == ["2"]


def test_a_schema_extends_a_schema_in_place(tmp_path: Path) -> None:
    (tmp_path / "base.sch").write_text(
        f'<schema {ISO}><title>t</title><let name="k" value="3"/><ns prefix="q" uri="u:q"/>'
        '<pattern id="base"><rule context="q:R"><assert test="q:a = $k"/></rule></pattern></schema>'
    )
    rulebook = read(
        tmp_path,
        '<pattern><rule context="R"><assert test="first"/></rule></pattern><extends href="base.sch"/>'
        '<pattern><rule context="R"><assert test="$k"/></rule></pattern>',
    )
    assert written(rulebook) == ["first", "q:a = $k", "$k"]
    assert rulebook.namespaces == (("q", "u:q"),)
    assert [(let.name, let.value) for let in rulebook.lets] == [("k", "3")]


def test_a_rule_extends_a_rule_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "r.sch").write_text(f'<rule {ISO} abstract="true" id="ext"><assert test="e"/></rule>')
    rulebook = read(
        tmp_path,
        '<pattern><rule context="R"><report test="a"/><extends href="r.sch"/><assert test="z"/></rule></pattern>',
    )
    assert written(rulebook) == ["a", "e", "z"]


ABSTRACT = """
<pattern abstract="true" id="sum">
  <let name="a-b" value="'$a-b'"/>
  <rule context="$context">
    <assert id="s" test="$a + $ab = $abc and $a-b != 'x' and not($ab-c)">$a, $ab<value-of select="$abc"/></assert>
  </rule>
</pattern>"""


@pytest.mark.parametrize("reverse", [False, True])
def test_parameters_that_begin_alike_are_told_apart(tmp_path: Path, *, reverse: bool) -> None:
    params = [("a", "V1"), ("ab", "V2"), ("abc", "V3"), ("context", "Record")]
    given = "".join(f'<param name="{n}" value="{v}"/>' for n, v in (params[::-1] if reverse else params))
    rulebook = read(tmp_path, f'{ABSTRACT}\n<pattern is-a="sum" id="one">{given}</pattern>')
    (check,) = rulebook.checks
    assert check.test == "V1 + V2 = V3 and $a-b != 'x' and not(V2-c)"
    assert check.message == ("V1, V2", ValueOf("V3"))
    assert rulebook.patterns[0].id == "one"
    assert rulebook.patterns[0].rules[0].context == "Record"
    assert (check.origin.line, check.origin.instance and check.origin.instance.line) == (5, 8)


def test_two_instances_have_their_own_origin_and_id(tmp_path: Path) -> None:
    body = """<pattern abstract="true" id="p"><rule context="R"><assert test="$x"/></rule></pattern>
<pattern is-a="p" name="first"><param name="x" value="1"/></pattern>
<pattern is-a="p" id="second"><param name="x" value="2"/></pattern>
<pattern is-a="p"><param name="x" value="3"/></pattern>"""
    rulebook = read(tmp_path, body)
    assert [(c.id, c.test) for c in rulebook.checks] == [("first", "1"), ("second", "2"), ("p", "3")]
    assert [c.origin.instance.line for c in rulebook.checks if c.origin.instance] == [2, 3, 4]


def test_an_instance_needs_no_parameters(tmp_path: Path) -> None:
    body = '<pattern abstract="true" id="p"><rule context="R"><assert test="V1"/></rule></pattern><pattern is-a="p"/>'
    assert written(read(tmp_path, body)) == ["V1"]


PHASES = """<phase id="a"><let name="k" value="1"/><active pattern="p"/></phase>
<phase id="b"><active pattern="q"/></phase>
<pattern id="p"><rule context="R"><assert test="1"/></rule></pattern>
<pattern id="q"><rule context="R"><assert test="2"/></rule></pattern>"""


@pytest.mark.parametrize(
    ("phase", "default", "expected"),
    [
        (None, "", ["1", "2"]),
        ("a", "", ["1"]),
        ("b", "a", ["2"]),
        (None, "b", ["2"]),
        ("#ALL", "a", ["1", "2"]),
        ("#DEFAULT", "a", ["1"]),
    ],
)
def test_phases(tmp_path: Path, phase: str | None, default: str, expected: list[str]) -> None:
    head = f'defaultPhase="{default}"' if default else ""
    rulebook = read(tmp_path, PHASES, head, phase=phase)
    assert written(rulebook) == expected
    assert [let.name for let in rulebook.lets] == (["k"] if expected == ["1"] else [])


def test_ids_are_unique_and_from_the_nearest_that_has_one(tmp_path: Path) -> None:
    rulebook = read(
        tmp_path,
        """<pattern id="p"><rule context="R"><assert id="own" test="1"/><assert test="2"/></rule>
        <rule context="S" id="rule"><assert test="3"/><assert test="4"/></rule></pattern>
        <pattern><title>A  title</title><rule context="R"><assert test="5"/></rule></pattern>
        <pattern><rule context="R"><assert test="6"/></rule></pattern>""",
    )
    assert [c.id for c in rulebook.checks] == ["own", "p", "rule", "rule.2", "A title", "rule-6"]


def test_no_check_has_the_name_that_settings_have_for_all(tmp_path: Path) -> None:
    path = tmp_path / "r.sch"
    path.write_text(f'<schema {ISO}><pattern><rule context="R"><assert id="*" test="1"/></rule></pattern></schema>')
    assert [check.id for check in read_rules(path).checks] == ["*.2"]


@pytest.mark.parametrize(
    ("marks", "soft"),
    [
        ('role="Warning"', True),
        ('flag="INFO"', True),
        ('role="error"', False),
        ('role="fatal" flag="hint"', True),
        ("", False),
        ('role="note"', False),
    ],
)
def test_soft_edits(tmp_path: Path, marks: str, *, soft: bool) -> None:
    body = f'<pattern><rule context="R"><assert test="1" {marks}/></rule></pattern>'
    assert read(tmp_path, body).checks[0].soft is soft
    inherited = f'<pattern><rule context="R" {marks}><assert test="1"/></rule></pattern>'
    assert read(tmp_path, inherited).checks[0].soft is soft


def test_comments_and_markup_in_messages(tmp_path: Path) -> None:
    body = """<pattern><!-- c --><rule context="R"><assert test="1"><!-- c -->a<?pi x?>b
      <emph>c <value-of select="V1"/></emph><name path="V2"/><name/></assert></rule></pattern>"""
    message = read(tmp_path, body).checks[0].message
    assert " ".join("".join(p for p in message if isinstance(p, str)).split()) == "ab c"
    assert [p for p in message if isinstance(p, ValueOf)] == [
        ValueOf("V1"),
        ValueOf("V2", is_name=True),
        ValueOf(".", is_name=True),
    ]


def test_an_identifier_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "rules.sch"
    path.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="R">'
        '<assert id="a&#10;error: b" test="A">x</assert><assert id=" " test="B">y</assert></rule></pattern></schema>'
    )
    assert [check.id for check in read_rules(path).checks] == ["a error: b", "rule-2"]


def test_what_a_phase_leaves_out_is_told(tmp_path: Path) -> None:
    """A default phase is easily forgotten: nobody may take the rules of one phase for all."""
    rules = tmp_path / "r.sch"
    rules.write_text(
        f'<schema xmlns="{SCHEMATRON}" defaultPhase="p"><phase id="p"><active pattern="x"/></phase>'
        '<pattern id="x"><rule context="Record"><assert test="A">a</assert></rule></pattern>'
        '<pattern id="y"><rule context="Record"><assert test="B">b</assert></rule></pattern></schema>'
    )
    data = write_data(tmp_path / "d.xml", [{"A": 1}])
    said = "the phase 'p' is active (defaultPhase; phase=\"#ALL\" takes all): 1 pattern is not evaluated: y"
    assert said in masktron.validate(data, rules).notes
    assert said in masktron.check(data, rules).not_checked
    assert said in masktron.explain(rules).notes
    named = masktron.validate(data, rules, phase="p").notes
    assert "the phase 'p' is active: 1 pattern is not evaluated: y" in named
    everything = masktron.validate(data, rules, phase="#ALL", allow_unfired=["*"])
    assert not [note for note in everything.notes if "the phase " in note]


def test_the_first_value_of_a_parameter_counts(tmp_path: Path) -> None:
    abstract = '<pattern abstract="true" id="p"><rule context="R"><assert test="$x">m</assert></rule></pattern>'
    given = '<param name="x" value="A"/><param name="x" value="B"/><param name="x" value="A"/>'
    book = read(tmp_path, f'{abstract}<pattern is-a="p">{given}</pattern>')
    assert book.checks[0].test == "A"
    assert [("'x' is given twice" in note) for note in book.notes] == [True]


@pytest.mark.parametrize("context", ["", 'context="Other"'])
def test_a_rule_is_extended_with_and_without_a_context(tmp_path: Path, context: str) -> None:
    inside = '<assert test="B">m</assert>'
    (tmp_path / "more.sch").write_text(f'<rule xmlns="{SCHEMATRON}" {context}>{inside}</rule>')
    book = read(tmp_path, '<pattern><rule context="R"><extends href="more.sch"/></rule></pattern>')
    assert [(rule.context, rule.checks[0].test) for rule in book.patterns[0].rules] == [("R", "B")]
    assert len(book.notes) == bool(context)


def test_an_abstract_rule_without_an_id_is_left_out(tmp_path: Path) -> None:
    nameless = f'<rule xmlns="{SCHEMATRON}" abstract="true"><assert test="B">m</assert></rule>'
    (tmp_path / "more.sch").write_text(nameless)
    rule = '<rule context="R"><assert test="A">m</assert></rule>'
    book = read(tmp_path, f'<pattern><include href="more.sch"/>{rule}</pattern>')
    assert [check.test for check in book.checks] == ["A"]
    assert "no rule can extend it" in book.notes[0]


@pytest.mark.parametrize("binding", ["xslt", "xslt2"])
def test_a_name_may_be_a_value(tmp_path: Path, binding: str) -> None:
    shown = {
        "name(..)": "D",
        "local-name()": "R",
        "concat('a', 'b')": "ab",
        "'text'": "text",
        "A": "A",
        "(A | B)[1]": "A",
        "current()/A": "A",
        "..": "D",
        "node()[1]": "A",
    }
    names = ";".join(f'<name path="{path}"/>' for path in shown)
    rules, data = tmp_path / "rules.sch", tmp_path / "data.xml"
    pattern = f'<pattern><rule context="R"><assert test="A = 2">{names}</assert></rule></pattern>'
    rules.write_text(f'<schema xmlns="{SCHEMATRON}" queryBinding="{binding}">{pattern}</schema>')
    data.write_text("<D><R><A>1</A><B>2</B></R></D>")
    found = masktron.validate(data, rules=rules)
    assert [one.message for one in found.findings] == [";".join(shown.values())]

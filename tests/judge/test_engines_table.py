"""Every row of the table of engine deviations, run on the engines; and the page that is made of it.

``MASKTRON_WRITE_DOCS=1 pytest tests/judge/test_engines_table.py`` rewrites ``docs/engines.md``
and the pages in ``docs/engines/``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from lxml import etree
from pyschematron.direct_mode.schematron.parsers.xml.parser import ParsingContext, SchemaParser
from pyschematron.direct_mode.xml_validation.results.validation_results import FiredRuleResult
from pyschematron.direct_mode.xml_validation.validators import SimpleSchematronXMLValidator
from saxonche import PySaxonProcessor

from engines_table import ROWS, EngineDeviation, KnownAnswer, row_of
from masktron.rulebook.schema import XPathVersion
from paths import DOCS
from pyschematron_oracle import BINDINGS, CRASHES, NAMESPACE

PAGE = DOCS / "engines.md"
PAGES = DOCS / "engines"
FAILURES: tuple[type[Exception], ...] = (*CRASHES, etree.XMLSyntaxError)
MEASURED = [pytest.param(row, v, id=f"{row.id}-{v}") for row in ROWS for v in row.versions]


@pytest.fixture(scope="module")
def saxon() -> PySaxonProcessor:
    return PySaxonProcessor(license=False)


def by_libxml2(test: str, record: str) -> KnownAnswer:
    try:
        return truth(etree.XPath(f"boolean({test})")(etree.fromstring(record)))
    except etree.XPathError:
        return "error"


def by_saxon(saxon: PySaxonProcessor, test: str, record: str, xpath: XPathVersion) -> KnownAnswer:
    processor = saxon.new_xpath_processor()
    if xpath == "1.0":
        processor.set_backwards_compatible(True)
    else:
        processor.set_language_version(xpath)
    processor.set_context(xdm_item=saxon.parse_xml(xml_text=record).children[0])
    try:
        return truth(processor.effective_boolean_value(test))
    except Exception as error:  # noqa: BLE001 - saxonche raises PySaxonApiError, which it does not export
        assert type(error).__name__ == "PySaxonApiError"
        return "error"


def schema_of(row: EngineDeviation, xpath: XPathVersion) -> str:
    if "<schema" in row.rulebook:
        return row.rulebook
    inside = row.rulebook or (
        f'<pattern><rule context="Record"><assert id="a" test={quoteattr(row.test)}>m</assert></rule></pattern>'
    )
    return f'<schema xmlns="{NAMESPACE}" queryBinding="{BINDINGS[xpath]}">{inside}</schema>'


def by_pyschematron(row: EngineDeviation, xpath: XPathVersion, folder: Path) -> KnownAnswer:
    for name, text in row.files:
        (folder / name).write_text(text, encoding="utf-8")
    try:
        parsed = SchemaParser().parse(etree.fromstring(schema_of(row, xpath)), ParsingContext(base_path=folder))
        validator = SimpleSchematronXMLValidator(parsed, phase=row.phase)
        result = validator.validate_xml(etree.ElementTree(etree.fromstring(row.record)))
    except FAILURES:
        return "error"
    if row.measured == "valid":
        return "valid" if result.is_valid() else "false"
    results = [
        check.test_result
        for node in result.node_results
        for pattern in node.pattern_results
        for rule in pattern.rule_results
        if isinstance(rule, FiredRuleResult)
        for check in rule.check_results
        if check.check.id == "a"
    ]
    return truth(all(results)) if results else "not fired"


def truth(value: object) -> KnownAnswer:
    return "true" if value else "false"


def engines(
    row: EngineDeviation, xpath: XPathVersion, saxon: PySaxonProcessor, folder: Path
) -> dict[str, Callable[[], KnownAnswer]]:
    asked: dict[str, Callable[[], KnownAnswer]] = {"pyschematron": lambda: by_pyschematron(row, xpath, folder)}
    if row.test:
        asked["Saxon"] = lambda: by_saxon(saxon, row.test, row.record, xpath)
        if xpath == "1.0":
            asked["libxml2"] = lambda: by_libxml2(row.test, row.record)
    return asked


@pytest.mark.parametrize(("row", "xpath"), MEASURED)
def test_the_engine_answers_as_the_row_says(
    row: EngineDeviation, xpath: XPathVersion, saxon: PySaxonProcessor, tmp_path: Path
) -> None:
    asked = engines(row, xpath, saxon, tmp_path)
    assert asked[row.engine]() == row.measured
    for other in set(row.confirmed) & set(asked):
        assert asked[other]() == row.standard, f"{other} does not confirm the standard's answer"


def test_names_of_rows_are_unique() -> None:
    names = [row.id for row in ROWS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("row", ROWS, ids=lambda d: str(d.id))
def test_every_row_is_complete(row: EngineDeviation) -> None:
    assert row.title and row.says and row.paragraph and row.remedy
    assert row.says.endswith(".") and row.remedy.endswith(".")
    assert bool(row.test) != bool(row.rulebook)
    etree.fromstring(row.record)


@pytest.mark.parametrize(
    "changed",
    [
        {"engin": "Saxon"},
        {"record": None},
        {"standard": "yes"},
        {"versions": ["1.1"]},
        {"confirmed": ["Xalan"]},
    ],
)
def test_a_row_with_a_key_or_a_value_that_is_none_is_refused(changed: dict[str, object]) -> None:
    row = dict.fromkeys(("id", "title", "record", "says", "paragraph", "remedy"), "x")
    row |= {"engine": "libxml2", "versions": ["1.0"], "standard": "true", "measured": "false"}  # type: ignore[dict-item]
    assert row_of(row, {"x": "text"}).remedy == "text"
    given = {key: value for key, value in {**row, **changed}.items() if value is not None}
    with pytest.raises(ValueError, match="the deviation"):
        row_of(given, {})


def versions_line() -> str:
    with PySaxonProcessor(license=False) as processor:
        saxon_version = re.search(r"[\d.]*\d", str(processor.version))
    libxml2 = ".".join(map(str, etree.LIBXML_VERSION))
    return (
        f"Measured with pyschematron {version('pyschematron')}, elementpath {version('elementpath')}, "
        f"libxml2 {libxml2} (lxml {version('lxml')}), Saxon-C HE {saxon_version.group() if saxon_version else '?'}."
    )


def page() -> str:
    parts = [HEAD, versions_line()]
    for name, (title, rows) in TOPICS.items():
        parts.append(f"\n## [{title}](engines/{name}.md)\n")
        parts += [listed(row_by(one), name) for one in rows]
    parts.append("\n```{toctree}\n:hidden:\n")
    parts += [f"engines/{name}" for name in TOPICS]
    return "\n".join([*parts, "```"]) + "\n"


def listed(row: EngineDeviation, topic: str) -> str:
    """Return the line of a row, with the anchor that messages name."""
    versions = ", ".join(row.versions)
    return f'- <a id="{row.id}"></a>[{row.title}](engines/{topic}.md#{row.id}) ({row.engine}, XPath {versions})'


def row_by(name: str) -> EngineDeviation:
    return next(row for row in ROWS if row.id == name)


def topic_page(name: str) -> str:
    title, rows = TOPICS[name]
    head = (
        f"# {title}\n\nA part of [Where engines depart from the standards](../engines.md), which says how to read it."
    )
    return "\n".join([head, *(section(row_by(one)) for one in rows)]) + "\n"


def section(row: EngineDeviation) -> str:
    outcome = {"valid": "the document is valid", "not fired": "the check does not fire"}
    shown = [f"```xpath\n{row.test}\n```" if row.test else f"```xml\n{row.rulebook}\n```"]
    shown += [f"`{name}`:\n\n```xml\n{text}\n```" for name, text in row.files]
    shown.append(f"```xml\n{row.record}\n```")
    phase = f"Phase: `{row.phase}`. " if row.phase else ""
    agree = f" {', '.join(row.confirmed)} agree{'s' if len(row.confirmed) == 1 else ''}." if row.confirmed else ""
    return "\n".join(
        [
            f'\n## {row.title}\n<a id="{row.id}"></a>\n',
            f"`{row.id}`. {row.engine}, XPath {', '.join(row.versions)}. {phase}\n".replace(" \n", "\n"),
            "\n\n".join(shown),
            "\n| | |\n| --- | --- |",
            f"| Standard | {outcome.get(row.standard, row.standard)}.{agree} |",
            f"| {row.engine} | {outcome.get(row.measured, row.measured)} |",
            f"| Why | {row.says} |",
            f"| Paragraph | {row.paragraph} |",
            f"| masktron | {row.remedy} |",
        ]
    )


HEAD = """# Where engines depart from the standards

Generated by `MASKTRON_WRITE_DOCS=1 pytest tests/judge/test_engines_table.py` from
`tests/support/engines_table.toml`; a test runs every row on the engines. libxml2 evaluates XPath 1.0. Saxon evaluates
XPath 2.0 and later, and 1.0 in its backwards compatible mode. pyschematron reads rulebooks for masktron and judges no
record; the table compares its answers too.

"true" and "false" are the answers to the test or to the assert `a`; "error" is an exception, of the parser or of the
evaluation. masktron decides XPath 1.0 by its Recommendation and later versions with Saxon. Where libxml2 departs from
the Recommendation in conversions between numbers and texts, masktron converts. What libxml2 alone would have said is
a note with its count in `validate` and `check`; `mask` writes only what it accepts.
Contexts that XSLT 1.0 cannot decide in linear time are Saxon's in its backwards compatible mode, with its departures.
"""

TOPICS: dict[str, tuple[str, tuple[str, ...]]] = {
    "spellings": (
        "Spellings of numbers",
        ("saxon-plus-sign", "saxon-infinity", "libxml2-exponent", "saxon-exponent"),
    ),
    "arithmetic": ("Arithmetic", ("libxml2-rounding", "libxml2-big-integer", "saxon-negative-zero")),
    "truth": (
        "Truth values and errors",
        ("chained-comparison-saxon", "boolean-order-saxon", "saxon-nan-text", "saxon-internal-error",
         "errors-and-optimisation",
         "static-type-of-instance", "saxon-sum-text"),
    ),
    "texts": (
        "Texts and numbers",
        ("saxon-number-text", "libxml2-digits", "substring-fraction", "substring-large"),
    ),
    "rulebooks": (
        "Reading a rulebook",
        ("comment-before-schema", "old-namespace", "include-order", "schema-extends", "pattern-documents",
         "comment-in-assert", "instruction-in-assert", "name-in-message", "is-a-without-params", "unknown-phase"),
    ),
}  # fmt: skip
"""Pages with their rows, in the order of the table."""


def test_the_page_is_up_to_date() -> None:
    fresh = {PAGE: page()} | {PAGES / f"{name}.md": topic_page(name) for name in TOPICS}
    if os.environ.get("MASKTRON_WRITE_DOCS"):
        for path, text in fresh.items():
            path.write_text(text, encoding="utf-8")
    measured = re.compile(r"^Measured with .*$", re.MULTILINE)
    for path, text in fresh.items():
        committed = path.read_text(encoding="utf-8")
        assert measured.sub("", committed) == measured.sub("", text), "run MASKTRON_WRITE_DOCS=1 pytest " + __file__
    assert sorted(PAGES.glob("*.md")) == sorted(set(fresh) - {PAGE})


def test_each_row_is_on_one_page() -> None:
    assert sorted(one for _, rows in TOPICS.values() for one in rows) == sorted(row.id for row in ROWS)

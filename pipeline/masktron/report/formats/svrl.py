"""Findings as SVRL, the validation report language of Schematron (ISO/IEC 19757-3, annex D)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from masktron.counts import counted
from masktron.judge import Finding, expanded_name
from masktron.report.formats import ReportTarget
from masktron.report.formats.listed import Spool
from masktron.report.wording import counts_text, is_name, rule_text, values_text, xml_text
from masktron.results import CONFIDENTIAL, RuleResult, ValidateResult
from masktron.rulebook.schema import Check, Note, Pattern, Rich, Rule, Rulebook

SVRL = "http://purl.oclc.org/dsdl/svrl"


class SvrlReport:
    """Every finding as SVRL, in memory that does not grow with their number.

    A rule has one ``fired-rule``, however many nodes it fired on; the ``text`` at the top gives the counts. Each
    finding has the standard attributes and, as ``property-reference``, what SVRL has no attribute for: the record
    (from 1), its id, line and column, the rule where its id is no name, the values of the variables, the kind where
    it is an error, and whether it is a rounding artefact. An error of the engine is a failed assert. Without values
    there is one element for each rule that fails, located at the records as a whole, without diagnostics.

    Parameters
    ----------
    target : ReportTarget
    """

    def __init__(self, target: ReportTarget) -> None:
        self._stream = target.stream
        self._rulebook = rulebook = target.rulebook
        self._layout = target.layout
        self._heads = [_head(check) for check in rulebook.checks]
        self._texts = [_opened(check.rich) for check in rulebook.checks]
        self._notes = [check.notes for check in rulebook.checks]
        # an identifier that SVRL cannot have as an attribute
        self._named = ["" if is_name(c.id) else _property("rule", xml_text(c.id)) for c in rulebook.checks]
        self._taken = [0] * len(self._heads)
        self._spool = Spool(target.folder)

    def close(self) -> None:
        """Give up what is kept of the findings."""
        self._spool.__exit__(None, None, None)

    def add(self, finding: Finding) -> None:
        """Take a finding; those of one check come in the order of the records."""
        self._taken[finding.check] += 1
        at = finding.check
        told = "".join(_told(note, text) for note, text in zip(self._notes[at], finding.notes, strict=False))
        head, named = self._heads[at], self._named[at]
        self._spool.add(at, _element(finding, head, named, self._texts[at], told))

    def finish(self, result: ValidateResult) -> None:
        """Write the report."""
        self._stream.writelines(self._lines(result))

    def _lines(self, result: ValidateResult) -> Iterator[bytes]:
        yield b'<?xml version="1.0" encoding="UTF-8"?>\n'
        yield f'<svrl:schematron-output xmlns:svrl="{SVRL}"{_about(self._rulebook)}>\n'.encode()
        for text in _summary(result, self._taken):
            yield _text(text).encode()
        for prefix, uri in self._rulebook.namespaces:
            named = f'prefix="{xml_text(prefix)}" uri="{xml_text(uri)}"'
            yield f"<svrl:ns-prefix-in-attribute-values {named}/>\n".encode()
        results = {check.index: rule for check, rule in zip(self._rulebook.checks, result.rules, strict=True)}
        for pattern in self._rulebook.patterns:
            if not pattern.continues:
                yield f"<svrl:active-{'group' if pattern.group else 'pattern'} {_active(pattern)}/>\n".encode()
            for rule in pattern.rules:
                yield from self._rule(rule, results, safe=result.release_safe)
        yield b"</svrl:schematron-output>\n"

    def _rule(self, rule: Rule, results: dict[int, RuleResult], *, safe: bool) -> Iterator[bytes]:
        if not any(results[check.index].fired or results[check.index].errors for check in rule.checks):
            return
        context = f' context="{xml_text(rule.shown)}"'
        context += f' visit-each="{xml_text(rule.visit_each)}"' if rule.visit_each else ""
        named = f' id="{rule.id}"' if rule.id is not None and is_name(rule.id) else ""
        yield f"<svrl:fired-rule{named}{context}{_marks(rule)}/>\n".encode()
        for check in rule.checks:
            if safe:
                yield self._counted(check, results[check.index]).encode()
            else:
                yield from self._spool.pieces(check.index)

    def _counted(self, check: Check, rule: RuleResult) -> str:
        """What fails, without saying where."""
        if not rule.violations:
            return ""
        path = "".join(f"/{expanded_name(tag)}" for tag in self._layout.record_path) if self._layout else "/"
        name = "successful-report" if check.kind == "report" and rule.failed else "failed-assert"
        text = f"{self._texts[check.index]}{xml_text(f'{counts_text(rule)}: {rule_text(check)}')}</svrl:text>\n"
        head, named = self._heads[check.index], self._named[check.index]
        return f'<svrl:{name}{head}{xml_text(path)}">{named}{text}</svrl:{name}>\n'


def _summary(result: ValidateResult, listed: Sequence[int]) -> Iterator[str]:
    yield "No values of records: counts only." if result.release_safe else CONFIDENTIAL
    yield (
        f"{counted(result.records, 'record')}, {counted(result.violations, 'violation')}, "
        f"{counted(result.warnings, 'warning')} of soft rules, by {result.engine}"
    )
    for rule, follow in zip(result.rules, listed, strict=True):
        allowed = "" if rule.allowed is None else f", allowed {rule.allowed}"
        capped = f"; the first {follow} follow" if follow < rule.violations and not result.release_safe else ""
        counts = f"fired {rule.fired}, failed {'-' if rule.failed is None else rule.failed}, errors {rule.errors}"
        yield f"{rule.id} ({rule.origin}): {counts}{allowed}{capped}"


def _about(rulebook: Rulebook) -> str:
    """Return what the schema says of itself, as attributes; a phase without a name that SVRL can have is left out."""
    about = rulebook.about
    phase = about.phase if is_name(about.phase) else ""
    named = (("title", about.title), ("phase", phase), ("schemaVersion", about.version))
    return _attributes((*named, ("schematronEdition", about.edition)))


def _attributes(named: Iterable[tuple[str, str | None]]) -> str:
    return "".join(f' {name}="{xml_text(value)}"' for name, value in named if value)


def _active(pattern: Pattern) -> str:
    name = f'name="{xml_text(pattern.id)}"' + _attributes([("role", pattern.role)])
    return f'id="{pattern.id}" {name}' if is_name(pattern.id) else name


def _marks(rule: Rule) -> str:
    """Return role and flag where all checks of a rule share them, as they do where the rule has them."""
    marks = ""
    for name in ("role", "flag"):
        values = {getattr(check, name) for check in rule.checks}
        value = values.pop() if len(values) == 1 else None
        if value is not None:
            marks += f' {name}="{xml_text(value)}"'
    return marks


def _head(check: Check) -> str:
    """Return what all findings of a check begin with, up to the location."""
    marks = (("id", check.id if is_name(check.id) else None), ("test", check.test))
    named = (*marks, ("role", check.role), ("flag", check.flag), ("severity", check.severity))
    return "".join(f' {name}="{xml_text(value)}"' for name, value in named if value is not None) + ' location="'


def _opened(rich: Rich) -> str:
    """Return the start of a text with its language and references."""
    named = (("xml:lang", rich.lang), ("see", rich.see), ("icon", rich.icon), ("fpi", rich.fpi))
    return f"<svrl:text{_attributes(named)}>"


def _told(note: Note, text: str) -> str:
    """Return a diagnostic or property of a finding."""
    named = _attributes(((note.kind, note.id), ("role", note.role), ("scheme", note.scheme)))
    name = f"svrl:{note.kind}-reference"
    return f"<{name}{named}>{_opened(note.rich)}{xml_text(text)}</svrl:text></{name}>"


def _element(finding: Finding, head: str, named: str, text: str, told: str) -> str:
    name = "successful-report" if finding.kind == "successful-report" else "failed-assert"
    properties = named + _property("line", str(finding.line))
    if finding.column:
        properties += _property("column", str(finding.column))
    if finding.record >= 0:
        properties += _property("record", str(finding.record + 1))
        if finding.record_id is not None:
            properties += _property("record_id", xml_text(finding.record_id))
        if finding.member is not None:
            properties += _property("member", xml_text(finding.member))
    if finding.kind == "error":
        properties += _property("kind", "error")
    if finding.artefact:
        properties += _property("artefact", "true")
    if finding.values or finding.among:
        properties += _property("values", xml_text(values_text(finding.values, finding.among)))
    location, message = xml_text(finding.location), xml_text(finding.message)
    return f'<svrl:{name}{head}{location}">{told}{properties}{text}{message}</svrl:text></svrl:{name}>\n'


def _property(name: str, value: str) -> str:
    return f'<svrl:property-reference property="{name}"><svrl:text>{value}</svrl:text></svrl:property-reference>'


def _text(text: str) -> str:
    return f"<svrl:text>{xml_text(text)}</svrl:text>\n"

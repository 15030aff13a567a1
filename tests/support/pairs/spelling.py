"""Spelling: one rule, one of the many ways in which people write it in Schematron."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lxml import etree

from pairs.rules import Atom, Balance, Between, Cases, Compare, Edit, OneOf, Raw, always
from pairs.values import Variable

SCH = "http://purl.oclc.org/dsdl/schematron"
_FLIPPED = {"=": "=", "<=": ">=", "<": ">", ">=": "<=", ">": "<"}
_OPPOSITE = {"=": "!=", "<=": ">", "<": ">=", ">=": "<", ">": "<="}
_VALUE = {"=": "eq", "<=": "le", "<": "lt", ">=": "ge", ">": "gt"}
_PLACE = re.compile(r"\{([A-Z]\w*)\}")


@dataclass(slots=True)
class Check:
    """An assert or report of a Schematron rule."""

    context: str
    kind: str
    test: str
    lets: list[tuple[str, str]] = field(default_factory=list)
    label: str = ""


class Speller:
    """Writes rules for one version of XPath and one file."""

    def __init__(self, rng: random.Random, variables: Mapping[str, Variable], *, modern: bool) -> None:
        self.rng = rng
        self.variables = variables
        self.modern = modern
        self.lets: list[tuple[str, str]] = []

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    # atoms

    def atom(self, atom: Atom, *, plain: bool = False) -> str:
        """Spell an atom; `plain` means false, and not an error, where a number is missing."""
        match atom:
            case Compare():
                return self._comparison(atom, plain=plain)
            case Balance(difference, tolerance):
                return self._balance(difference, tolerance)
            case Between(name, low, high):
                return self._between(name, low, high, plain=plain)
            case OneOf(name, values, text):
                return self._one_of(name, values, text=text, plain=plain)
            case Raw(old, new):
                return self._filled(new if self.modern else old, wrap=False)

    def _comparison(self, atom: Compare, *, plain: bool) -> str:
        bare = all(_PLACE.fullmatch(side) for side in atom.sources)
        # Saxon finds an untyped 0 unequal to a product that is -0, so products are compared as numbers.
        signed_zero = self.modern and " * " in atom.left and atom.op == "="
        wrap = self._wraps(atom.sources, needed=signed_zero or (bare and (self.modern or atom.op == "=")))
        left, op, right = self._filled(atom.left, wrap=wrap), atom.op, self._filled(atom.right, wrap=wrap)
        if not plain and not self.lets and " + " in left and self.chance(0.12):
            self.lets.append((f"sum{self.rng.randint(1, 9)}", left))
            left = f"${self.lets[0][0]}"
        whole = atom.op == "=" and not atom.exact_order and " + " in left and not self._gapped(atom.sources)
        if whole and self._all_integers(atom.sources):
            left, right = self._rearranged(left, right)
        if self.modern and wrap and "'" not in left + right and self.chance(0.15):
            return f"{left} {_VALUE[op]} {right}"
        if self.chance(0.2):
            left, op, right = right, _FLIPPED[op], left  # type: ignore[assignment]
        # Where a number is missing, a negated comparison is true and a plain one false.
        if not plain and self.chance(0.15) and (op != "=" or not self._gapped(atom.sources)):
            return f"not({left} {_OPPOSITE[op]} {right})"
        return f"{left} {op} {right}"

    def _rearranged(self, left: str, right: str) -> tuple[str, str]:
        """Move terms of an equality of integers, or sum them up by a function."""
        terms = left.split(" + ")
        if left.startswith("$") or any(not re.fullmatch(r"(number\()?\w+\)?", term) for term in terms):
            return left, right
        way = self.rng.random()
        if way < 0.12:
            return f"sum({'(' if self.modern else ''}{(', ' if self.modern else ' | ').join(_bare(terms))}" + (
                "))" if self.modern else ")"
            ), right
        if way < 0.24 and re.fullmatch(r"(number\()?\w+\)?", right):
            return f"{right} - {terms[-1]}", " + ".join(terms[:-1])
        if way < 0.32:
            return f"{left} - {right}", "0"
        return left, right

    def _balance(self, difference: str, tolerance: str) -> str:
        text = self._filled(difference, wrap=self._wraps((difference,)))
        if self.modern and self.chance(0.6):
            return f"abs({text}) {self.rng.choice(('<=', 'le'))} {tolerance}"
        if self.chance(0.3):
            return f"not({text} > {tolerance} or {text} < -{tolerance})"
        return f"({text} <= {tolerance} and {text} >= -{tolerance})"

    def _between(self, name: str, low: str, high: str, *, plain: bool) -> str:
        text = self._filled(f"{{{name}}}", wrap=self._wraps((f"{{{name}}}",)))
        if not plain and self.chance(0.25):
            return f"not({text} < {low} or {text} > {high})"
        return f"({text} >= {low} and {text} <= {high})"

    def _one_of(self, name: str, values: Sequence[str], *, text: bool, plain: bool) -> str:
        place = f"{{{name}}}"
        read = self._filled(place, wrap=not text and self._wraps((place,)))
        if self.modern and len(values) > 1:
            if self.chance(0.5):
                return f"{read} = ({', '.join(values)})"
            if self.chance(0.25):
                return f"(some $v in ({', '.join(values)}) satisfies {read} = $v)"
        if not plain and not self._gapped((place,)) and self.chance(0.2):
            return f"not({' and '.join(f'{read} != {value}' for value in values)})"
        return f"({' or '.join(f'{read} = {value}' for value in values)})"

    def _wraps(self, sources: Sequence[str], *, needed: bool = False) -> bool:
        if self._has_text(sources):
            return False
        return needed or (self.modern and self._gapped(sources)) or self.chance(0.4)

    def _filled(self, text: str, *, wrap: bool) -> str:
        def fill(found: re.Match[str]) -> str:
            reference = self.variables[found[1]].reference
            return f"number({reference})" if wrap else reference

        return _PLACE.sub(fill, text)

    def _names(self, sources: Sequence[str]) -> list[str]:
        return [name for source in sources for name in _PLACE.findall(source)]

    def _gapped(self, sources: Sequence[str]) -> bool:
        return any(self.variables[name].lacks for name in self._names(sources))

    def _has_text(self, sources: Sequence[str]) -> bool:
        return any(self.variables[name].kind == "text" for name in self._names(sources))

    def _all_integers(self, sources: Sequence[str]) -> bool:
        return all(self.variables[name].kind == "integer" for name in self._names(sources))

    # rules

    def missing(self, name: str) -> list[str]:
        """Conditions under which a field has no value."""
        variable = self.variables[name]
        gaps, reference = variable.lacks, variable.reference
        conditions: list[str] = []
        text = variable.kind == "text"
        if "code" in gaps and (text or not _is_number(variable.code)):
            conditions.append(f"{reference} = '{variable.code}'")
        elif "code" in gaps:
            conditions.append(f"number({reference}) = {variable.code}")
        if gaps == {"absent"} and self.chance(0.5):
            conditions.append(f"not({reference})")
        elif gaps & {"absent", "empty"}:
            ways = [f"string({reference}) = ''", f"not({reference}) or {reference} = ''"]
            if not text:
                ways.append(f"not(number({reference}) = number({reference}))")
            conditions.append(self.rng.choice(ways))
        return conditions

    def condition(self, edit: Edit) -> str:
        """Spell the antecedent so that it is false where one of its fields is missing; empty where there is none."""
        parts = [self.atom(atom, plain=True) for atom in edit.antecedent]
        parts += [f"not({' or '.join(gaps)})" for name in edit.condition if (gaps := self.missing(name))]
        return " and ".join(parts)

    def _cases(self, cases: Cases) -> str:
        parts = [" and ".join(self.atom(atom) for atom in case) for case in cases]
        return " or ".join(f"({part})" if " and " in part and len(parts) > 1 else part for part in parts)

    def _guards(self, edit: Edit, cases: Cases, *, condition: bool) -> list[str]:
        # A filter is about missing values itself.
        read = () if edit.label == "filter" else Edit(edit.id, edit.label, edit.kind, cases).variables
        names = dict.fromkeys([*read, *(edit.condition if condition else ())])
        return [gap for name in names for gap in self.missing(name)]

    def checks(self, edit: Edit) -> list[Check]:
        """Spell a rule as one or two checks of one pattern, which are tried in this order."""
        self.lets = []
        if edit.label == "unique key":
            return [self._unique(edit)]
        if edit.label in ("file total", "file count"):
            return [self._over_file(edit)]
        if (own := self._on_field(edit)) is not None:
            return [own]
        condition = self.condition(edit)
        if edit.otherwise is not None:
            first = Check(f"Record[{condition}]", "assert", self._guarded(edit, edit.consequent), list(self.lets))
            self.lets = []
            second = Check("Record", "assert", self._guarded(edit, edit.otherwise, condition=True), list(self.lets))
            return [first, second]
        guards = self._guards(edit, edit.consequent, condition=False)
        body = self._cases(edit.consequent)
        check = self._one_check(condition, guards, body)
        check.lets = list(self.lets)
        return [check]

    def _guarded(self, edit: Edit, cases: Cases, *, condition: bool = False) -> str:
        return " or ".join([*self._guards(edit, cases, condition=condition), self._cases(cases)])

    def _one_check(self, condition: str, guards: list[str], body: str) -> Check:
        way = self.rng.random()
        if self.lets and way < 0.6:
            way = 0.95
        absent = f"not({' or '.join(guards)})" if guards else ""
        if condition or absent:
            applies = " and ".join(part for part in (condition, absent) if part)
            if way < 0.3:
                return Check(f"Record[{applies}]", "assert", body)
            if way < 0.45:
                return Check("Record", "report", f"{applies} and not({body})")
            if way < 0.6 and self.modern:
                return Check("Record", "assert", f"if ({applies}) then ({body}) else true()")
            if way < 0.7:
                return Check("Record", "assert", f"not({applies}) or ({body})")
        elif way < 0.2:
            return Check("Record", "report", f"not({body})")
        parts = [f"not({condition})"] if condition else []
        return Check("Record", "assert", " or ".join([*parts, *guards, f"({body})" if parts or guards else body]))

    def _on_field(self, edit: Edit) -> Check | None:
        """Spell a rule on one number with the field itself as context, which absent fields never are."""
        single = edit.consequent == always(*edit.consequent[0]) and not edit.antecedent and edit.otherwise is None
        if not single or len(edit.consequent[0]) != 1 or len(edit.variables) != 1 or not self.chance(0.12):
            return None
        atom, variable = edit.consequent[0][0], self.variables[edit.variables[0]]
        if variable.kind == "text" or variable.attribute or variable.lacks - {"absent"}:
            return None
        match atom:
            case Between(_, low, high):
                return Check(variable.name, "assert", f". >= {low} and . <= {high}")
            case Compare(left, op, right) if _PLACE.fullmatch(left) and not _PLACE.search(right):
                return Check(f"Record/{variable.name}", "report", f"not(. {op} {right})")
            case _:
                return None

    def _over_file(self, edit: Edit) -> Check:
        """Spell a rule on the whole file, seen from the root or from each record."""
        text = self._figures(edit.consequent[0][0])
        if self.chance(0.3):
            return Check("Record", "assert", re.sub(r"\bRecord\b", self.rng.choice(("../Record", "//Record")), text))
        return Check("Data", "report", f"not({text})") if self.chance(0.2) else Check("Data", "assert", text)

    def _figures(self, atom: Atom) -> str:
        match atom:
            case Balance(difference, tolerance):
                text = self._filled(difference, wrap=False)
                old = f"({text} <= {tolerance} and {text} >= -{tolerance})"
                return f"abs({text}) <= {tolerance}" if self.modern and self.chance(0.6) else old
            case Compare():
                left, op, right = self._filled(atom.left, wrap=False), atom.op, atom.right
                return f"{right} {_FLIPPED[op]} {left}" if self.chance(0.2) else f"{left} {op} {right}"
            case _:
                raise TypeError(f"{atom} is no condition on figures of the file")

    def _unique(self, edit: Edit) -> Check:
        reference = self.variables[edit.variables[0]].reference
        if self.modern and self.chance(0.5):
            every = f"Record/{reference}"
            return Check("Data", "assert", f"count(distinct-values({every})) = count({every})")
        return Check("Record", "assert", f"not({reference} = preceding-sibling::Record/{reference})")


def rulebook(rng: random.Random, speller: Speller, edits: Sequence[Edit]) -> bytes:
    """Write a rulebook: a pattern for each rule, or for many rules on the whole record together."""
    schema = etree.Element(f"{{{SCH}}}schema", nsmap={None: SCH})  # type: ignore[dict-item]
    if speller.modern:
        schema.set("queryBinding", "xslt2")
    elif rng.random() < 0.3:
        schema.set("queryBinding", "xslt")
    shared: list[tuple[str, Check]] = []
    gathers = rng.random() < 0.3
    for edit in edits:
        checks = speller.checks(edit)
        if gathers and len(checks) == 1 and checks[0].context == "Record" and not checks[0].lets:
            shared.append((edit.id, checks[0]))
            continue
        pattern = etree.SubElement(schema, f"{{{SCH}}}pattern", id=f"p-{edit.id}")
        for position, check in enumerate(checks):
            rule = etree.SubElement(pattern, f"{{{SCH}}}rule", context=check.context)
            _add(rule, f"{edit.id}{'' if not position else '-else'}", check, edit.label)
    if shared:
        pattern = etree.SubElement(schema, f"{{{SCH}}}pattern", id="p-shared")
        rule = etree.SubElement(pattern, f"{{{SCH}}}rule", context="Record")
        for name, check in shared:
            _add(rule, name, check, "rule")
    etree.indent(schema)
    return etree.tostring(schema, xml_declaration=True, encoding="UTF-8")


def _add(rule: etree._Element, name: str, check: Check, label: str) -> None:
    for let, value in check.lets:
        etree.SubElement(rule, f"{{{SCH}}}let", name=let, value=value)
    element = etree.SubElement(rule, f"{{{SCH}}}{check.kind}", id=name, test=check.test)
    element.text = f"{label} {name} does not hold"


def _bare(terms: Sequence[str]) -> list[str]:
    return [re.sub(r"number\((.+)\)", r"\1", term) for term in terms]


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?[0-9]+", text) is not None

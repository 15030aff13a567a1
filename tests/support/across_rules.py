"""Rules across records in every form that is known, and the records that they are tried on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from hypothesis import strategies as st

from across_runs import Row
from masktron.rulebook.schema import Rulebook, ValueOf, XPathVersion
from rulebook_builder import layout, rulebook

BOTH: tuple[XPathVersion, ...] = ("1.0", "2.0")
LATER: tuple[XPathVersion, ...] = ("2.0", "3.1")
LAYOUT = layout("@id", "ID", "A", "B", "V")
UNIQUE = [
    "count(//Record[ID = current()/ID]) = 1",
    "count(/Records/Record[ID = current()/ID]) = 1",
    "count(../Record[ID = current()/ID]) = 1",
    "count(../Record[current()/ID = ID]) < 2",
    "count(parent::Records/Record[ID = current()/ID]) = 1",
    "count(parent::*/*[ID = current()/ID]) = 1",
    "count(ancestor::Records/Record[ID = current()/ID]) = 1",
    "count(//Record[./ID = current()/./ID]) = 1",
    "count(//Record[@id = current()/@id]) = 1",
    "count(//@id[. = current()/@id]) = 1",
    "count(//ID[. = current()/ID]) = 1",
    "count(//Record/ID[. = current()/ID]) = 1",
    "count(//Record[ID[. = current()/ID]]) = 1 or true()",
    "not(preceding-sibling::Record/ID = ID)",
    "not(ID = preceding-sibling::Record/ID)",
    "not(ID = preceding-sibling::*/ID)",
    "not(ID = following-sibling::Record/ID)",
    "not(ID = preceding::ID)",
    "not(ID = preceding::Record/ID)",
    "not(preceding-sibling::Record[ID = current()/ID])",
    "count(preceding-sibling::Record[ID = current()/ID]) = 0",
    "count(following-sibling::Record[ID = current()/ID]) = count(preceding-sibling::Record[ID = current()/ID])",
    "boolean(following-sibling::*[ID = current()/ID]) or B = 1",
    "count(//Record[A = current()/A and B = current()/B]) = 1",
    "count(//Record[A = current()/A][B = current()/B]) = 1",
    "count(//Record[(A = current()/A and B = current()/B) and ID = current()/ID]) <= 1",
    "not(preceding-sibling::Record[A = current()/A and B = current()/B])",
    "count(//Record[concat(A, '|', B) = concat(current()/A, '|', current()/B)]) = 1",
    "count(//Record[concat(A, B) = current()/ID]) = 0",
    "count(//Record[normalize-space(ID) = normalize-space(current()/ID)]) = 1",
    "count(//Record[string(ID) = string(current()/ID)]) = 1",
    "count(//Record[number(ID) = number(current()/ID)]) = 1",
    "count(//Record[concat(A, '') = current()/A]) < 2",
    "count(//Record[ID = current()/ID and generate-id() != generate-id(current())]) = 0",
    "ID = //Record/A",
    "not(ID) or not(ID = //Record/A) or A = '1'",
    "A != //ID",
    "not(A != //Record/ID)",
    "count(//Record[ID = current()/A]) >= 1 or not(A)",
]
UNIQUE_LATER = [
    "count(//Record[ID eq current()/ID]) eq 1",
    "count(index-of(//ID, ID)) = 1",
    "for $i in ID return count(//Record[ID = $i]) = 1",
    "every $i in ID satisfies count(//Record[ID = $i]) = 1",
    "empty(preceding-sibling::Record[ID = current()/ID])",
    "not(exists(//Record[ID = current()/ID][not(. is current())]))",
    "some $v in //Record/A satisfies $v = ID",
    "if (ID) then count(//Record[ID = current()/ID]) = 1 else true()",
    "ID = distinct-values(//Record/A)",
    "count(//Record[ID = current()/ID]) div 3 lt 0.5",
]
WHOLE = [
    "count(//Record) = 4",
    "count(//Record[A = 1]) >= 2",
    "count(//Record[A = 1]) div count(//Record) <= 0.5",
    "count(/Records/Record/V) = count(//Record)",
    "sum(//V) = 6",
    "sum(//Record/V) = sum(//Record/B)",
    "sum(//Record[A = 1]/V) <= 10",
    "sum(//V[. > 1]) > 3",
    "abs(sum(//V) - 6) <= 2",
    "V <= 0.5 * sum(//Record/V)",
    "V > sum(//V) div count(//V)",
    "sum(//Record[A = current()/A]/V) <= 5",
    "V <= 0.9 * sum(//Record[A = current()/A]/V)",
    "not(//Record[A = '2'])",
    "//Record/A = '1'",
    "//A = 2 or //V",
    "count(preceding-sibling::Record) < 3",
    "sum(//V) + A > 3 and count(//Record[B]) > 1",
]
WHOLE_LATER = [
    "count(//ID) = count(distinct-values(//ID))",
    "count(distinct-values(//Record/A)) < 3",
    "max(//V) <= 3",
    "min(//V) >= 0 and avg(//V) < 2.5",
    "V <= max(//V) div 2",
    "exists(//Record[A = '1']) and empty(//Record[A = '7'])",
    "max(//Record[A = 'no such']/V) > 3",
    "sum(//Record[A = 'no such']/V) idiv 1 = 0",
]
ORDERED = [
    "not(V < preceding-sibling::Record[1]/V)",
    "V != following-sibling::Record[1]/V",
    "preceding-sibling::*[1]/ID = ID",
    "not(preceding-sibling::Record[1]) or not(following-sibling::Record[last()]) or A = 1",
    "number(V) - number(preceding-sibling::Record[2]/V) > 1",
    "string(preceding-sibling::Record[A = current()/A][1]/V) = '3.14'",
    "count(following-sibling::Record[A = current()/A][2]/V) = 1",
    "following-sibling::Record[last()]/ID = ID",
    "preceding-sibling::Record[last()]/@id = '1' and preceding-sibling::Record[B = '1'][1]/A = 1",
    "string(//Record[2]/V) != '1'",
    "../*[3]/A = A",
    "//Record[last()]/ID = ID or //Record[position() = 2]/A = '1'",
    "//Record[A = current()/A][1]/ID = ID",
    "count(//Record[V > current()/V]) < 3",
    "count(//Record[current()/V >= V and A = current()/A]) < 2",
    "count(//V[. <= current()/V]) > 1",
    "//Record[V < current()/V]",
    "V < //Record/A",
    "count(//Record[A != current()/A]) = 3",
    "count(//Record[A = current()/A and ID != current()/ID and B = '1']) = 3",
    "sum(preceding-sibling::Record/V) < 9",
    "sum(preceding-sibling::Record[A = current()/A]/V) < 5",
    "sum(following-sibling::Record/A) > 2",
    "sum(//Record[V < current()/V]/B) > 1",
]
ORDERED_LATER = [
    "count(//Record[number(V) > number(current()/V)]) < 3",
    "count(//Record[. << current()]) < 3",
    "some $r in //Record satisfies $r/ID = A",
    "some $r in preceding-sibling::Record satisfies ($r/ID = ID and $r/A = '1')",
    "some $r in //Record satisfies ($r/ID = ID and not($r is .))",
    "some $r in //Record satisfies not($r/ID = A)",
    "some $v in //V satisfies V lt $v",
    "every $r in //Record satisfies ($r/V = '3.14' or $r/A)",
    "every $r in preceding-sibling::Record satisfies not($r/ID = ID)",
    "every $r in //Record satisfies not($r/ID = A)",
    "every $v in //Record[A = current()/A]/V satisfies $v >= V",
    "if (preceding-sibling::Record[1]/A = '1') then V else true()",
    "sum(preceding-sibling::Record/V) instance of xs:integer",
]
CONSTANT = [test for test in (*WHOLE, *WHOLE_LATER) if "current()" not in test and not test.startswith("V ")]
cells = st.sampled_from([None, "", "1", "1", "01", "1.0", "2", " 1", "x", "3.25", "-0", "0.1"])
plain = st.sampled_from(["1", "0.1", "2.5", "1.14", "3", "-4.7"])


def rows_of(value: st.SearchStrategy[str | None]) -> st.SearchStrategy[list[Row]]:
    return st.lists(
        st.fixed_dictionaries({"@id": cells, "ID": cells, "A": cells, "B": value, "V": value}), max_size=9
    )


def book_of(
    tests: Sequence[str],
    version: XPathVersion,
    *,
    context: str = "Record",
    kind: Literal["assert", "report"] = "assert",
    message: str = "ID",
) -> Rulebook:
    book = rulebook([(context, test) for test in tests], version=version, kind=kind)
    # one pattern a rule: within a pattern, only the first would fire
    pattern = book.patterns[0]
    patterns = []
    for rule in pattern.rules:
        checks = tuple(replace(c, message=("it is ", ValueOf(message), "!")) for c in rule.checks)
        patterns.append(replace(pattern, rules=(replace(rule, checks=checks),)))
    return replace(book, patterns=tuple(patterns))


GOOD: list[Row] = [{"@id": str(i), "ID": str(i % 4), "A": str(i % 2), "B": "1", "V": f"{i}.14"} for i in range(1, 8)]


def in_version(version: XPathVersion) -> list[str]:
    """Forms that a version knows."""
    if version == "1.0":
        return [test for test in (*UNIQUE, *WHOLE, *ORDERED) if "abs" not in test]
    return [*UNIQUE, *UNIQUE_LATER, *WHOLE, *WHOLE_LATER, *ORDERED, *ORDERED_LATER]


LETS = [
    ({}, {"own": "ID"}, "count(//Record[ID = $own]) = 1"),
    ({}, {"own": "string(ID)"}, "count(//Record[ID = $own]) = 1"),
    ({}, {"own": "current()/ID"}, "not(preceding-sibling::Record/ID = $own)"),
    ({}, {"same": "count(//Record[ID = current()/ID])"}, "$same = 1"),
    ({}, {"last": "preceding-sibling::Record[1]"}, "not($last) or $last/V < V"),
    ({}, {"last": "preceding-sibling::Record[1]/V"}, "not($last = V)"),
    ({}, {"same": "//Record[A = current()/A]"}, "count($same) < 3 and sum($same/V) < 9"),
    ({"ids": "//Record/ID"}, {}, "count($ids[. = current()/ID]) = 1"),
    ({"total": "sum(//Record/V)"}, {}, "V <= 0.5 * $total"),
    ({"total": "sum(//V)", "half": "$total div 2"}, {"own": "V"}, "$own <= $half"),
    ({"code": "1"}, {}, "count(//Record[A = $code]) < 3"),
    ({"codes": "//Record[A = 1]/ID"}, {"a": "A"}, "not(A) or $a = $codes"),
]
DOMAIN = [
    "A = document('o.xml')//A",
    "A = document('o.xml')/Records/Record/ID",
    "not(A) or document('o.xml')//Record/A = A",
    "not(A != document('o.xml')//A)",
    "count(document('o.xml')//Record) = count(//Record)",
    "sum(document('o.xml')//V) = sum(//V)",
    "count(document('o.xml')//Record[ID = current()/ID]) = 1",
    "V <= 0.9 * sum(document('o.xml')//Record[A = current()/A]/V)",
]
NAMESPACED = layout("@id", "ID", "A", "B", "V", namespace="urn:p")


def qualified(test: str) -> str:
    return re.sub(r"(?<![\w@'$-])(?=(Records?|ID|A|B|V)\b(?!'))", "p:", test)


FIELDS = [
    ("ID", "count(//ID[. = current()]) = 1"),
    ("ID", "not(. = preceding::ID)"),
    ("Record/ID", "not(. = ../preceding-sibling::Record/ID)"),
    ("@id", "count(//@id[. = current()]) = 1"),
    ("V", ". <= 0.9 * sum(//V)"),
    ("V", ". <= 0.9 * sum(//Record[A = current()/../A]/V)"),
    ("Record[A = 1]", "count(//Record[A = 1 and ID = current()/ID]) = 1"),
    ("Records/Record", "count(//Record[ID = current()/ID]) = 1"),
]

"""The functions of each version of XPath, with those that XSLT of the same generation adds: who has which.

Sources: XPath 1.0, section 4; XSLT 1.0, section 12; XQuery and XPath Functions and Operators in the second edition of
2010 and in versions 3.0 and 3.1; XSLT 2.0, section 16; XSLT 3.0, appendix G.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from masktron.problems.problem import Problem
from masktron.rulebook.expressions.words import FUNCTIONS_NAMESPACE
from masktron.rulebook.schema import XPathVersion

type Since = Literal["1.0", "2.0", "3.0", "3.1"]

_NAMES: Mapping[Since, str] = MappingProxyType(
    {
        "1.0": "last position count id local-name namespace-uri name string concat starts-with contains "
        "substring-before substring-after substring string-length normalize-space translate boolean not true false "
        "lang number sum floor ceiling round document current generate-id format-number element-available "
        "function-available key system-property unparsed-entity-uri",
        "2.0": "node-name nilled data base-uri document-uri error trace abs round-half-to-even codepoints-to-string "
        "string-to-codepoints compare codepoint-equal string-join normalize-unicode upper-case lower-case "
        "encode-for-uri iri-to-uri escape-html-uri ends-with matches replace tokenize resolve-uri "
        "years-from-duration months-from-duration days-from-duration hours-from-duration minutes-from-duration "
        "seconds-from-duration dateTime year-from-dateTime month-from-dateTime day-from-dateTime "
        "hours-from-dateTime minutes-from-dateTime seconds-from-dateTime timezone-from-dateTime year-from-date "
        "month-from-date day-from-date timezone-from-date hours-from-time minutes-from-time seconds-from-time "
        "timezone-from-time adjust-dateTime-to-timezone adjust-date-to-timezone adjust-time-to-timezone "
        "resolve-QName QName prefix-from-QName local-name-from-QName namespace-uri-from-QName "
        "namespace-uri-for-prefix in-scope-prefixes root empty exists distinct-values index-of insert-before "
        "remove reverse subsequence unordered zero-or-one one-or-more exactly-one deep-equal avg max min idref "
        "element-with-id doc doc-available collection current-dateTime current-date current-time "
        "implicit-timezone default-collation static-base-uri unparsed-text unparsed-text-available "
        "current-group current-grouping-key regex-group format-dateTime format-date format-time "
        "unparsed-entity-public-id type-available",
        "3.0": "analyze-string available-environment-variables environment-variable filter fold-left fold-right "
        "for-each for-each-pair format-integer function-arity function-lookup function-name has-children head "
        "innermost outermost parse-xml parse-xml-fragment path serialize tail unparsed-text-lines uri-collection "
        "accumulator-after accumulator-before available-system-properties copy-of current-merge-group "
        "current-merge-key current-output-uri snapshot stream-available",
        "3.1": "apply collation-key contains-token default-language json-doc json-to-xml load-xquery-module "
        "parse-ietf-date parse-json random-number-generator sort transform xml-to-json",
    }
)
FUNCTIONS: Mapping[str, Since] = MappingProxyType(
    {name: since for since, names in _NAMES.items() for name in names.split()}
)
"""The version that first has a function, by its local name."""
type Returned = Literal["number", "string", "boolean"]
_RETURNED: Mapping[Returned, str] = MappingProxyType(
    {
        "number": "number count sum floor ceiling round string-length position last abs round-half-to-even",
        "string": "string concat substring-before substring-after substring normalize-space translate string-join "
        "upper-case lower-case replace local-name name namespace-uri format-number generate-id",
        "boolean": "not boolean true false contains starts-with ends-with matches exists empty contains-token "
        "deep-equal lang",
    }
)
RETURNS: Mapping[str, Returned] = MappingProxyType(
    {name: returned for returned, names in _RETURNED.items() for name in names.split()}
)
"""What functions of the standard return, whatever they are given: others may return one thing or another."""
_SPACES: Mapping[str, Since] = MappingProxyType(
    {f"{FUNCTIONS_NAMESPACE}/math": "3.0", f"{FUNCTIONS_NAMESPACE}/map": "3.1", f"{FUNCTIONS_NAMESPACE}/array": "3.1"}
)
_ARGUMENTS: Mapping[tuple[str, int], Since] = MappingProxyType(
    {
        ("round", 2): "3.0",
        ("string-join", 1): "3.0",
        ("node-name", 0): "3.0",
        ("nilled", 0): "3.0",
        ("data", 0): "3.0",
        ("document-uri", 0): "3.0",
        ("tokenize", 1): "3.1",
    }
)
"""Numbers of arguments that a function has not had from its beginning."""
_ORDER: tuple[Since, ...] = ("1.0", "2.0", "3.0", "3.1")
_BINDING: Mapping[Since, str] = MappingProxyType({"1.0": "xslt", "2.0": "xslt2", "3.0": "xslt3", "3.1": "xslt3"})


def since(space: str, name: str, arguments: int | None = None) -> Since | None:
    """Return the version that first has a function; None where none of them does.

    Parameters
    ----------
    space : str
        Its namespace.
    name : str
    arguments : int, optional
        How many it is called with, where that is known.
    """
    if space != FUNCTIONS_NAMESPACE:
        return _SPACES.get(space)
    found = FUNCTIONS.get(name)
    more = None if arguments is None else _ARGUMENTS.get((name, arguments))
    return found if more is None or found is None else max(found, more, key=_ORDER.index)


def in_version(version: XPathVersion, first: Since) -> bool:
    """Whether a version has what came with another."""
    return _ORDER.index(first) <= _ORDER.index(version)


def not_in_version(version: XPathVersion, construct: str, first: Since) -> Problem:
    """Return that a version lacks something, and which binding of a rulebook has it."""
    binding = _BINDING[first]
    return Problem("not-in-version", version=version, construct=construct, first=first, binding=binding)

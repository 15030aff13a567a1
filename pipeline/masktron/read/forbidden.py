"""Functions that reach outside the data and the bound original: refused before any engine sees the expression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from masktron.errors import RulebookError
from masktron.read.rulebook import Origin
from masktron.read.schematron_lexer import Call, LexicalError, calls, tokenize

FUNCTIONS_NAMESPACE = "http://www.w3.org/2005/xpath-functions"
STANDARD_NAMESPACES: Mapping[str, str] = MappingProxyType(
    {
        "fn": FUNCTIONS_NAMESPACE,
        "xs": "http://www.w3.org/2001/XMLSchema",
        "math": f"{FUNCTIONS_NAMESPACE}/math",
        "map": f"{FUNCTIONS_NAMESPACE}/map",
        "array": f"{FUNCTIONS_NAMESPACE}/array",
    }
)
"""Prefixes that XPath 2 and later know without a declaration, and all namespaces whose functions may be called."""

_FORBIDDEN = (
    (
        "it reads other files",
        "unparsed-text unparsed-text-lines unparsed-text-available unparsed-entity-uri unparsed-entity-public-id "
        "json-doc collection uri-collection doc-available stream-available",
    ),
    (
        "it reads the machine's settings",
        "environment-variable available-environment-variables system-property",
    ),
    ("it parses text that may name other files", "parse-xml parse-xml-fragment"),
    ("it can call any function", "transform load-xquery-module function-lookup"),
    ("it needs an xsl:key, which is not Schematron", "key"),
    ("its result changes from run to run", "current-dateTime current-date current-time"),
    ("it writes values of records to standard error", "trace"),
)
FORBIDDEN: Mapping[str, str] = MappingProxyType(
    {name: reason for reason, names in _FORBIDDEN for name in names.split()}
)
"""Forbidden functions, and why."""
_HINTS: Mapping[str, str] = MappingProxyType({"trace": "leave it out: trace(V, 'label') is V"})
_DOCUMENTS = frozenset({"document", "doc"})


@dataclass(frozen=True, slots=True)
class DocumentCall:
    """A call of ``document()`` or ``doc()`` with a literal URI, at ``[start:end]`` of its expression."""

    uri: str
    start: int
    end: int


def screen(expression: str, origin: Origin, namespaces: tuple[tuple[str, str], ...]) -> tuple[DocumentCall, ...]:
    """Refuse what an expression must not call, and return its calls of ``document()``.

    The test is lexical: every name before a parenthesis outside literals and comments is taken for a call, so
    nothing escapes in an expression that a parser does not understand.

    Raises
    ------
    RulebookError
        With the place and the call.
    """
    try:
        tokens = tokenize(expression)
    except LexicalError as problem:
        raise syntax_error(expression, str(problem), origin) from None
    return tuple(_screened(expression, calls(tokens), origin, dict(namespaces)))


def syntax_error(
    expression: str, reason: str, origin: Origin, hint: str = "", *, rules: Sequence[str] = ()
) -> RulebookError:
    """Return the error for an expression that is not XPath of the version that the rulebook asks for.

    Parameters
    ----------
    rules : sequence of str
        Ids of the rules that need it.
    """
    of = f" of the rule {', '.join(rules)}" if rules else ""
    what = f"XPath error in {' '.join(expression.split())!r}{of}: {reason}"
    return RulebookError(what, where=str(origin), hint=hint)


def _screened(
    expression: str, found: Iterator[Call], origin: Origin, namespaces: Mapping[str, str]
) -> Iterator[DocumentCall]:
    for call in found:
        uri, local = _expanded(call.name, namespaces)
        if uri not in STANDARD_NAMESPACES.values():
            raise RulebookError(
                f"{call.name}() is an extension function; only the functions of XPath itself are allowed",
                where=str(origin),
                hint=f"write {' '.join(expression.split())!r} without it",
            )
        if uri == FUNCTIONS_NAMESPACE and local in FORBIDDEN:
            raise RulebookError(
                f"the function {call.name}() is forbidden: {FORBIDDEN[local]}",
                where=str(origin),
                hint=_HINTS.get(
                    local, "rules may look at the data and, through document(), at the original file only"
                ),
            )
        if uri == FUNCTIONS_NAMESPACE and local in _DOCUMENTS:
            yield _document(call, origin)


def _expanded(name: str, namespaces: Mapping[str, str]) -> tuple[str, str]:
    if name.startswith("Q{"):
        uri, _, local = name[2:].partition("}")
        return uri.strip(), local
    prefix, colon, local = name.rpartition(":")
    if not colon:
        return FUNCTIONS_NAMESPACE, local
    return namespaces.get(prefix) or STANDARD_NAMESPACES.get(prefix, ""), local


def _document(call: Call, origin: Origin) -> DocumentCall:
    if not call.literal:
        raise RulebookError(
            f"the argument of {call.name}() must be a literal file name",
            where=str(origin),
            hint=f"write for example {call.name}('microdata.xml'); --original says which file that is",
        )
    return DocumentCall(call.literal, call.start, call.end)

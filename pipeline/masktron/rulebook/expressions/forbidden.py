"""Functions that reach outside the data and the bound original: refused before any engine sees the expression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from masktron.errors import RulebookError
from masktron.problems.problem import Place, Problem, Rule
from masktron.rulebook.expressions.lexer import LexicalError, Token, tokenize
from masktron.rulebook.expressions.tree import DOCUMENTS
from masktron.rulebook.expressions.words import FUNCTIONS_NAMESPACE, STANDARD_NAMESPACES, NamedCall, calls, expanded
from masktron.rulebook.schema import Origin, OwnFunction

_FORBIDDEN = (
    (
        "it reads other files",
        "unparsed-text unparsed-text-lines unparsed-text-available unparsed-entity-uri unparsed-entity-public-id "
        "json-doc collection uri-collection doc-available stream-available",
    ),
    (
        "it reads the machine's settings",
        "environment-variable available-environment-variables system-property available-system-properties",
    ),
    ("it parses text that may name other files", "parse-xml parse-xml-fragment"),
    ("it can call any function", "transform load-xquery-module function-lookup"),
    ("it needs an <xsl:key>, and the rulebook has none", "key"),
    ("its result changes from run to run", "current-dateTime current-date current-time random-number-generator"),
    (
        "it tells where a file lies, not what is in it, and each engine has another answer",
        "base-uri document-uri static-base-uri current-output-uri",
    ),
    ("its result depends on the settings of the machine", "implicit-timezone default-language"),
    (
        "it asks what an engine can do, and each one has another answer",
        "element-available function-available type-available",
    ),
    (
        "it belongs to an instruction of XSLT that Schematron does not have",
        "current-group current-grouping-key current-merge-group current-merge-key regex-group accumulator-after "
        "accumulator-before",
    ),
    ("it writes values of records to standard error", "trace"),
)
FORBIDDEN: Mapping[str, str] = MappingProxyType(
    {name: reason for reason, names in _FORBIDDEN for name in names.split()}
)
"""Forbidden functions, and why."""
_INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        "trace": "V for trace(V, 'label')",
        **dict.fromkeys(
            ("current-dateTime", "current-date", "current-time"),
            "the date that the survey refers to, as a <let> at the head of the rulebook",
        ),
        "implicit-timezone": "the time zone: 'PT0H' is that of UTC",
    }
)
_AROUND = 60
"""Characters that a message shows before and after a position."""
_IDS = (FUNCTIONS_NAMESPACE, "generate-id")


@dataclass(frozen=True, slots=True)
class DocumentCall:
    """A call of ``document()`` or ``doc()`` with a literal URI, at ``[start:end]`` of its expression."""

    uri: str
    start: int
    end: int


def screen(
    expression: str,
    origin: Origin,
    namespaces: tuple[tuple[str, str], ...],
    own: frozenset[OwnFunction] = frozenset(),
) -> tuple[DocumentCall, ...]:
    """Refuse what an expression must not call, and return its calls of ``document()``.

    The test is lexical: every name before a parenthesis outside literals and comments is taken for a call, so
    nothing escapes in an expression that a parser does not understand.

    Parameters
    ----------
    own : frozenset of (str, str, int)
        The functions that the rulebook declares, and ``key`` where it has keys.

    Raises
    ------
    RulebookError
        With the place and the call.
    """
    try:
        tokens = tokenize(expression)
    except LexicalError as problem:
        reason = f"{problem} (character {problem.at + 1})"
        raise syntax_error(expression, reason, origin, at=problem.at) from None
    _refuse_ids(expression, tokens, origin, dict(namespaces))
    return tuple(_screened(expression, calls(expression), origin, dict(namespaces), own))


def shortened(expression: str, at: int = 0) -> str:
    """Return an expression for a message, in quotes; of a long one 60 characters on both sides of a position.

    Parameters
    ----------
    at : int
        In the expression as it is written.
    """
    before, after = " ".join(expression[:at].split()), " ".join(expression[at:].split())
    space = " " if before and after and (expression[at - 1].isspace() or expression[at].isspace()) else ""
    head = f"... {before[-_AROUND:]}" if len(before) > 2 * _AROUND else before
    tail = f"{after[:_AROUND]} ..." if len(after) > 2 * _AROUND else after
    return repr(f"{head}{space}{tail}")


def syntax_error(
    expression: str, reason: Problem | str, origin: Origin, *, rules: Sequence[str] = (), at: int = 0
) -> RulebookError:
    """Return the error for an expression that is not XPath of the version that the rulebook asks for.

    Parameters
    ----------
    rules : sequence of str
        Ids of the rules that need it.
    at : int
        Position in the expression around which a long one is shown.
    """
    place = Place(str(origin), rule=Rule(rules[0], ", ".join(rules)) if rules else None)
    return RulebookError.of("xpath-error", place, expression=shortened(expression, at), reason=reason)


def _screened(
    expression: str,
    found: Iterator[NamedCall],
    origin: Origin,
    namespaces: Mapping[str, str],
    own: frozenset[OwnFunction],
) -> Iterator[DocumentCall]:
    for call in found:
        uri, local = expanded(call.name, namespaces)
        if (uri, local, call.arguments) in own:  # with other arguments it may be an extension of an engine
            continue
        if uri not in STANDARD_NAMESPACES.values():
            instead = f"{shortened(expression, call.start)} without it"
            raise _refused(call.name, origin, "it is an extension, no function of XPath itself", instead)
        if uri == FUNCTIONS_NAMESPACE and local in FORBIDDEN:
            raise _refused(call.name, origin, FORBIDDEN[local], _INSTEAD.get(local, "the rule without it"))
        if uri == FUNCTIONS_NAMESPACE and local in DOCUMENTS:
            yield _document(call, origin)


def _refuse_ids(expression: str, tokens: Sequence[Token], origin: Origin, namespaces: Mapping[str, str]) -> None:
    """Refuse ``generate-id()`` but where two of its results are compared: the texts change between runs."""
    found = {
        at: _closing(tokens, at)
        for at, token in enumerate(tokens[:-1])
        if token.kind == "name" and tokens[at + 1].text in "(#" and expanded(token.text, namespaces) == _IDS
    }
    compared: set[int] = set()
    for at, end in found.items():
        if [token.text for token in tokens[end + 1 : end + 2]] in (
            ["="],
            ["!="],
            ["eq"],
            ["ne"],
        ) and end + 2 in found:
            compared |= {at, end + 2}
    if found.keys() - compared:
        reason = f"its result changes from run to run, in {shortened(expression)}"
        instead = "generate-id(A) = generate-id(B), which compares two of them, or count(A | B) = 1"
        raise _refused("generate-id", origin, reason, instead)


def _refused(function: str, origin: Origin, reason: str, instead: str) -> RulebookError:
    return RulebookError.of("forbidden-function", str(origin), function=function, reason=reason, instead=instead)


def _closing(tokens: Sequence[Token], at: int) -> int:
    """Return the place of the parenthesis that closes a call."""
    depth = 0
    for place in range(at + 1, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[place].text, 0) if tokens[place].kind == "symbol" else 0
        if depth <= 0:
            return place
    return len(tokens)


def _document(call: NamedCall, origin: Origin) -> DocumentCall:
    if not call.literal:
        reason, instead = "its argument must be a literal file name", f"{call.name}('original.xml')"
        raise _refused(call.name, origin, reason, instead)
    return DocumentCall(call.literal, call.start, call.end)

"""Every expression of a rulebook, judged by the engine that will decide: libxml2 for XPath 1.0, Saxon for later."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import quoteattr

from elementpath.xpath31 import XPath31Parser
from lxml import etree

from masktron.engines.saxon import SaxonError, Stylesheet
from masktron.errors import did_you_mean
from masktron.rulebook.forbidden import screen, syntax_error
from masktron.rulebook.functions import FUNCTIONS, how_to_declare, in_version, since
from masktron.rulebook.schema import Let, Origin, Rulebook, ValueOf
from masktron.xpath.advice import advice
from masktron.xpath.lexer import calls, rename_variables, tokenize, variables
from masktron.xpath.namespaces import XSL, declarations, expanded

_FUNCTIONS_1 = frozenset(name for name, first in FUNCTIONS.items() if first == "1.0")
_KEYWORDS_1 = frozenset({"and", "or", "div", "mod", "node", "text", "comment", "processing-instruction"})


@dataclass(frozen=True, slots=True)
class SourceExpression:
    """An expression with the variables that are declared where it stands, in order, and the rules that need it."""

    source: str
    origin: Origin
    scope: tuple[Let, ...]
    rules: tuple[str, ...] = ()


def expressions(rulebook: Rulebook) -> Iterator[SourceExpression]:
    """Yield every expression of a rulebook: variables, contexts, tests, and what messages show."""
    yield from _of_lets(rulebook.lets, ())
    for pattern in rulebook.patterns:
        yield from _of_lets(pattern.lets, rulebook.lets)
        outer = rulebook.lets + pattern.lets
        for rule in pattern.rules:
            yield SourceExpression(rule.context, rule.origin, outer, tuple(check.id for check in rule.checks))
            yield from _of_lets(rule.lets, outer)
            scope = outer + rule.lets
            for check in rule.checks:
                yield SourceExpression(check.test, check.origin, scope, (check.id,))
                for part in check.message:
                    if isinstance(part, ValueOf):
                        source = f"name({part.select})" if part.is_name else part.select
                        yield SourceExpression(source, check.origin, scope, (check.id,))


def _of_lets(lets: tuple[Let, ...], outer: tuple[Let, ...]) -> Iterator[SourceExpression]:
    for i, let in enumerate(lets):
        yield SourceExpression(let.value, let.origin, outer + lets[:i])


def compile_all(rulebook: Rulebook) -> None:
    """Compile every expression.

    Raises
    ------
    RulebookError
        With file, line and expression of the first that is not XPath of the rulebook's version, or uses a
        variable, prefix or function that is not there.
    """
    found = tuple(expressions(rulebook))
    for expression in found:
        screen(expression.source, expression.origin, rulebook.namespaces)
        _check_functions(expression, rulebook)
        _check_variables(expression)
        _check_focus(expression)
    if rulebook.version == "1.0":
        for expression in found:
            _check_numbers(expression)
            _compile_1(expression, dict(rulebook.namespaces))
    else:
        _compile_2(found, rulebook.namespaces)


def _check_functions(expression: SourceExpression, rulebook: Rulebook) -> None:
    """Refuse functions of a later version than the rulebook declares, whatever the engine knows."""
    for call in calls(tokenize(expression.source)):
        space, local = expanded(call.name, dict(rulebook.namespaces))
        first = since(space, local, call.arguments)
        if first is None or in_version(rulebook.version, first):
            continue
        with_ = (
            "" if first == since(space, local) else f" with {call.arguments} argument{'s' * (call.arguments != 1)}"
        )
        raise syntax_error(
            expression.source,
            f"XPath {rulebook.version} has no function {call.name}(){with_}",
            expression.origin,
            how_to_declare(f"{call.name}(){with_}", first),
            rules=expression.rules,
            at=call.start,
        )


def _check_numbers(expression: SourceExpression) -> None:
    """Refuse numbers with an exponent: XPath 1.0 (section 3.7) has none, whatever libxml2 reads."""
    for token in tokenize(expression.source):
        if token.kind == "number" and "e" in token.text.lower():
            raise syntax_error(
                expression.source,
                f"{token.text} is no number in XPath 1.0",
                expression.origin,
                'write it without an exponent, or declare a later XPath: queryBinding="xslt2"',
                rules=expression.rules,
                at=token.start,
            )


def _check_variables(expression: SourceExpression) -> None:
    tokens = tokenize(expression.source)
    bound = {  # by the expression itself: for $x in, let $x :=, function($x)
        token.text
        for token, follower in pairwise(tokens)
        if token.kind == "variable" and (follower.text in ("in", ":=", "as", ",", ")"))
    }
    known = {let.name for let in expression.scope}
    unknown = sorted(variables(tokens) - known - (bound if _binds(tokens) else set()))
    if unknown:
        raise syntax_error(
            expression.source,
            f"the variable ${unknown[0]} is not declared here",
            expression.origin,
            f"declared: {', '.join('$' + n for n in sorted(known)) or 'none'}",
            rules=expression.rules,
        )


def _check_focus(expression: SourceExpression) -> None:
    """Refuse a position that depends on how an engine walks through the document."""
    depth = 0
    tokens = tokenize(expression.source)
    for before, token, after in zip((None, *tokens), tokens, tokens[1:], strict=False):
        if token.kind == "symbol":
            depth += (token.text == "[") - (token.text == "]")
        path = before is not None and before.kind == "symbol" and before.text in ("/", "//", "!")
        if depth == 0 and not path and after.text == "(" and token.text in ("position", "last"):
            raise syntax_error(
                expression.source,
                f"{token.text}() outside a predicate has no meaning in Schematron",
                expression.origin,
                "write for example count(preceding-sibling::*) + 1",
                rules=expression.rules,
            )


def _binds(tokens: Collection[object]) -> bool:
    return any(getattr(token, "text", "") in ("for", "some", "every", "let", "function") for token in tokens)


def _compile_1(expression: SourceExpression, namespaces: Mapping[str, str]) -> None:
    source, origin = expression.source, expression.origin
    tokens = tokenize(source)
    for call in calls(tokens):
        if call.name not in _FUNCTIONS_1:
            hint = _function_hint(call.name)
            raise syntax_error(
                source,
                f"XPath 1.0 has no function {call.name}()",
                origin,
                hint,
                rules=expression.rules,
                at=call.start,
            )
    for token, follower in pairwise(tokens):
        if token.kind == "name" and follower.text == "(" and token.text not in _KEYWORDS_1 | _FUNCTIONS_1:
            hint = advice(source) or _function_hint(token.text)
            raise syntax_error(
                source, f"XPath 1.0 has no {token.text}()", origin, hint, rules=expression.rules, at=token.start
            )
    for token in tokens:
        prefix, colon, _ = token.text.partition(":")
        if token.kind == "name" and colon and prefix not in namespaces and prefix != "xml":
            raise syntax_error(
                source,
                f"the prefix {prefix!r} is not declared",
                origin,
                f'add <ns prefix="{prefix}" uri="..."/> to the schema',
                rules=expression.rules,
            )
    try:
        # libxml2 knows no blank after $, which XPath allows
        etree.XPath(rename_variables(source, str))
    except etree.XPathSyntaxError as problem:
        hint = _function_hint("") if "(:" in source or " if " in f" {source}" else ""
        raise syntax_error(source, str(problem), origin, advice(source) or hint, rules=expression.rules) from None


def _function_hint(name: str) -> str:
    later = not name or name in XPath31Parser.symbol_table
    if later:
        said = f"{name}() belongs to XPath 2 and later" if name else "it may be XPath 2"
        return f'{said}: put queryBinding="xslt2" on the schema'
    close = did_you_mean(name, sorted(_FUNCTIONS_1))
    return close if close.endswith("?") else "check the spelling"


def _compile_2(found: tuple[SourceExpression, ...], namespaces: tuple[tuple[str, str], ...]) -> None:
    try:
        Stylesheet(_stylesheet(found, namespaces))
    except SaxonError as whole:
        for expression in found:
            try:
                Stylesheet(_stylesheet((expression,), namespaces))
            except SaxonError as problem:
                hint = advice(expression.source) or "Saxon decides XPath 2 and later"
                raise syntax_error(
                    expression.source, problem.first, expression.origin, hint, rules=expression.rules
                ) from None
        raise syntax_error("", whole.first, found[0].origin) from None


def innermost(scope: tuple[Let, ...]) -> Callable[[str], str]:
    """Return the renaming of variables under which every ``let`` of a scope has a name of its own."""
    names = {let.name: f"v{k}.{_plain(let.name)}" for k, let in enumerate(scope)}
    return lambda name: names.get(name, f"b.{_plain(name)}")


def _plain(name: str) -> str:
    return re.sub(r"[^\w.\-]", "_", name)


def _declared(scope: tuple[Let, ...]) -> Iterator[str]:
    for k, let in enumerate(scope):
        value = quoteattr(rename_variables(let.value, innermost(scope[:k])))
        yield f'<m-xsl:variable name="v{k}.{_plain(let.name)}" select={value}/>'


def _stylesheet(found: tuple[SourceExpression, ...], namespaces: tuple[tuple[str, str], ...]) -> str:
    templates = (
        f'<m-xsl:template name="t{i}">{"".join(_declared(e.scope))}'
        f"<m-xsl:sequence select={quoteattr(rename_variables(e.source, innermost(e.scope)))}/></m-xsl:template>"
        for i, e in enumerate(found)
    )
    return (
        f'<m-xsl:stylesheet version="3.0" xmlns:m-xsl="{XSL}" {declarations(namespaces)}>'
        f"{''.join(templates)}</m-xsl:stylesheet>"
    )

"""Every expression of a rulebook, judged by the engine that will decide, and what was meant by what is not XPath."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from xml.sax.saxutils import quoteattr

from lxml import etree

from masktron.counts import counted
from masktron.engines.engine_process import EngineError
from masktron.engines.saxon import Stylesheet
from masktron.errors import RulebookError
from masktron.problems.problem import Known, Problem
from masktron.rulebook.expressions.forbidden import screen, syntax_error
from masktron.rulebook.expressions.parsing import is_word, understood
from masktron.rulebook.expressions.tree import (
    Call,
    Expression,
    Literal,
    Path,
    SimpleMap,
    free_variables,
    outside_predicates,
    walk,
)
from masktron.rulebook.expressions.words import (
    XSL,
    calls,
    declarations,
    expanded,
    names_before_brackets,
    prefixes,
    rename_variables,
    word_from,
)
from masktron.rulebook.functions import FUNCTIONS, in_version, not_in_version, since
from masktron.rulebook.programs import visible, written
from masktron.rulebook.schema import Instruction, Let, Namespaces, Origin, Rulebook, ValueOf, XPathVersion

LITERALS = re.compile(r"""'[^']*'|"[^"]*\"""")
_IF = re.compile(r"\s*(?:if\b)?(?P<when>.*?)\bthen\b(?P<then>.*)", re.DOTALL | re.IGNORECASE)
_IMPLIES = re.compile(r"(?P<when>.+?)(?P<sign>\bimplies\b|->)(?P<then>.+)", re.DOTALL | re.IGNORECASE)
_LIST = re.compile(r"(?P<left>[\w.:/@$-]+)\s*(?P<sign>=|\bin\b)\s*\((?P<items>[^(),]+(?:,[^(),]+)+)\)")
_ITEM = re.compile(r"[^,]+")
_SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*\Z")
"""The number before a sign for per cent."""
_SLIPS = (
    (r"=>", ">= for 'at least', and not(A) or B for 'if A, then B'"),
    (r"->|\bimplies\b", "not(A) or B for 'if A, then B'"),
    (r"=<", "<= for 'at most' (&lt;= in XML)"),
    (r"==", "one = to compare"),
    (r"<>", "!= for 'not equal'"),
    (r"&&?", "the word and"),
    (r"\|\|", "the word or"),
    (r"!(?!=)", "not(...)"),
    ("\N{LESS-THAN OR EQUAL TO}", "<= for it (&lt;= in XML)"),
    ("\N{GREATER-THAN OR EQUAL TO}", ">= for it"),
    ("\N{NOT EQUAL TO}", "!= for it"),
    (r"\b(?:AND|And|OR|Or|DIV|Div|MOD|Mod)\b", "and, or, div and mod in small letters"),
    (r"\bxor\b", "boolean(A) != boolean(B)"),
    (r"\bbetween\b", "A >= 1 and A <= 5 for a range (&lt;= in XML)"),
    (r"\bin(?=\s*\()", "A = 1 or A = 2 for a list; in XPath 2 A = (1, 2)"),
    ("[\N{LEFT SINGLE QUOTATION MARK}-\N{DOUBLE HIGH-REVERSED-9 QUOTATION MARK}]", "straight quotes: 'A'"),
    (r"%(?=\s*[\w(])", "mod for a remainder, and 0.3 for 30 %"),
    (r"%", "0.3 for 30 %"),
    (r"(?<=\))\s*/\s*[\w(]|(?<=\w)\s*/\s*[0-9(]", "div to divide, since / is a path"),
    (r"\bmissing\b", "string(number(A)) = 'NaN' or A >= 0 where A may be missing"),
    (r"(?<=[-+*=<>])\s*[0-9]+,[0-9]+", "a decimal point in rules, as in 0.5, whatever the file has"),
    (r"\^|\*\*", "A * A for a power"),
)


def advice(source: str, version: str = "1.0") -> Problem | None:
    """Return the first slip that an expression has, with what to write instead; None where none is known.

    Parameters
    ----------
    source : str
        An expression that could not be compiled.
    version : str
        The version of XPath that it is read as.
    """
    bare = LITERALS.sub(lambda found: f"'{' ' * (len(found[0]) - 2)}'", source)
    found = _IF.fullmatch(source)
    if found and "then" in bare.lower() and not re.search(r"\belse\b", bare, re.IGNORECASE):
        instead = f"not({_unwrapped(found['when'])}) or {found['then'].strip()}"
        return Problem("xpath-slip", construct="'then' without 'else'", instead=instead)
    found = _IMPLIES.fullmatch(bare)
    if found and all(found[side].count("(") == found[side].count(")") for side in ("when", "then")):
        when, then = source[: found.end("when")], source[found.start("then") :]
        shown = named(found["sign"], found.start("sign"))
        return Problem("xpath-slip", construct=shown, instead=f"not({_unwrapped(when)}) or {then.strip()}")
    found = _LIST.search(bare)
    if found and (version == "1.0" or found["sign"] != "="):
        items = [source[one.start() : one.end()].strip() for one in _ITEM.finditer(bare, *found.span("items"))]
        shown = named(f"{found['sign']} ({', '.join(items)})", found.start("sign"))
        instead = " or ".join(f"{found['left']} = {item}" for item in items)
        instead += '; XPath 2 has such lists (queryBinding="xslt2")' if found["sign"] == "=" else ""
        return Problem("xpath-slip", construct=shown, instead=instead)
    for pattern, usual in _SLIPS:
        if one := re.search(pattern, bare):
            share = _SHARE.search(bare, 0, one.start())
            own = "0.3 for 30" if share is None else f"{Decimal(share[1]).scaleb(-2).normalize():f} for {share[1]}"
            instead = usual.replace("0.3 for 30", own)
            return Problem("xpath-slip", construct=named(one[0], one.start()), instead=instead)
    return None


def named(text: str, at: int) -> str:
    """Return a piece of an expression with its place in it."""
    return f"{text.strip()!r} (character {at + 1 + len(text) - len(text.lstrip())})"


def _unwrapped(condition: str) -> str:
    """Return a condition without the parentheses around all of it."""
    bare = condition.strip()
    inner = bare[1:-1]
    return inner.strip() if bare[:1] == "(" and bare[-1:] == ")" and not re.search(r"[()]", inner) else bare


_FUNCTIONS_1 = frozenset(name for name, first in FUNCTIONS.items() if first == "1.0")
_ABS = "A - B <= 1 and B - A <= 1 for abs(A - B) <= 1 (&lt;= in XML)"
_KEYWORDS_1 = frozenset({"and", "or", "div", "mod", "node", "text", "comment", "processing-instruction"})


@dataclass(frozen=True, slots=True)
class SourceExpression:
    """An expression of a version of XPath.

    With the variables that are declared where it stands, in order, and the rules that need it.
    """

    source: str
    origin: Origin
    version: XPathVersion
    scope: tuple[Let, ...]
    rules: tuple[str, ...] = ()
    named: str = ""
    """The path, where the expression is ``name(path)``, which a message shows."""

    def tree(self, namespaces: tuple[tuple[str, str], ...]) -> Expression | None:
        """Return the tree of what stands in the rulebook."""
        return understood(self.named or self.source, namespaces)


def expressions(rulebook: Rulebook) -> Iterator[SourceExpression]:
    """Yield every expression of a rulebook: variables, contexts, tests, and what messages show."""
    yield from _of_lets(rulebook.lets, rulebook.version, ())
    for pattern in rulebook.patterns:
        version = pattern.version
        yield from _of_lets(pattern.lets, version, rulebook.lets)
        outer = rulebook.lets + pattern.lets
        for rule in pattern.rules:
            yield SourceExpression(
                rule.context, rule.origin, version, outer, tuple(check.id for check in rule.checks)
            )
            yield from _of_lets(rule.lets, version, outer)
            scope = outer + rule.lets
            for check in rule.checks:
                yield SourceExpression(check.test, check.origin, version, scope, (check.id,))
                for part in check.message:
                    if isinstance(part, ValueOf):
                        source = f"name({part.select})" if part.is_name else part.select
                        named = part.select if part.is_name else ""
                        yield SourceExpression(source, check.origin, version, scope, (check.id,), named)


def _of_lets(lets: tuple[Let, ...], version: XPathVersion, outer: tuple[Let, ...]) -> Iterator[SourceExpression]:
    for i, let in enumerate(lets):
        yield SourceExpression(let.value, let.origin, version, outer + lets[:i])


def compile_all(rulebook: Rulebook) -> None:
    """Compile every expression.

    Raises
    ------
    RulebookError
        With file, line and expression of the first that is not XPath of its pattern's version, or uses a
        variable, prefix or function that is not there.
    """
    found = tuple(expressions(rulebook))
    for expression in found:
        screen(expression.source, expression.origin, rulebook.namespaces, rulebook.own_functions)
        _check_functions(expression, rulebook.namespaces)
        if (tree := expression.tree(rulebook.namespaces)) is not None:
            _check_variables(expression, tree)
            _check_focus(expression, tree)
    later = tuple(expression for expression in found if expression.version != "1.0")
    for expression in found:
        if expression.version == "1.0":
            if (tree := expression.tree(rulebook.namespaces)) is not None:
                _check_numbers(expression, tree)
            _compile_1(expression, dict(rulebook.namespaces))
    if rulebook.programs:
        try:
            Stylesheet(_stylesheet((), rulebook))
        except EngineError as wrong:
            raise syntax_error(rulebook.programs[0].value("name"), str(wrong), rulebook.programs[0].origin) from None
    if later:
        _compile_2(later, rulebook)


def _check_functions(expression: SourceExpression, namespaces: Namespaces) -> None:
    """Refuse functions of a later version than the one of the expression, whatever the engine knows."""
    for call in calls(expression.source):
        space, local = expanded(call.name, dict(namespaces))
        first = since(space, local, call.arguments)
        if first is None or in_version(expression.version, first):
            continue
        own = first != since(space, local)
        construct = f"function {call.name}()" + f" with {counted(call.arguments, 'argument')}" * own
        reason = not_in_version(expression.version, construct, first)
        if local == "abs":
            reason = Problem("xpath-slip", construct=construct, instead=_ABS).then(reason)
        raise _wrong(expression, reason, call.start)


def _check_numbers(expression: SourceExpression, tree: Expression) -> None:
    """Refuse numbers with an exponent: XPath 1.0 (section 3.7) has none, whatever libxml2 reads."""
    for one in walk(tree):
        if isinstance(one, Literal) and isinstance(one.value, float):
            at = one.source.index(one.written, one.start)
            raise _wrong(expression, not_in_version("1.0", named(one.written, at), "2.0"), at)


def _check_variables(expression: SourceExpression, tree: Expression) -> None:
    known = {let.name for let in expression.scope}
    unknown = sorted(free_variables(tree) - known)
    if unknown:
        name, names = f"${unknown[0]}", tuple(f"${name}" for name in sorted(known))
        raise _wrong(expression, Problem("unknown-name", kind="variable", name=name, known=Known(name, names)))


def _check_focus(expression: SourceExpression, tree: Expression) -> None:
    """Refuse a position that depends on how an engine walks through the document."""
    own = tuple(outside_predicates(tree))
    led = [hop.to for one in own if isinstance(one, Path) for hop in one.hops]
    led += [one.to for one in own if isinstance(one, SimpleMap)]
    for one in own:
        if isinstance(one, Call) and one.standard in ("position", "last") and not any(one is to for to in led):
            reason, instead = "outside a predicate it has no meaning", "count(preceding-sibling::*) + 1"
            raise RulebookError.of(
                "forbidden-function", str(expression.origin), function=one.name, reason=reason, instead=instead
            )


def _compile_1(expression: SourceExpression, namespaces: Mapping[str, str]) -> None:
    source = expression.source
    for call in calls(source):
        if call.name not in _FUNCTIONS_1:
            raise _wrong(expression, _unknown(call.name), call.start)
    for name, start in names_before_brackets(source):
        if name not in _KEYWORDS_1 | _FUNCTIONS_1:
            raise _wrong(expression, advice(source) or _unknown(name), start)
    for prefix in prefixes(source):
        if prefix not in namespaces and prefix != "xml":
            raise _wrong(expression, Problem("prefix-not-declared", prefix=prefix))
    # libxml2 knows no blank after $, which XPath allows
    renamed = rename_variables(source, str)
    try:
        etree.XPath(renamed)
    except etree.XPathSyntaxError as problem:
        at = next((each.column for each in problem.error_log), 0)
        raise _wrong(expression, _syntax(expression, namespaces, at if renamed == source else 0), at) from None


def _wrong(expression: SourceExpression, reason: Problem | str, at: int = 0) -> RulebookError:
    return syntax_error(expression.source, reason, expression.origin, rules=expression.rules, at=at)


def _syntax(expression: SourceExpression, namespaces: Mapping[str, str], at: int) -> Problem | str:
    """Say what of an expression is not XPath 1.0, at a place where libxml2 stopped."""
    source = expression.source
    if slip := advice(source):
        return slip
    word = word_from(source, at)
    found = "" if word is None else named(*word)
    if "(:" in LITERALS.sub("", source):
        return not_in_version("1.0", "comment (: ... :)", "2.0")
    if expression.tree(tuple(namespaces.items())) is not None:
        return not_in_version("1.0", found or repr(source.strip()), "2.0")
    return f"unexpected {found}" if found else "something is missing at the end"


def _unknown(name: str) -> Problem:
    if is_word(name):
        return not_in_version("1.0", f"{name}()", "2.0")
    return Problem("unknown-name", kind="function", name=f"{name}()", known=Known(name, tuple(sorted(_FUNCTIONS_1))))


def _compile_2(found: tuple[SourceExpression, ...], rulebook: Rulebook) -> None:
    try:
        Stylesheet(_stylesheet(found, rulebook))
    except EngineError as whole:
        for expression in found:
            try:
                Stylesheet(_stylesheet((expression,), rulebook))
            except EngineError as problem:
                raise _wrong(expression, advice(expression.source, "2.0") or str(problem)) from None
        raise syntax_error("", str(whole), found[0].origin) from None


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


def _program(program: Instruction, rulebook: Rulebook) -> str:
    """Return a function or a key with the variables of the schema that it may see."""
    lets = visible(program, rulebook.lets) if program.name == "function" else ()
    return written(program, lambda text, _: rename_variables(text, innermost(lets)), "".join(_declared(lets)))


def _stylesheet(found: tuple[SourceExpression, ...], rulebook: Rulebook) -> str:
    templates = (
        f'<m-xsl:template name="t{i}">{"".join(_declared(e.scope))}'
        f"<m-xsl:sequence select={quoteattr(rename_variables(e.source, innermost(e.scope)))}/></m-xsl:template>"
        for i, e in enumerate(found)
    )
    return (
        f'<m-xsl:stylesheet version="3.0" xmlns:m-xsl="{XSL}" {declarations(rulebook.namespaces)}>'
        f"{''.join(_program(one, rulebook) for one in rulebook.programs)}{''.join(templates)}</m-xsl:stylesheet>"
    )

"""pyschematron's validator, reduced to its decisions and to a speed that a whole file can bear.

pyschematron visits every node of a document, evaluates the context of every rule at every ancestor of it and
writes down a location path for each answer: 5 ms for a record of 16 fields. Here its validators are subclassed so
that a context is evaluated once per ancestor, and no location or message is rendered; and elementpath finds the
children of a name in a table. What decides (its parsers, its contexts, its match of nodes, its reading of a result as
true or false) is its own code; the tests compare the decisions with those of the untouched validator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, cast

from elementpath import DocumentNode, ElementNode, ElementPathError, TextNode, XPathContext, XPathNode, XPathToken
from elementpath.tree_builders import get_node_tree
from elementpath.xpath2 import XPath2Parser
from elementpath.xpath_nodes import EtreeElementNode
from lxml import etree
from pyschematron.direct_mode.schematron.ast import Assert, Schema
from pyschematron.direct_mode.xml_validation import validators as stock
from pyschematron.direct_mode.xml_validation.queries.base import QueryProcessor
from pyschematron.direct_mode.xml_validation.queries.factories import DefaultQueryProcessorFactory
from pyschematron.direct_mode.xml_validation.queries.xpath import (
    ElementPathXPathQueryParser,
    XPathEvaluationContext,
    XPathQueryProcessor,
)

from masktron.evaluation.findings import Verdict
from masktron.evaluation.repeats import MOST, Contents, ContentsKey, constants, fields_read

CRASHES: tuple[type[Exception], ...] = (
    ElementPathError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What pyschematron and elementpath let through when an expression is beyond them."""

type _Matches = dict[tuple[int, int, int], frozenset[int]]
"""Identities of the nodes that a context query finds from a node or those above it, by query, scope and node."""


class _NamedChildren(XPathContext):
    """elementpath's context, which finds children by name in a table instead of asking each child.

    The table belongs to one document: contexts that are copied for its nodes share it.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._children: dict[ElementNode, dict[str | None, list[Any]]] = {}

    def iter_matching_nodes(self, name: str, default_namespace: str | None = None) -> Iterator[Any]:
        """Yield the children of the context item that have a name."""
        item = self.item
        if self.axis is not None or not isinstance(item, EtreeElementNode) or "*" in name or not name:
            yield from super().iter_matching_nodes(name, default_namespace)
            return
        if (table := self._children.get(item)) is None:
            table = self._children[item] = {}
            for child in item:
                if isinstance(child, EtreeElementNode):
                    table.setdefault(child.name, []).append(child)
        full = name if name[0] == "{" or not default_namespace else f"{{{default_namespace}}}{name}"
        before = item, self.axis
        self.axis = "child"
        for self.item in table.get(full, ()):
            yield self.item
        self.item, self.axis = before


class _Context(XPathEvaluationContext):
    """An evaluation context that also knows documents, for ``doc()``.

    pyschematron builds elementpath's context anew for every node, which looks at every item of every variable again.
    Here another node or variable takes over what is already there; the tests compare the two.
    """

    _context_variables: dict[str, Any]
    _xpath_context: Any

    def __init__(
        self,
        root: Any = None,
        namespaces: dict[str, str] | None = None,
        item: Any = None,
        variables: dict[str, Any] | None = None,
        documents: dict[str, DocumentNode] | None = None,
    ) -> None:
        super().__init__(None, namespaces, item, variables)
        self._context_variables |= {"root": root, "documents": documents}
        if root is not None:
            self._take(_NamedChildren(**self._context_variables))

    def _take(self, context: XPathContext) -> None:
        self._xpath_context = context
        # elementpath leaves the variables that an expression binds in the context that evaluates it.
        self._untouched = dict(context.variables)

    def get_xpath_context(self) -> XPathContext | None:
        """Return a context for one evaluation."""
        return super().get_xpath_context() if self._xpath_context is None else self._xpath_context.__copy__()

    def _get_updated(self, updates: dict[str, Any]) -> Self:
        """Return the context with another node or other variables; with another document it is built anew."""
        item = updates.get("item")
        known = self._xpath_context
        if known is None or not updates.keys() <= {"item", "variables"} or not isinstance(item, XPathNode | None):
            return super()._get_updated(updates)
        updated = object.__new__(type(self))
        updated._context_variables = self._context_variables | updates
        context = known.__copy__()
        if "item" in updates:
            context.item = context.root if item is None else item
        context.variables = {
            name: self._value(name, value) for name, value in updated._context_variables["variables"].items()
        }
        updated._take(context)
        return updated

    def _value(self, name: str, value: Any) -> Any:
        """Return what elementpath makes of the value of a variable: known unless the value is a new one."""
        context, before = self._xpath_context, self._context_variables["variables"]
        if name not in before or before[name] is not value:
            return context.get_value(value, context.namespaces)
        found = self._untouched[name]
        return list(found) if isinstance(found, list) else found


class _CheckValidator(stock._CheckValidator):
    """One assert or report; ``refusal`` says why elementpath cannot parse it."""

    def __init__(self, schema: Schema, query_parser: Any, check: Any, *, render: bool) -> None:
        self.refusal = ""
        self.index = _index(check)
        self._render = render
        bare = check.with_updated(subject=None, diagnostics=None, properties=None)
        try:
            super().__init__(schema, query_parser, bare if render else bare.with_updated(content=()))
        except CRASHES as error:
            self.refusal = describe(error)

    @property
    def token(self) -> XPathToken | None:
        """The test as it is evaluated; None where elementpath cannot parse it."""
        return None if self.refusal else cast(Any, self._check_query)._xpath_token

    def decide(self, context: Any) -> tuple[Verdict, str]:
        """Return the verdict on the context node, with the error that made it one."""
        if self.refusal:
            return Verdict.ERROR, self.refusal
        try:
            holds = bool(self._get_check_result_value(self._check_query.evaluate(context)))
            if self._render:
                self._rich_text_content_evaluator.evaluate(context)
        except CRASHES as error:
            return Verdict.ERROR, raised(error)
        return (Verdict.HOLDS if holds == isinstance(self._check, Assert) else Verdict.FAILS), ""


class _RuleValidator(stock._RuleValidator):
    """A rule: its context is evaluated once per ancestor of the nodes, not once per node and ancestor."""

    _check_validators: list[Any]

    def __init__(self, schema: Schema, query_parser: Any, rule: Any, *, render: bool) -> None:
        self._render = render
        self._reads: frozenset[str] | None = None
        self._known: dict[ContentsKey, list[tuple[int, Verdict, str]]] = {}
        super().__init__(schema, query_parser, rule)

    def remember(self, known: frozenset[str]) -> None:
        """From now on decide once what repeats itself; ``known`` are the variables around that never change."""
        tests = [check.token for check in self._check_validators]
        self._reads = fields_read(
            _bound(self._variable_evaluators), [test for test in tests if test is not None], known
        )

    def _get_check_validators(self) -> list[Any]:
        return [
            _CheckValidator(self._schema, self._query_parser, check, render=self._render)
            for check in self._rule.checks
        ]

    def matches(self, node: Any, context: Any, cache: _Matches) -> bool:
        """Return whether the context of the rule, seen from some ancestor of the node, contains the node."""
        return id(node) in self._found(node.parent, context, cache)

    def key(self, ancestor: Any, context: Any) -> tuple[int, int, int]:
        """Return where a cache keeps what the context finds from a node or those above it."""
        return id(self._context_query), id(context), id(ancestor)

    def _found(self, ancestor: Any, context: Any, cache: _Matches) -> frozenset[int]:
        """Return what the context finds from a node or those above it; from the document when there is no node."""
        key = self.key(ancestor, context)
        if (found := cache.get(key)) is None:
            result = self._context_query.evaluate(context.with_context_item(ancestor))
            found = frozenset(id(match) for match in result or () if isinstance(match, XPathNode))
            if ancestor is not None:
                found |= self._found(ancestor.parent, context, cache)
            cache[key] = found
        return found

    def decide(self, here: Any, contents: Contents) -> list[tuple[int, Verdict, str]]:
        """Return the index, the verdict and the error of each check on the node of an evaluation context."""
        key = None if self._reads is None else contents.key(here.get_context_item(), self._reads)
        if key is None:
            return self._decided(here)
        if (known := self._known.get(key)) is None:
            known = self._decided(here)
            if len(self._known) < MOST:
                self._known[key] = known
        return known

    def _decided(self, here: Any) -> list[tuple[int, Verdict, str]]:
        try:
            inner = stock._get_context_with_variables(self._variable_evaluators, here)
        except CRASHES as error:
            return [(check.index, Verdict.ERROR, raised(error)) for check in self._check_validators]
        return [(check.index, *check.decide(inner)) for check in self._check_validators]


class _PatternValidator(stock._PatternValidator):
    """A pattern: of the rules that match a node the first decides, the others are evaluated and left out.

    They are evaluated because pyschematron does so, and because it has an effect: elementpath builds the attribute
    nodes of an element when an expression first asks for them, and pyschematron visits those that are built.
    """

    _rule_validators: list[Any]

    def __init__(self, schema: Schema, query_parser: Any, pattern: Any, *, render: bool) -> None:
        self._render = render
        self.crashed: dict[int, str] = {}
        super().__init__(schema, query_parser, pattern)

    def _get_rule_validators(self) -> list[Any]:
        built: list[_RuleValidator] = []
        for position, rule in enumerate(self._pattern.rules):
            try:
                built.append(
                    _RuleValidator(self._schema, self._query_parser, rule, render=self._render),
                )
            except CRASHES as error:
                self._give_up(position, describe(error))
                break
        return built

    def _give_up(self, position: int, why: str) -> None:
        """Drop a rule that cannot be matched, and those after it: which nodes are left for them is unknown."""
        for rule in self._pattern.rules[position:]:
            self.crashed |= {_index(check): why for check in rule.checks}

    def found(self, parent: Any, context: Any, cache: _Matches) -> frozenset[int]:
        """Return what the rules find from a node or those above it, after `decide` has asked for a child of it."""
        none = frozenset[int]()
        return none.union(*(cache[rule.key(parent, context)] for rule in self._rule_validators))

    def decide(
        self, node: Any, context: Any, cache: _Matches, here: dict[int, Any], contents: Contents
    ) -> list[tuple[int, Verdict, str]]:
        """Return the decisions of the first rule that matches the node; ``here`` holds contexts made for the node."""
        first: list[tuple[int, Verdict, str]] | None = None
        for position, rule in enumerate(self._rule_validators):
            try:
                matched = rule.matches(node, context, cache)
            except CRASHES as error:
                self._give_up(position, raised(error))
                del self._rule_validators[position:]
                break
            if matched:
                if id(context) not in here:
                    here[id(context)] = context.with_context_item(node)
                decisions = rule.decide(here[id(context)], contents)
                first = decisions if first is None else first
        return first or []


class _Factory(DefaultQueryProcessorFactory):
    """pyschematron's processors, with what ``document()`` and ``doc()`` return."""

    def __init__(self, documents: Mapping[str, DocumentNode]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._documents = dict(documents)

    def get_schema_query_processor(self, schema: Schema) -> QueryProcessor:
        processor = super().get_schema_query_processor(schema)
        parser = cast(ElementPathXPathQueryParser, processor.get_query_parser())
        documents = None
        if self._documents and isinstance(parser._parser, XPath2Parser):
            bind_document(parser._parser, lambda name: self._documents[_name(name)])
            documents = dict(self._documents)
        namespaces = {ns.prefix: ns.uri for ns in schema.namespaces}
        return XPathQueryProcessor(parser, _Context(namespaces=namespaces, documents=documents))


class PyschematronValidator(stock.SimpleSchematronXMLValidator):
    """pyschematron's validator, reduced to its decisions.

    Parameters
    ----------
    schema : Schema
        Resolved; the ``fpi`` of each check is ``masktron:INDEX``.
    documents : mapping of str to DocumentNode, optional
        What ``document(name)`` and ``doc(name)`` return.
    """

    _pattern_validators: list[Any]

    def __init__(self, schema: Schema, documents: Mapping[str, DocumentNode] | None = None) -> None:
        rules = [rule for pattern in cast(Any, schema.patterns) for rule in pattern.rules]
        self._render = any("@" in rule.context.query or "attribute" in rule.context.query for rule in rules)
        self._crashed: dict[int, str] = {}
        self._pattern_validators = []
        try:
            super().__init__(schema, query_processor_factory=_Factory(documents or {}))
        except CRASHES as error:
            self._give_up_all(schema, describe(error))
            return
        if not self._render:
            self._remember_repeats()
        if documents:
            for query in self._query_parser._query_cache.values():
                _remember(query._xpath_token, list(documents.values()))

    @property
    def crashed(self) -> dict[int, str]:
        """Checks that cannot be judged at all, as a context or variable fails, with the error; so far."""
        return self._crashed | {k: v for pattern in self._pattern_validators for k, v in pattern.crashed.items()}

    def _remember_repeats(self) -> None:
        """Ask once about what nodes have in common; not where evaluating has an effect, see `_PatternValidator`."""
        outer = constants(_bound(self._variable_evaluators), frozenset())
        for pattern in self._pattern_validators:
            known = constants(_bound(pattern._variable_evaluators), outer)
            for rule in pattern._rule_validators:
                rule.remember(known)

    def _get_pattern_validators(self) -> list[Any]:
        built: list[_PatternValidator] = []
        for pattern in self._schema.patterns:
            try:
                built.append(
                    _PatternValidator(self._schema, self._query_parser, pattern, render=self._render),
                )
            except CRASHES as error:
                self._give_up(pattern, describe(error))
        return built

    def _give_up(self, pattern: Any, why: str) -> None:
        for rule in pattern.rules:
            self._crashed |= {_index(check): why for check in rule.checks}

    def _give_up_all(self, schema: Schema, why: str) -> None:
        for pattern in schema.patterns:
            self._give_up(pattern, why)
        self._pattern_validators = []

    def decide(self, document: etree._ElementTree) -> Iterator[tuple[Any, int, Verdict, str]]:
        """Yield node, check index, verdict and error text for every check that fires in the document."""
        if not self._pattern_validators:
            return
        tree = get_node_tree(root=document)
        root = self._query_processor.get_evaluation_context().with_xml_root(tree)
        try:
            context = stock._get_context_with_variables(self._variable_evaluators, root)
        except CRASHES as error:
            self._give_up_all(self._schema, raised(error))
            return
        scopes = list(self._scopes(context))
        cache: _Matches = {}
        contents = Contents()
        matched: dict[int, frozenset[int]] = {}  # by parent: what any rule finds, once all were asked
        for node in tree.iter_lazy():
            if isinstance(node, TextNode):
                continue
            if id(node.parent) in matched and id(node) not in matched[id(node.parent)]:
                continue
            here: dict[int, Any] = {}
            for pattern, scope in scopes:
                for index, verdict, problem in pattern.decide(node, scope, cache, here, contents):
                    yield node, index, verdict, problem
            if id(node.parent) not in matched:
                found = (pattern.found(node.parent, scope, cache) for pattern, scope in scopes)
                matched[id(node.parent)] = frozenset[int]().union(*found)

    def _scopes(self, context: Any) -> Iterator[tuple[_PatternValidator, Any]]:
        for pattern in list(self._pattern_validators):
            try:
                yield pattern, stock._get_context_with_variables(pattern._variable_evaluators, context)
            except CRASHES as error:
                self._give_up(pattern._pattern, raised(error))
                self._pattern_validators.remove(pattern)


def _bound(evaluators: dict[str, Any]) -> Iterator[tuple[str, XPathToken | None]]:
    """Yield variables with what is evaluated for them; None for a text."""
    for name, evaluator in evaluators.items():
        query = isinstance(evaluator, stock._QueryVariableEvaluator)
        yield name, evaluator._value._xpath_token if query else None


def bind_document(parser: XPath2Parser, callback: Callable[[Any], Any]) -> None:
    """Add ``document(uri)`` to a parser.

    elementpath refuses a path that begins with an external function (``document('a.xml')//V1``) and takes the
    same path after a built-in one; so the token class is labelled as a built-in.
    """
    parser.external_function(callback, "document").label = "function"


def _name(argument: Any) -> str:
    """Return the name that a literal gives; elementpath hands it over alone or as a sequence of one."""
    return str(argument[0] if isinstance(argument, list) else argument)


def _remember(expression: XPathToken, documents: Sequence[DocumentNode]) -> None:
    """Let every path that starts at a document of the rules, and at nothing else, be followed only once.

    ``$original//Record/V1`` selects the same nodes for every record, and walking there takes elementpath longer than
    everything else.
    """
    for token in expression.iter():
        if token.symbol in ("/", "//") and len(token) == 2:
            head = _head(token)
            variables = sum(part.symbol == "$" for part in token.iter())
            if head.symbol in ("document", "doc") or (head.symbol == "$" and variables == 1):
                cast(Any, token).select = _once(token, head, documents)


def _head(token: XPathToken) -> XPathToken:
    while token.symbol in ("/", "//", "[") and len(token) == 2:
        token = token[0]
    return token


def _once(token: XPathToken, head: XPathToken, documents: Sequence[DocumentNode]) -> Callable[..., Iterator[Any]]:
    select = token.select
    known: dict[int, list[Any]] = {}

    def selected(context: XPathContext | None = None) -> Iterator[Any]:
        start = head.evaluate(context)
        if isinstance(start, list) and len(start) == 1:
            start = start[0]
        at = next((place for place, document in enumerate(documents) if start is document), None)
        if at is None:
            yield from select(context)
            return
        if at not in known:
            known[at] = list(select(context))
        yield from known[at]

    return selected


def _index(check: Any) -> int:
    return int(str(check.fpi).removeprefix("masktron:"))


def describe(error: Exception) -> str:
    """Return the class and the message of an error that the engine has with a rule, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def raised(error: Exception) -> str:
    """Return the class of an error on a record, its code and where in the rule it arose: messages quote values."""
    token, code = getattr(error, "token", None), getattr(error, "code", None)
    what = " ".join(part for part in (token and str(token), code and f"[{code}]") if part)
    return f"{type(error).__name__}: {what}" if what else type(error).__name__

"""Which checks on several records are checks on one record that carries values, and how they are rewritten.

What a check reads of other records is an aggregate: a count, a sum, whether there is one of some kind. Constants
stand in the rewritten check as literals, and what differs from record to record is read from an attribute that the
record seems to have. The rewritten check looks at one record only, as the same analysis says that decides this for
all rules.

Nothing here reads a value: whoever has computed the aggregates, by whatever means, rewrites by this plan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from masktron.errors import RulebookError
from masktron.judge.across.collect import ConstantValue
from masktron.judge.across.paths import Map, PrefixedNames, Spot
from masktron.judge.across.recognise import Hole, Recogniser, Use
from masktron.judge.across.resolve import Surroundings
from masktron.judge.across.rewrite import (
    PREFIX,
    TextPlace,
    attribute_names,
    constant_text,
    extended,
    reads_all_attributes,
    record_text,
    transform,
)
from masktron.judge.across.rewrite import filled as fill
from masktron.judge.across.selection import Aggregate, Predicate, RecordSource
from masktron.judge.stylesheet import needs_saxon
from masktron.rulebook.analysis import context_of
from masktron.rulebook.context_match import ContextPath
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import (
    ANY,
    Arithmetic,
    Call,
    Comparison,
    Concatenation,
    Connective,
    Expression,
    If,
    Literal,
    NameTest,
    Negation,
    Path,
    Range,
    Root,
    Sequence,
    Step,
    Variable,
    parts_of,
    walk,
)
from masktron.rulebook.expressions.words import STANDARD_NAMESPACES
from masktron.rulebook.locality import locality
from masktron.rulebook.schema import Check, Let, Origin, Pattern, Rule, Rulebook, ValueOf
from masktron.sources.record_layout import Layout

_NAMES = "not boolean true false number abs floor ceiling round round-half-to-even sum count concat min max avg"
_FUNCTIONS = frozenset(_NAMES.split())
_PLAIN = (Variable, Literal, Connective, Arithmetic, Negation, Sequence, Range, Concatenation, If)


def stands_alone(rulebook: Rulebook, map_: Map, bases: Mapping[tuple[int, int], Spot], check: int) -> bool:
    """Whether a check fires on a node above the records, and reads nothing of these.

    Parameters
    ----------
    rulebook : Rulebook
        With values in the place of what is read of the records.
    bases : mapping
        Where each rule fires.
    """
    for p, pattern in enumerate(rulebook.patterns):
        for r, rule in enumerate(pattern.rules):
            asked = next((c for c in rule.checks if c.index == check), None)
            if asked is None:
                continue
            base = bases.get((p, r))
            if base is None or base.level >= map_.record.level or not _plain(rule, rulebook, map_):
                return False
            if not all(_apart(earlier, rule, rulebook) for earlier in pattern.rules[:r]):
                return False
            lets = {let.name: let.value for let in (*rulebook.lets, *pattern.lets, *rule.lets)}
            expressions = [asked.test, *(part.select for part in asked.message if isinstance(part, ValueOf))]
            return all(_reads_nothing(e, rulebook, lets, map_) for e in expressions)
    return False


def _plain(rule: Rule, rulebook: Rulebook, map_: Map) -> bool:
    """Whether the context is a path of plain names, the last of which no other element has."""
    paths = context_of(rulebook, rule.context)
    if paths is None or any(step.predicates or step.kind != "element" for path in paths for step in path.steps):
        return False
    names = [path.steps[-1].name.rpartition(":")[2] for path in paths if path.steps]
    locals_ = [tag.rpartition("}")[2] for tag in (*map_.outside, *(f.tag for f in map_.layout.fields))]
    locals_.append(map_.layout.record_tag.rpartition("}")[2])
    return not set(names) & {name.removeprefix("@") for name in locals_}


def _apart(earlier: Rule, rule: Rule, rulebook: Rulebook) -> bool:
    """Whether no node is in both contexts, by the names of their last steps."""
    one, two = (context_of(rulebook, r.context) for r in (earlier, rule))
    if one is None or two is None:
        return False
    ends = [{p.steps[-1].plain_name if p.steps else "/" for p in paths} for paths in (one, two)]
    return None not in ends[0] | ends[1] and not {_local(n) for n in ends[0]} & {_local(n) for n in ends[1]}


def _local(name: str | None) -> str:
    return (name or "").rpartition(":")[2]


def _reads_nothing(expression: str, rulebook: Rulebook, lets: Mapping[str, str], map_: Map) -> bool:
    try:
        read = parsed(expression, rulebook.namespaces)
    except RulebookError:
        return False
    if not _harmless(read, map_):
        return False
    names = {one.name for one in walk(read) if isinstance(one, Variable)}
    return all(
        name in lets and _reads_nothing(lets[name], rulebook, {k: v for k, v in lets.items() if k != name}, map_)
        for name in names
    )


def _harmless(expression: Expression, map_: Map) -> bool:
    match expression:
        case Path(first=Root() | Step() as first, hops=hops):
            return _leads_aside((first, *(hop.to for hop in hops)), map_)
        case Step():
            return _leads_aside((expression,), map_)
        case Call(standard=name, arguments=arguments):
            plain = name in _FUNCTIONS and bool(arguments or name in ("true", "false"))
        case Comparison(sign=sign):
            plain = sign not in ("is", "<<", ">>")
        case _:
            plain = isinstance(expression, _PLAIN)
    return plain and all(_harmless(part, map_) for part in parts_of(expression))


def _leads_aside(steps: Iterable[Expression], map_: Map) -> bool:
    """Whether a path of plain names leads through an element that is neither above the records nor in them."""
    names: list[str] = []
    for part in steps:
        match part:
            case Step(axis="child" | "attribute", test=NameTest(local=local), predicates=()) if local != ANY:
                names.append(local)
            case Root():
                pass
            case _:
                return False
    layout = map_.layout
    tags = (*layout.record_path, *(f.tag for f in layout.fields))
    inside = {tag.rpartition("}")[2] for tag in tags}
    aside = {name.rpartition("}")[2].removeprefix("@") for name in map_.outside}
    return any(name in aside and name not in inside for name in names)


class AggregateSurvey:
    """Walks over a rulebook once.

    Attributes
    ----------
    holes : dict of TextPlace to tuple of Hole
    bases : dict of (pattern, rule) to Spot
        Where each rule fires; those that fire at several kinds of nodes are left out.
    reasons : dict of TextPlace to str
        What was met in an expression and not understood.
    """

    def __init__(self, rulebook: Rulebook, maps: Mapping[RecordSource, Map]) -> None:
        self.holes: dict[TextPlace, tuple[Hole, ...]] = {}
        self.bases: dict[tuple[int, int], Spot] = {}
        self.reasons: dict[TextPlace, str] = {}
        self._rulebook = rulebook
        self._map = maps["file"]
        around = Surroundings(rulebook.version, maps, Spot(0), beside=frozenset(one.name for one in rulebook.beside))
        around = self._lets(around, rulebook.lets, (), shared=True)
        for p, pattern in enumerate(rulebook.patterns):
            self._pattern(replace(around, scope=p, version=pattern.version), p, pattern)

    def _pattern(self, around: Surroundings, p: int, pattern: Pattern) -> None:
        around = self._lets(around, pattern.lets, (p,), shared=True)
        for r, rule in enumerate(pattern.rules):
            base = self._base(rule)
            if base is None:
                continue
            self.bases[p, r] = base
            self._rule(replace(around, base=base), (p, r), rule)

    def _rule(self, around: Surroundings, place: TextPlace, rule: Rule) -> None:
        around = self._lets(around, rule.lets, place, shared=False)
        for c, check in enumerate(rule.checks):
            self._expression(around, check.test, (*place, c, 0), "truth")
            for k, part in enumerate(check.message):
                if isinstance(part, ValueOf) and not part.is_name:
                    self._expression(around, part.select, (*place, c, k + 1), "value")

    def _lets(self, around: Surroundings, lets: tuple[Let, ...], place: TextPlace, *, shared: bool) -> Surroundings:
        for k, let in enumerate(lets):
            read = self._expression(around, let.value, (*place, -1 - k), "nodes")
            known = let.name in around.variables
            around = around.bind(let.name, None if read is None or known else around.known(read))
            if shared and not known:
                around = replace(around, shared=around.shared | {let.name})
        return around

    def _expression(self, around: Surroundings, text: str, place: TextPlace, use: Use) -> Expression | None:
        try:
            expression = parsed(text, self._rulebook.namespaces)
        except RulebookError:
            return None
        recogniser = Recogniser()
        found = tuple(sorted(recogniser.holes(expression, around, use), key=lambda hole: hole.start))
        if found:
            self.holes[place] = found
        if recogniser.reasons:
            self.reasons[place] = recogniser.reasons[0]
        return expression

    def _base(self, rule: Rule) -> Spot | None:
        paths = context_of(self._rulebook, rule.context)
        spots = {self._target(path) for path in paths or ()}
        return spots.pop() if len(spots) == 1 else None

    def _target(self, path: ContextPath) -> Spot | None:
        """Return where the nodes of a context stand, by the name of its last step."""
        if not path.steps:
            return Spot(0)
        last = path.steps[-1]
        if not last.tag:
            return None
        found = list(self._spots(last.tag, attribute=last.kind == "attribute"))
        return found[0] if len(found) == 1 else None

    def _spots(self, tag: str, *, attribute: bool) -> Iterator[Spot]:
        layout = self._map.layout
        if not attribute:
            yield from (Spot(i + 1) for i, name in enumerate(layout.record_path) if name == tag)
        for i, f in enumerate(layout.fields):
            if f.tag == tag and f.attribute == attribute:
                yield Spot(len(layout.record_path), i)


def conditions_of(rulebook: Rulebook, layout: Layout, predicates: Collection[Predicate]) -> Rulebook:
    """Return a rulebook with one check for each condition: it holds where the condition is true.

    Parameters
    ----------
    rulebook : Rulebook
        Whose variables and prefixes the conditions use.
    layout : Layout
        Of the records that they are asked of.
    """
    names = PrefixedNames(layout)
    here = Origin(str(rulebook.path), 0)
    patterns = []
    for i, predicate in enumerate(predicates):
        check = Check(f"condition-{i}", i, "assert", predicate.source, (), here)
        named = (Let(predicate.name, ".", here),) if predicate.name else ()
        rule = Rule(names.at(predicate.field), named, (check,), here)
        own = rulebook.patterns[predicate.scope] if predicate.scope >= 0 else None
        lets, version = ((), rulebook.version) if own is None else (own.lets, own.version)
        patterns.append(Pattern(f"condition-{i}", lets, (rule,), here, version))
    namespaces = (*rulebook.namespaces, *names.prefixes.items())
    return replace(rulebook, patterns=tuple(patterns), namespaces=namespaces)


type _Editor = Callable[[Aggregate, TextPlace], str]


class Planned:
    """Checks on several records of a flat file, and what they read of these.

    Attributes
    ----------
    original : Rulebook
        As it is written.
    checks : frozenset of int
        Indices of the checks that are planned.
    outside : frozenset of int
        Those of them that fire on nodes outside the records.
    reasons : dict of int to str
        Why a check is not planned.
    aggregates : tuple of Aggregate
        What the planned checks read.
    predicates : dict of source to tuple of Predicate
        Conditions on records of the file and of the original that these have.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout
    checks : collection of int
        Indices of the checks, mostly those to which `masktron.rulebook.locality.locality` gives a reason.
    outside : collection of str
        Clark names of the elements (``@`` before attributes) that the file has outside its records.
    original_layout : Layout, optional
        Of the file that ``document()`` names, where that is flat; it may be the file itself. Without it, rules that
        read other records there are not planned.
    original_outside : collection of str
        As `outside`, for the original.
    """

    def __init__(
        self,
        rulebook: Rulebook,
        layout: Layout,
        checks: Collection[int],
        outside: Collection[str] = (),
        original_layout: Layout | None = None,
        original_outside: Collection[str] = (),
    ) -> None:
        self.original = rulebook
        self._fields = layout
        self._outside_names = frozenset(outside)
        maps: dict[RecordSource, Map] = {"file": Map(layout, self._outside_names)}
        if original_layout is not None:
            maps["original"] = Map(original_layout, frozenset(original_outside))
        self._maps = maps
        self._survey = AggregateSurvey(rulebook, maps)
        self.reasons: dict[int, str] = {}
        self._numbers: dict[Aggregate, int] = {}
        self._plan(frozenset(checks))
        aggregates = {one for c in self.checks for one in self._used[c]}
        self.aggregates = tuple(sorted(aggregates, key=self._numbers.__getitem__))
        self.predicates: dict[RecordSource, tuple[Predicate, ...]] = {
            source: tuple(
                dict.fromkeys(p for a in self.aggregates if a.selection.source == source for p in a.selection.where)
            )
            for source in ("file", "original")
        }

    def _plan(self, checks: frozenset[int]) -> None:
        book = self.original
        self._places = {
            check.index: (p, r, c)
            for p, pattern in enumerate(book.patterns)
            for r, rule in enumerate(pattern.rules)
            for c, check in enumerate(rule.checks)
        }
        for aggregate in (a for holes in self._survey.holes.values() for hole in holes for a in hole.aggregates):
            self._numbers.setdefault(aggregate, len(self._numbers))
        self._used = {check: self._aggregates_of(check) for check in self._places}
        self._wild = reads_all_attributes(book)
        draft = self._rewritten(self._placeholder)
        layout = extended(self._fields, self._names())
        tests = locality(draft, layout, self._outside_names)
        self.outside = frozenset(
            i for i in checks if tests[i] and stands_alone(draft, self._maps["file"], self._survey.bases, i)
        )
        for check in checks:
            reason = "" if check in self.outside else tests[check]
            reason = (self._why(check) or reason) if reason else self._hindrance(check)
            if reason:
                self.reasons[check] = reason
        self.checks = checks - set(self.reasons)
        self.outside &= self.checks

    def _why(self, check: int) -> str:
        return next((r for place, r in self._survey.reasons.items() if place[:3] == self._places[check]), "")

    def _hindrance(self, check: int) -> str:  # noqa: PLR0911 -- one branch per reason
        """Say what else keeps a check from being evaluated here."""
        book = self.original
        p, _, _ = self._places[check]
        if any(needs_saxon(rule, book, self._fields) for rule in book.patterns[p].rules):
            return "a context that only a walk over the whole document decides"
        if dict(book.namespaces).get("xs", STANDARD_NAMESPACES["xs"]) != STANDARD_NAMESPACES["xs"]:
            return "the prefix xs means something else"
        if any(f.tag.startswith(PREFIX) for f in self._fields.fields):
            return f"there are fields named {PREFIX}..."
        varied = [one for one in self._used[check] if not one.constant]
        if varied and self._wild:
            return f"a rule reads all attributes of a record: {self._wild!r}"
        if check in self.outside and varied:
            return "a value of one record outside the records"
        for aggregate in self._used[check]:
            reason = self._condition_reason(aggregate)
            if reason:
                return f"a condition on other records: {reason}"
        return ""

    def _condition_reason(self, aggregate: Aggregate) -> str:
        source = aggregate.selection.source
        where = aggregate.selection.where
        if not where:
            return ""
        book = conditions_of(self.original, self._maps[source].layout, where)
        return next(
            (reason for reason in locality(book, self._maps[source].layout, self._maps[source].outside) if reason), ""
        )

    def _aggregates_of(self, check: int) -> list[Aggregate]:
        """List the aggregates of a check and of all variables that it may see."""
        p, r, c = self._places[check]
        return [
            aggregate
            for place, holes in self._survey.holes.items()
            if place[:3] == (p, r, c) or (place[-1] < 0 and place[:-1] == (p, r)[: len(place) - 1])
            for hole in holes
            for aggregate in hole.aggregates
        ]

    def _names(self) -> list[str]:
        return [name for a in self._numbers if not a.constant for name in self.names_of(a)]

    def _rewritten(self, text_of: _Editor, known: frozenset[Aggregate] | None = None) -> Rulebook:
        """Return the rulebook with texts for aggregates; where not all of an expression are known, it stays."""

        def edit(source: str, place: TextPlace) -> str:
            holes = self._survey.holes.get(place, ())
            if known is not None and not known.issuperset(one for hole in holes for one in hole.aggregates):
                return source
            return fill(source, holes, lambda aggregate: text_of(aggregate, place))

        book = transform(self.original, edit)
        if book.version == "1.0" or "xs" in dict(book.namespaces):
            return book
        return replace(book, namespaces=(*book.namespaces, ("xs", STANDARD_NAMESPACES["xs"])))

    def _placeholder(self, aggregate: Aggregate, place: TextPlace) -> str:
        if aggregate.constant:
            return constant_text(aggregate, {"integer": 1, "double": 1.0}.get(aggregate.type, True))
        return self._from_record(aggregate, place)

    def _from_record(self, aggregate: Aggregate, place: TextPlace) -> str:
        base = self._survey.bases.get((place[0], place[1])) if len(place) > 2 else None
        in_field = base is not None and base.field is not None
        return record_text(aggregate, self.names_of(aggregate), in_field=in_field)

    def conditions(self, source: RecordSource = "file") -> Rulebook:
        """Return a rulebook with one check on single records for each of the `predicates`, in their order."""
        return conditions_of(self.original, self._maps[source].layout, self.predicates[source])

    def used(self, check: int) -> frozenset[Aggregate]:
        """Return the aggregates of a check and of all variables that it may see."""
        return frozenset(self._used[check])

    @property
    def holes(self) -> Mapping[TextPlace, tuple[Hole, ...]]:
        """The aggregates with the places where they stand, of all expressions of the rulebook."""
        return self._survey.holes

    @property
    def reads_original(self) -> bool:
        """Whether the original has to be read as well."""
        return any(a.selection.source == "original" for a in self.aggregates)

    def names_of(self, aggregate: Aggregate) -> tuple[str, ...]:
        """Return the attributes in which a record carries the value of an aggregate."""
        return attribute_names(aggregate, self._numbers[aggregate])

    def carrying(self, aggregates: Iterable[Aggregate]) -> Layout:
        """Return the layout of records that carry the values of some aggregates."""
        return extended(self._fields, [name for a in aggregates if not a.constant for name in self.names_of(a)])

    def text_of(self, aggregate: Aggregate, place: TextPlace, constants: Mapping[Aggregate, ConstantValue]) -> str:
        """Return what stands in the place of an aggregate.

        Raises
        ------
        NotAcross
            No expression is exactly the value.
        """
        if aggregate.constant:
            return constant_text(aggregate, constants[aggregate])
        return self._from_record(aggregate, place)

    def with_values(self, constants: Mapping[Aggregate, ConstantValue], known: frozenset[Aggregate]) -> Rulebook:
        """Return the rulebook in which aggregates are values; where not all of an expression are known, it stays.

        The checks that are not planned are to be evaluated by the rulebook as it was, since variables that they share
        may be rewritten.

        Parameters
        ----------
        constants : mapping of Aggregate to value
            Of those that are the same for all records.
        known : frozenset of Aggregate
            Those whose values are known, the ones that records carry included.

        Raises
        ------
        NotAcross
            No expression is exactly a value.
        """
        return self._rewritten(lambda aggregate, place: self.text_of(aggregate, place, constants), known)

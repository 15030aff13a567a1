"""From rules to a plan: which variables are masked together, by which aggregators that can be, and why.

The plan is pure: it depends on the edits, on the facts about the fields and on the settings, not on the values.
Where several aggregators keep the rules of a block, it lists them, and masking takes the one that loses least.

Variables that share a rule form a *block*, which one aggregator replaces together; blocks that are microaggregated
over one partition of the records form a *partition* of the plan. The scheme is that of Torra, Cano and
Navarro-Arribas (2009), section 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from masktron.aggregators import ALL as AGGREGATORS
from masktron.aggregators import AUTOMATIC
from masktron.aggregators.base import Aggregator, GroupContext, ObservedAggregator, variables_of
from masktron.aggregators.geometric_mean import GeometricMean
from masktron.aggregators.mean import Mean
from masktron.aggregators.median import Median
from masktron.aggregators.medoid import Medoid
from masktron.aggregators.mode import Mode
from masktron.classify import Edit, reading_removed
from masktron.classify.elimination import Solved, assignments
from masktron.classify.forms import form_of
from masktron.classify.polynomial import always_linear
from masktron.config import Config, Kind, Role
from masktron.constraints import (
    Atom,
    CrossRecordEdit,
    Linear,
    Member,
    Missing,
    OpaqueEdit,
    Polynomial,
    Present,
    Product,
    Whole,
)
from masktron.errors import InfeasibleError, RefusalFacts, UsageError
from masktron.problems.problem import Field, Known, Note, Problem, Rule, Sentence, rules
from masktron.problems.wording import sentence
from masktron.roles import FieldFacts
from masktron.sources.lexical import parse_number

DERIVE = "derive"
"""Free variables by the arithmetic mean, solved variables recomputed from the equalities, categories by the mode,
ordered ones by the median. Nothing vouches for it but the engine, group by group; a group in which it finds no
prototype leaves by the median or the medoid."""
DERIVE_GEOMETRIC = "derive_geometric"
"""The same with geometric means for the variables of products, in groups where they have one sign and no zero."""
DERIVE_PER_RECORD = "derive_per_record"
"""Derive for the *grouped* variables of a block; those that equalities tie to unmasked fields are solved in each
record from its own. Groups share the grouped variables only, so it is used where the other aggregators fail."""
DRAWN = "drawn"
"""A value of its own for every record, from a method that draws. Settled record by record; nothing vouches for it but
the engine."""
DERIVED = frozenset({DERIVE, DERIVE_GEOMETRIC, DERIVE_PER_RECORD, DRAWN})
"""The ways to aggregate that no theorem covers."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An aggregator that keeps all rules of a block.

    Attributes
    ----------
    aggregator : str
        Its name.
    reason : str
        Why it keeps them.
    solved : tuple of Solved
        Variables that follow in each record from the others and from unmasked fields, with the equality that says so.
    """

    aggregator: str
    reason: Sentence
    solved: tuple[Solved, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Variables that one aggregator replaces together.

    Attributes
    ----------
    variables : tuple of str
        Masked variables, in file order.
    conditions : tuple of str
        Unmasked fields that the rules of the block also read.
    ties : tuple of str
        Those of them that stand in one atom with a masked variable: groups are constant in them where possible.
    checks : tuple of int
        Indices of the rules that the block has to keep.
    candidates : tuple of Candidate
        The aggregators that keep its rules, in order of preference; at least one.
    refusals : tuple of str
        Why the others are no candidates.
    chosen : int
        Which candidate is used: the first, until masking has measured their losses.
    """

    variables: tuple[str, ...]
    conditions: tuple[str, ...]
    ties: tuple[str, ...]
    checks: tuple[int, ...]
    candidates: tuple[Candidate, ...]
    refusals: tuple[Sentence, ...] = ()
    chosen: int = 0

    @property
    def aggregator(self) -> str:
        """Name of the aggregator that is used."""
        return self.candidates[self.chosen].aggregator

    @property
    def reason(self) -> Sentence:
        """Why this aggregator keeps the rules, and others do not."""
        return Note("{reasons:;}", reasons=(self.candidates[self.chosen].reason, *self.refusals))

    @property
    def prospect(self) -> Sentence:
        """What can be said before masking: each candidate, why it keeps the rules, and why others do not."""
        if len(self.candidates) == 1:
            return self.reason
        rival = "the least measured loss decides"
        reasons = (rival, *(candidate.reason for candidate in self.candidates), *self.refusals)
        return Note("{reasons:;}", reasons=reasons)

    @property
    def derived(self) -> bool:
        """Whether only the engine vouches for the prototypes, group by group."""
        return self.aggregator in DERIVED

    @property
    def solved(self) -> tuple[Solved, ...]:
        """Variables that follow in each record, in the order of their elimination; empty for most aggregators."""
        return self.candidates[self.chosen].solved

    @property
    def grouped(self) -> tuple[str, ...]:
        """Variables that at least k records share; the others are solved from these and from unmasked fields."""
        solved = {one.variable for one in self.solved}
        return tuple(name for name in self.variables if name not in solved)

    @property
    def one_signed(self) -> bool:
        """Whether groups must not mix signs: the theorem of the geometric mean asks for that."""
        return self.aggregator == GeometricMean.name

    @property
    def drawn(self) -> bool:
        """Whether every record has values of its own."""
        return self.aggregator == DRAWN

    def choosing(self, position: int) -> Block:
        """Return the block with another of its candidates in use."""
        return replace(self, chosen=position)

    def drawing(self, method: str) -> Block:
        """Return the block with values that a method draws for each record."""
        return replace(
            self, candidates=(Candidate(DRAWN, f"{method} draws, and settle moves"),), refusals=(), chosen=0
        )


@dataclass(frozen=True, slots=True)
class Partition:
    """Blocks whose records are grouped once, on all their variables."""

    blocks: tuple[Block, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """All masked variables of the partition."""
        return tuple(name for block in self.blocks for name in block.variables)

    @property
    def grouped(self) -> tuple[str, ...]:
        """Those of them that the records of a group share."""
        return tuple(name for block in self.blocks for name in block.grouped)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is decided before a value is masked.

    Attributes
    ----------
    fields : tuple of FieldFacts
        Every field with its role, in file order.
    partitions : tuple of Partition
    untouched : tuple of int
        Rules that read no masked field: they stay as true as they are.
    over_file : tuple of (int, str)
        Rules over several records that read a masked field, with how they are kept.
    not_applicable : tuple of (int, str)
        Rules that read a removed identifier, with the reason.
    released : tuple of int
        Rules that the user allows to break, or soft rules that the original does not keep.
    relations : tuple of Linear
        Equalities and ``<=`` that the rules to keep demand of every record.
    """

    k: int
    fields: tuple[FieldFacts, ...]
    partitions: tuple[Partition, ...]
    untouched: tuple[int, ...]
    over_file: tuple[tuple[int, str], ...]
    not_applicable: tuple[tuple[int, str], ...]
    released: tuple[int, ...]
    relations: tuple[Linear, ...] = ()

    def by_role(self, role: Role) -> tuple[str, ...]:
        """Names of the fields with a role, in file order."""
        return tuple(fact.name for fact in self.fields if fact.role is role)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, in the order of the partitions."""
        return tuple(block for partition in self.partitions for block in partition.blocks)

    def choosing(self, blocks: Iterable[Block]) -> Plan:
        """Return the plan with these blocks in the place of those on the same variables, as masking chose."""
        made = {block.variables: block for block in blocks}
        return replace(
            self,
            partitions=tuple(
                Partition(tuple(made[block.variables] for block in partition.blocks)) for partition in self.partitions
            ),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data for the manifest."""
        plain = asdict(self)
        blocks = (block for partition in plain["partitions"] for block in partition["blocks"])
        for block, entry in zip(self.blocks, blocks, strict=True):
            entry["aggregator"] = block.aggregator
            entry["solved"] = [asdict(solved) for solved in block.solved]
            entry["refusals"] = [sentence(one) for one in block.refusals]
            for candidate, told in zip(block.candidates, entry["candidates"], strict=True):
                told["reason"] = sentence(candidate.reason)
        for relation in plain["relations"]:  # exact, so as texts
            relation["terms"] = [(name, str(coefficient)) for name, coefficient in relation["terms"]]
            relation["bound"] = str(relation["bound"])
        return plain


def make_plan(
    edits: Sequence[Edit],
    fields: Sequence[FieldFacts],
    config: Config,
    *,
    released: Iterable[int] = (),
    aggregator: str | None = None,
) -> Plan:
    """Decide blocks, partitions and aggregators.

    Parameters
    ----------
    edits : sequence of Edit
        One per check of the rulebook.
    fields : sequence of FieldFacts
    config : Config
    released : iterable of int
        Indices of rules that need not be kept.
    aggregator : str, optional
        Name of one of `masktron.aggregators.ALL`: the only candidate of each block whose kinds of values it suits.
        The other blocks keep theirs, with the reason.

    Raises
    ------
    InfeasibleError
        A rule over several records cannot be kept: it asks masked values to be unique, or is not understood. No
        aggregator keeps the rules of a block, or the one that is asked for does not, or it suits no block.
    UsageError
        There is no aggregator of that name; or no field is masked, and none treated.
    """
    asked = None if aggregator is None else _aggregator_named(aggregator)
    loose = frozenset(released)
    masked = {fact.name: fact for fact in fields if fact.role is Role.CONFIDENTIAL}
    if not (masked or config.treats_keys):
        raise UsageError.of("no-field-to-mask")
    removed = {fact.name for fact in fields if fact.role is Role.IDENTIFIER}
    not_applicable = reading_removed(edits, removed)
    untouched, binding, over_file = [], [], []
    for edit in edits:
        if edit.check.index in not_applicable or edit.check.index in loose:
            continue
        if masked.keys().isdisjoint(edit.variables):
            untouched.append(edit.check.index)
        elif isinstance(edit.constraint, CrossRecordEdit):
            over_file.append((edit.check.index, _over_file(edit, edit.constraint, masked)))
        else:
            binding.append(edit)
    blocks = [_block(component, binding, masked) for component in _components(list(masked), binding)]
    partitions = _partitions(blocks, masked, config)
    return Plan(
        k=config.k,
        fields=tuple(fields),
        partitions=partitions if asked is None else _with(asked, partitions, binding, masked),
        untouched=tuple(untouched),
        over_file=tuple(over_file),
        not_applicable=tuple(not_applicable.items()),
        relations=always_linear(form_of(edit.constraint) for edit in binding),
        released=tuple(sorted(loose)),
    )


def _over_file(edit: Edit, constraint: CrossRecordEdit, masked: Mapping[str, FieldFacts]) -> str:
    """Say how a rule over several records that reads masked fields is kept.

    Raises
    ------
    InfeasibleError
        It asks masked values to be unique, or is not understood.
    """
    read = sorted(masked.keys() & set(edit.variables))
    names = ", ".join(read)
    summed = [tally for bound in constraint.bounds for tally, _ in bound.terms if tally.function in ("sum", "avg")]
    match constraint.kind:
        case "unique" if constraint.key and not masked.keys() >= set(constraint.key):
            return f"it reads the masked {names}, which its key does not consist of: judged in the written file"
        case "unique":
            why = "it asks for unique values, and masking makes those of k or more records equal"
        case "count":
            return f"a count that depends on the masked {names}: judged after masking"
        case "total" if any(tally.field in masked and masked[tally.field].numeric for tally in summed):
            return (
                f"a total over the file of the masked {names}: unweighted means keep it, and what rounding, weights "
                "and other aggregators shift is spread over groups by steps of the grid"
            )
        case "total":
            return f"a figure over the file of the masked {names} that cannot be repaired: judged after masking"
        case "other":
            why = "it looks at several records at once, and what it asks is not understood"
    raise InfeasibleError.of(
        "rules-not-kept",
        str(edit.check.origin),
        fields=tuple(map(Field, read)),
        rules=rules([edit.check.id]),
        reason=f"{why} ({constraint.reason})",
        facts=[RefusalFacts("across-records", tuple(read), rules=(edit.check.id,))],
    )


def aggregator_of(block: Block) -> Aggregator:
    """Return what aggregates a block; derive takes its targets from means."""
    if block.derived:
        return Mean()
    return next(aggregator for aggregator in AGGREGATORS if aggregator.name == block.aggregator)


def _aggregator_named(name: str) -> Aggregator:
    for aggregator in AGGREGATORS:
        if aggregator.name == name:
            return aggregator
    known = Known(name, tuple(one.name for one in AGGREGATORS))
    raise UsageError.of("unknown-name", kind="aggregator", name=name, known=known)


def _with(
    asked: Aggregator, partitions: Sequence[Partition], edits: Sequence[Edit], masked: Mapping[str, FieldFacts]
) -> tuple[Partition, ...]:
    """Make an aggregator the only candidate of all blocks that it suits.

    Raises
    ------
    InfeasibleError
        It would break a rule of such a block, with the reason, or there is no such block.
    """
    restricted = tuple(
        Partition(tuple(_restricted(asked, block, edits, masked) for block in partition.blocks))
        for partition in partitions
    )
    blocks = [block for partition in restricted for block in partition.blocks]
    if blocks and all(block.aggregator != asked.name for block in blocks):
        names = tuple(name for block in blocks for name in block.variables)
        reasons = tuple(dict.fromkeys(block.refusals[-1] for block in blocks))
        raise _unsuitable(asked.name, reasons, RefusalFacts("aggregator", names))
    return restricted


def _restricted(asked: Aggregator, block: Block, edits: Sequence[Edit], masked: Mapping[str, FieldFacts]) -> Block:
    facts = {name: masked[name] for name in block.variables}
    if unfit := _unfit(asked, {fact.kind for fact in facts.values()}):
        return replace(block, refusals=(*block.refusals, unfit))
    own = [edit for edit in edits if edit.check.index in block.checks]
    if obstacle := _obstacle(asked, _context(facts, frozenset(block.ties)), own, facts):
        ids = tuple(edit.check.id for edit in own)
        why = RefusalFacts("aggregator", block.variables, block.conditions, ids)
        raise _unsuitable(asked.name, (obstacle,), why)
    reason = _reason(asked.name, own) if own else f"{asked.name} was asked for, and no rule reads these fields"
    return replace(block, candidates=(Candidate(asked.name, reason),), refusals=())


def _unsuitable(aggregator: str, reasons: tuple[str | Problem, ...], facts: RefusalFacts) -> InfeasibleError:
    named = tuple(map(Field, facts.fields))
    return InfeasibleError.of(
        "aggregator-unsuitable", fields=named, aggregator=aggregator, reasons=reasons, facts=[facts]
    )


def _components(masked: list[str], edits: Sequence[Edit]) -> list[tuple[str, ...]]:
    """Connected components of masked variables that share a rule, in file order; variables in no rule stay out."""
    leader = {name: name for name in masked}

    def find(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    for edit in edits:
        first, *others = [name for name in edit.variables if name in leader]
        for other in others:
            leader[find(other)] = find(first)
    ruled = {name for edit in edits for name in edit.variables}
    members: dict[str, list[str]] = {}
    for name in masked:
        if name in ruled:
            members.setdefault(find(name), []).append(name)
    return [tuple(names) for names in members.values()]


def _block(component: tuple[str, ...], edits: Sequence[Edit], masked: dict[str, FieldFacts]) -> Block:
    own = [edit for edit in edits if not set(component).isdisjoint(edit.variables)]
    conditions = {name for edit in own for name in edit.variables if name not in masked}
    ties = {
        name
        for edit in own
        for conjunction in form_of(edit.constraint)
        for atom in conjunction
        if not variables_of(atom).isdisjoint(component)
        for name in variables_of(atom) & conditions
    }
    candidates, refusals = _candidates(component, own, masked, frozenset(ties))
    if ties:
        candidates = (*candidates, *_per_record(component, own, masked))
    checks = tuple(edit.check.index for edit in own)
    return Block(component, tuple(sorted(conditions)), tuple(sorted(ties)), checks, candidates, refusals)


def _candidates(
    component: tuple[str, ...], edits: Sequence[Edit], masked: dict[str, FieldFacts], ties: frozenset[str]
) -> tuple[tuple[Candidate, ...], tuple[Sentence, ...]]:
    """List the aggregators that keep every rule of the block, the preferred first, and why the others do not."""
    facts = {name: masked[name] for name in component}
    context = _context(facts, ties)
    obstacles = {aggregator.name: _obstacle(aggregator, context, edits, facts) for aggregator in AUTOMATIC}
    reasons = tuple(filter(None, obstacles.values()))
    able = frozenset(name for name, obstacle in obstacles.items() if obstacle is None)
    names = _preferred(able, facts, edits)
    if not names:
        ids = tuple(edit.check.id for edit in edits)
        raise _unsuitable("any aggregator", reasons, RefusalFacts("no-aggregator", component, rules=ids))
    refusals = () if Mean.name in names else reasons
    return tuple(Candidate(name, _reason(name, edits)) for name in names), refusals


def _context(facts: Mapping[str, FieldFacts], ties: frozenset[str]) -> GroupContext:
    return GroupContext(
        replaced=frozenset(facts),
        constant=ties,
        nonnegative=frozenset(fact.name for fact in facts.values() if fact.lowest_read >= 0),
        positive=frozenset(fact.name for fact in facts.values() if fact.lowest_read > 0),
    )


def _per_record(
    component: tuple[str, ...], edits: Sequence[Edit], masked: Mapping[str, FieldFacts]
) -> Iterable[Candidate]:
    """List the ways to solve equalities with unmasked fields in each record, for when nothing else works."""
    forms = [(edit.check.index, form_of(edit.constraint)) for edit in edits]
    names = {edit.check.index: edit.check.id for edit in edits}
    numbers = [name for name in component if masked[name].numeric]
    for solved in assignments(forms, component, numbers):
        how = ", ".join(f"{one.variable} by {names[one.check]}" for one in solved)
        how = f", with {how} solved in each record from its own unmasked fields, if groups cannot share all"
        reason = _reason(DERIVE_PER_RECORD, edits, how)
        yield Candidate(DERIVE_PER_RECORD, reason, solved)


def _preferred(able: frozenset[str], facts: Mapping[str, FieldFacts], edits: Sequence[Edit]) -> tuple[str, ...]:
    """Order what can be used; `able` are the aggregators whose theorem covers all rules of the block.

    Of all prototypes of a group, the arithmetic mean has the least sum of squares, so nothing competes with it.
    Where it would break a rule, the others are measured against each other; of equal ones the first is taken, means
    before values of single records. Categories have no measured loss: the median, the mode or the medoid masks them.
    """
    if Mean.name in able:
        return (Mean.name,)
    if not any(fact.numeric for fact in facts.values()):
        return tuple(name for name in (Median.name, Mode.name, Medoid.name) if name in able)[:1]
    names = [GeometricMean.name] if GeometricMean.name in able else []
    names.append(DERIVE)
    if GeometricMean.name not in able and _multiplies(facts, edits):
        names.append(DERIVE_GEOMETRIC)
    observed = [name for name in (Median.name, Mode.name) if name in able][:1]
    return (*names, *observed)


def _multiplies(facts: Mapping[str, FieldFacts], edits: Sequence[Edit]) -> bool:
    """Whether a rule multiplies a variable without negative values: elsewhere geometric means gain nothing."""
    return any(
        name in facts and facts[name].lowest >= 0
        for edit in edits
        for conjunction in form_of(edit.constraint)
        for atom in conjunction
        if isinstance(atom, Product | Polynomial)
        for name in variables_of(atom)
    )


def _obstacle(
    aggregator: Aggregator, context: GroupContext, edits: Sequence[Edit], facts: Mapping[str, FieldFacts]
) -> Problem | None:
    """Say what keeps an aggregator from being used; None when nothing does."""
    if unfit := _unfit(aggregator, {fact.kind for fact in facts.values()}):
        return Note("{reason}", reason=unfit)
    if isinstance(aggregator, GeometricMean):
        context = replace(context, one_signed=context.replaced)
    for edit in edits:
        known = {"aggregator": aggregator.name, "rule": Rule(edit.check.id)}
        if isinstance(edit.constraint, OpaqueEdit) and not isinstance(aggregator, Medoid):
            return Note("{aggregator} cannot vouch for {rule}, which is not understood", **known)
        for conjunction in form_of(edit.constraint):
            for atom in conjunction if _possible(conjunction, facts) else ():
                if not _kept(aggregator, atom, context, facts):
                    return Note("{aggregator} would break {rule} ({edit})", **known, edit=edit.name)
    return None


def _unfit(aggregator: Aggregator, kinds: set[Kind]) -> str | None:
    """Say why an aggregator does not suit the kinds of values of a block; None when it does.

    Numbers beside categories are left to derive, which averages them and takes the median or mode of the others.
    """
    match aggregator:
        case Medoid():
            return None
        case ObservedAggregator() if Kind.NOMINAL in kinds and not isinstance(aggregator, Mode):
            return f"{aggregator.name} needs numbers or ordered categories"
        case ObservedAggregator():
            mixed = Kind.NUMBER in kinds and len(kinds) > 1
            return f"{aggregator.name} would not average the numbers beside categories" if mixed else None
        case _:
            return None if kinds == {Kind.NUMBER} else f"{aggregator.name} needs numbers"


def _possible(conjunction: tuple[Atom, ...], facts: Mapping[str, FieldFacts]) -> bool:
    """Whether a disjunct can hold: not if it asks for a missing value of a masked field that has none.

    Masking takes no value away, so that such a disjunct holds neither before nor after.
    """
    return not any(
        isinstance(atom, Missing) or (isinstance(atom, Present) and atom.negated)
        for atom in conjunction
        if isinstance(atom, Missing | Present) and atom.variable in facts and not facts[atom.variable].gaps
    )


def _kept(aggregator: Aggregator, atom: Atom, context: GroupContext, facts: Mapping[str, FieldFacts]) -> bool:
    """Whether an atom survives aggregation and settling in groups that share one pattern of missing values."""
    if not isinstance(aggregator, Medoid) and _beyond_order(variables_of(atom), facts):
        return False
    match atom:
        case Missing() | Present():
            return True  # groups never mix patterns of missing values, except under the medoid
        case Whole() if not isinstance(aggregator, ObservedAggregator):
            return True  # settle rounds to the integer grid
        case Member(variable=name) if name in facts and facts[name].numeric:
            reduced = _among_numbers(atom, facts[name])
            return reduced is None or aggregator.preserves(reduced, context)
        case _:
            return aggregator.preserves(atom, context)


def _beyond_order(variables: frozenset[str], facts: Mapping[str, FieldFacts]) -> bool:
    """Whether an atom compares masked categories that no theorem for several variables covers.

    Those theorems order and equate numbers. Categories are ordered as declared and alike if their lexemes are, while
    a rule that compares fields reads numbers: 1 and 01 are two categories and one number. Only an order that is the
    order of the numbers is as good as numbers.
    """
    own = [facts[name] for name in variables if name in facts]
    return len(own) > 1 and not all(fact.numeric or fact.ordered_by_number for fact in own)


def _among_numbers(atom: Member, fact: FieldFacts) -> Member | None:
    """Reduce a set to the values that a group of numbers can have; None where nothing is left to keep.

    Theorem: with one pattern of missing values per group, the atom is kept if the reduced one is. Proof: where the
    field is missing, the group keeps its common lexeme, and with it the truth of the atom. Where it holds numbers,
    none of the dropped values occurs: they are missing codes or no numbers. If all records are in the set, they are
    in the reduced set, or there is no such group when that is empty; and a prototype, which settle keeps off the
    missing codes, is outside the dropped values as well, so that it is outside the set if outside the reduced one.
    """
    codes = {float(number) for number in fact.code_numbers}
    numbers = {value: float(value) if isinstance(value, Fraction) else parse_number(value) for value in atom.values}
    left = [value for value, number in numbers.items() if not math.isnan(number) and number not in codes]
    if not left:
        return None
    texts = frozenset(value for value in left if isinstance(value, str))
    return replace(atom, values=texts or frozenset(value for value in left if isinstance(value, Fraction)))


def _reason(aggregator: str, edits: Sequence[Edit], more: str = "") -> Note:
    proved = ", proved group by group" if aggregator in DERIVED else ""
    kept = rules(edit.check.id for edit in edits)
    return Note("{aggregator} keeps {rules}{more}", aggregator=aggregator, rules=kept, more=proved + more)


def _partitions(blocks: list[Block], masked: dict[str, FieldFacts], config: Config) -> tuple[Partition, ...]:
    ruled = {name for block in blocks for name in block.variables}
    rest = [fact for fact in masked.values() if fact.name not in ruled]
    middle = {Kind.NOMINAL: Mode.name, Kind.ORDINAL: Median.name}
    free = [_free_block((fact,), middle[fact.kind]) for fact in rest if not fact.numeric]
    numbers = [fact for fact in rest if fact.numeric]
    size = len(numbers) or 1 if config.grouping == "all" else config.group_size_vars
    free += [_free_block(numbers[start : start + size], "mean") for start in range(0, len(numbers), size)]
    every = [*blocks, *free]
    if config.grouping == "all":
        return (Partition(tuple(every)),)
    return tuple(Partition((block,)) for block in every)


def _free_block(facts: Sequence[FieldFacts], aggregator: str) -> Block:
    names = tuple(fact.name for fact in facts)
    kind = "numbers" if aggregator == "mean" else "categories"
    return Block(names, (), (), (), (Candidate(aggregator, f"no rule reads these {kind}"),))

"""From rules to a plan: which variables are masked together, by which aggregator, and why.

The plan is pure: it depends on the edits, on the facts about the fields and on the settings, not on the values.

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
from masktron.aggregators.base import Aggregator, GroupContext, ObservedAggregator, variables_of
from masktron.aggregators.geometric_mean import GeometricMean
from masktron.aggregators.medoid import Medoid
from masktron.aggregators.mode import Mode
from masktron.classify import Edit
from masktron.classify.forms import form_of
from masktron.config import Config, Role
from masktron.constraints import Atom, CrossRecordEdit, Member, Missing, OpaqueEdit, Present, Whole
from masktron.errors import InfeasibleError
from masktron.read.lexical import parse_number
from masktron.roles import FieldFacts

DERIVE = "derive"
"""The last resort before the medoid, where no theorem covers all rules of a block with numbers: free variables by the
arithmetic mean, solved variables recomputed from the equalities, categories by the mode. Nothing vouches for it but
the engine, group by group; a group in which it finds no prototype leaves by the median or the medoid."""


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
    aggregator : str
        Name of the aggregator.
    reason : str
        Why this aggregator.
    """

    variables: tuple[str, ...]
    conditions: tuple[str, ...]
    ties: tuple[str, ...]
    checks: tuple[int, ...]
    aggregator: str
    reason: str

    @property
    def one_signed(self) -> bool:
        """Whether groups must not mix signs: the geometric mean knows none."""
        return self.aggregator == GeometricMean.name


@dataclass(frozen=True, slots=True)
class Partition:
    """Blocks whose records are grouped once, on all their variables."""

    blocks: tuple[Block, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """All masked variables of the partition."""
        return tuple(name for block in self.blocks for name in block.variables)


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
    """

    k: int
    fields: tuple[FieldFacts, ...]
    partitions: tuple[Partition, ...]
    untouched: tuple[int, ...]
    over_file: tuple[tuple[int, str], ...]
    not_applicable: tuple[tuple[int, str], ...]
    released: tuple[int, ...]

    def by_role(self, role: Role) -> tuple[str, ...]:
        """Names of the fields with a role, in file order."""
        return tuple(fact.name for fact in self.fields if fact.role is role)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, in the order of the partitions."""
        return tuple(block for partition in self.partitions for block in partition.blocks)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for the manifest."""
        return asdict(self)


def make_plan(
    edits: Sequence[Edit], fields: Sequence[FieldFacts], config: Config, *, released: Iterable[int] = ()
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

    Raises
    ------
    InfeasibleError
        A rule over several records cannot be kept: it asks masked values to be unique, or is not understood.
    """
    loose = frozenset(released)
    masked = {fact.name: fact for fact in fields if fact.role is Role.CONFIDENTIAL}
    removed = {fact.name for fact in fields if fact.role is Role.IDENTIFIER}
    not_applicable, untouched, binding, over_file = [], [], [], []
    for edit in edits:
        if gone := sorted(removed.intersection(edit.variables)):
            not_applicable.append((edit.check.index, f"reads the removed identifier {', '.join(gone)}"))
        elif edit.check.index in loose:
            continue
        elif masked.keys().isdisjoint(edit.variables):
            untouched.append(edit.check.index)
        elif isinstance(edit.constraint, CrossRecordEdit):
            over_file.append((edit.check.index, _over_file(edit, edit.constraint, masked)))
        else:
            binding.append(edit)
    blocks = [_block(component, binding, masked) for component in _components(list(masked), binding)]
    return Plan(
        k=config.k,
        fields=tuple(fields),
        partitions=_partitions(blocks, masked, config),
        untouched=tuple(untouched),
        over_file=tuple(over_file),
        not_applicable=tuple(not_applicable),
        released=tuple(sorted(loose)),
    )


def _over_file(edit: Edit, constraint: CrossRecordEdit, masked: Mapping[str, FieldFacts]) -> str:
    """Say how a rule over several records that reads masked fields is kept.

    Raises
    ------
    InfeasibleError
        It asks masked values to be unique, or is not understood.
    """
    names = ", ".join(sorted(masked.keys() & set(edit.variables)))
    summed = [tally for bound in constraint.bounds for tally, _ in bound.terms if tally.function in ("sum", "avg")]
    match constraint.kind:
        case "unique" if constraint.key and not masked.keys() >= set(constraint.key):
            return f"it reads the masked {names}, which its key does not consist of: judged in the written file"
        case "unique":
            why = f"{names} is to be unique, and masking makes the values of k or more records equal"
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
            why = f"it reads the masked field {names}, and what it asks is not understood"
    raise InfeasibleError(
        f"the rule {edit.check.id!r} looks at several records at once: {why} ({constraint.reason})",
        where=str(edit.check.origin),
        hint=f"give {names} the role key or untouched, or let the rule go: --allow {edit.check.id!r}",
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
    aggregator, reason = _choose(component, own, masked, frozenset(ties))
    checks = tuple(edit.check.index for edit in own)
    return Block(component, tuple(sorted(conditions)), tuple(sorted(ties)), checks, aggregator, reason)


def _choose(
    component: tuple[str, ...], edits: Sequence[Edit], masked: dict[str, FieldFacts], ties: frozenset[str]
) -> tuple[str, str]:
    """Take the first aggregator, from the least to the most lossy, that keeps every rule of the block."""
    facts = [masked[name] for name in component]
    context = GroupContext(
        replaced=frozenset(component),
        constant=ties,
        nonnegative=frozenset(fact.name for fact in facts if fact.lowest >= 0),
        positive=frozenset(fact.name for fact in facts if fact.lowest > 0),
    )
    refusals: list[str] = []
    for aggregator in AGGREGATORS:
        obstacle = _obstacle(aggregator, context, edits, {fact.name: fact for fact in facts})
        if obstacle is None and isinstance(aggregator, Medoid) and any(fact.numeric for fact in facts):
            return DERIVE, _reason(DERIVE, edits, refusals)
        if obstacle is None:
            return aggregator.name, _reason(aggregator.name, edits, refusals)
        refusals.append(obstacle)
    raise InfeasibleError(f"no aggregator keeps the rules on {', '.join(component)}: {'; '.join(refusals)}")


def _obstacle(
    aggregator: Aggregator, context: GroupContext, edits: Sequence[Edit], facts: Mapping[str, FieldFacts]
) -> str | None:
    """Say what keeps an aggregator from being used; None when nothing does."""
    if not all(fact.numeric for fact in facts.values()) and not isinstance(aggregator, Mode | Medoid):
        return f"{aggregator.name} needs numbers"
    if isinstance(aggregator, GeometricMean):
        context = replace(context, one_signed=context.replaced)
    for edit in edits:
        if isinstance(edit.constraint, OpaqueEdit) and not isinstance(aggregator, Medoid):
            return f"{aggregator.name} cannot vouch for {edit.check.id}, which is not understood"
        for conjunction in form_of(edit.constraint):
            for atom in conjunction if _possible(conjunction, facts) else ():
                if not _kept(aggregator, atom, context, facts):
                    return f"{aggregator.name} would break {edit.check.id} ({edit.name})"
    return None


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


def _reason(aggregator: str, edits: Sequence[Edit], refusals: list[str]) -> str:
    kept = f"{aggregator} keeps {', '.join(edit.check.id for edit in edits)}"
    if aggregator == DERIVE:
        kept += ", proved group by group"
    return f"{kept}; {'; '.join(refusals)}" if refusals else kept


def _partitions(blocks: list[Block], masked: dict[str, FieldFacts], config: Config) -> tuple[Partition, ...]:
    ruled = {name for block in blocks for name in block.variables}
    rest = [fact for fact in masked.values() if fact.name not in ruled]
    free = [_free_block((fact,), "mode") for fact in rest if not fact.numeric]
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
    return Block(names, (), (), (), aggregator, f"no rule reads these {kind}")

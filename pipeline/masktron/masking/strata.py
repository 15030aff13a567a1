"""Groups for a partition of the plan: what parts records, what holds them together, and the disjuncts they share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import ObservedAggregator, variables_of
from masktron.aggregators.medoid import Medoid
from masktron.classify.forms import satisfied
from masktron.constraints import Form
from masktron.masking.tallies import Tallies
from masktron.masking.uneven import uneven
from masktron.masking.views import Views, aggregator_of, lexeme_codes, pattern_of
from masktron.methods.grouping import Grouping, codes_of, group_records
from masktron.plan import Block, Partition


def group(views: Views, partition: Partition) -> Grouping:
    """Partition the records on all variables of a partition."""
    patterns = codes_of(np.stack([pattern_of(views.columns[name]) for name in partition.variables], axis=1))
    bonds = [
        np.zeros(views.n, dtype=np.intp),
        *(bond for block in partition.blocks for bond in _bonds(views, block)),
    ]
    tallies = Tallies(views)
    parting = [patterns, *tallies.parting(partition.variables)]
    for block in partition.blocks:
        parting += [lexeme_codes(views.columns[name].lexemes) for name in block.ties]
        if block.one_signed:
            parting += [np.nan_to_num(np.sign(views.values[name])) for name in block.variables]
    apart = codes_of(np.stack(parting, axis=1))
    grouping = group_records(
        views.points(partition.variables),
        views.k,
        apart=apart,
        patterns=patterns,
        bonds=codes_of(np.stack(bonds, axis=1)),
        disjuncts=tuple(
            views.satisfied_by(form)
            for block in partition.blocks
            for form in views.forms(block)
            if len(form) > 1 and _needs_strata(form, block)
        ),
    )
    return uneven(views, partition, grouping, tallies, apart)


def _bonds(views: Views, block: Block) -> Iterator[NDArray[np.intp]]:
    """Yield what unmasked fields say in the rules: values beside a masked field, else the truth of each atom."""
    for name in block.ties:
        yield lexeme_codes(views.columns[name].lexemes)
    conditions = frozenset(block.conditions)
    atoms = (atom for form in views.forms(block) for conjunction in form for atom in conjunction)
    for atom in dict.fromkeys(atoms):
        if variables_of(atom) and variables_of(atom) <= conditions:
            yield satisfied(atom, views.seen, views.texts).astype(np.intp)


def _needs_strata(form: Form, block: Block) -> bool:
    """Whether a group has to share a disjunct, or the aggregator keeps the rule as a whole without that.

    A rule on one variable is a condition on its value, which every observed value satisfies; a rule on variables that
    the medoid replaces together is satisfied by every record.
    """
    variables = {name for conjunction in form for atom in conjunction for name in variables_of(atom)}
    aggregator = aggregator_of(block)
    whole = isinstance(aggregator, Medoid) or (isinstance(aggregator, ObservedAggregator) and len(variables) == 1)
    return not (whole and variables <= set(block.variables))

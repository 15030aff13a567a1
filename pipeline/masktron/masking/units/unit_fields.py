"""The fields that a unit needs: those that its partition and the rules read."""

from __future__ import annotations

from masktron.classify.forms import variables_of
from masktron.constraints import CrossRecordEdit
from masktron.masking.record_rules import RecordRules
from masktron.plan import Partition


def fields_of(rules: RecordRules, partition: Partition) -> frozenset[str]:
    """Name the fields of the records that are read while the blocks of a partition are masked.

    Rules over several records ask for fields by which they part and choose records.
    """
    names: set[str] = set()
    for block in partition.blocks:
        names.update(block.variables, block.conditions, block.ties)
        for form in rules.forms(block):
            names.update(variables_of(form))
    for index in rules.over_file:
        constraint = rules.edits[index].constraint
        bounds = constraint.bounds if isinstance(constraint, CrossRecordEdit) else ()
        for tally, _ in (term for bound in bounds for term in bound.terms):
            names.update((tally.field,), tally.by, variables_of(tally.where))
    return frozenset(names & rules.file.columns.keys())

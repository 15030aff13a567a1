"""What is left of rules in the contexts of many groups, found out once for what the rules read of a context.

Groups differ in their unmasked fields, but a rule reads few of these, and each of its atoms fewer still: an age of 34
and one of 35 leave the same over. Theorem: `ResidualMemory.asked` returns what `masktron.settle.residual.residuals`
does. Proof: an atom reads its variables alone, so that what is left of it is the same where these are; what is left
of a rule is put together of that in the order of the form. `tightest` drops what it has met before, so that contexts
that leave the same over may be left out but for the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from masktron.classify.forms import CellValue, variables_of_atom
from masktron.constraints import Atom, Form
from masktron.settle.residual import Free, conditions_of, joined, left_of_atom, rule_of
from masktron.settle.residual_rules import Condition, ResidualRule

MAX_READ = 4_000
"""Combinations of values that are remembered of one rule, or of one atom."""

type _Read = tuple[CellValue, ...]


class ResidualMemory:
    """The residual rules of one kind of prototypes.

    Parameters
    ----------
    forms : sequence of (int, Form)
        Rules, each with the index of its check.
    free : Free
        What is not known of the records, the same in all groups.
    """

    def __init__(self, forms: Sequence[tuple[int, Form]], free: Free) -> None:
        atoms: dict[Atom, _AtomMemory] = {}
        self._forms = [_FormMemory(check, form, free, atoms) for check, form in forms]

    def asked(self, contexts: Sequence[Mapping[str, CellValue]]) -> tuple[tuple[int, ...], tuple[ResidualRule, ...]]:
        """Return what is left of the rules in all of some contexts.

        Parameters
        ----------
        contexts : sequence of mapping of str to Fraction, str or None

        Returns
        -------
        numbers : tuple of int
            Never the same for other rules.
        rules : tuple of ResidualRule
        """
        found = [form.asked(contexts) for form in self._forms]
        return tuple(number for number, _ in found), tuple(rule for _, rules in found for rule in rules)


class _FormMemory:
    """What is left of one rule."""

    def __init__(self, check: int, form: Form, free: Free, atoms: dict[Atom, _AtomMemory]) -> None:
        self._check = check
        self._form = [
            [atoms.setdefault(atom, _AtomMemory(atom, free)) for atom in conjunction] for conjunction in form
        ]
        read = (name for conjunction in self._form for atom in conjunction for name in atom.read)
        self._read = tuple(dict.fromkeys(read))
        self._numbers = itertools.count()  # never again the same, whatever is forgotten
        self._forget()

    def _forget(self) -> None:
        self._alone: dict[_Read, int] = {}
        self._left: dict[int, ResidualRule | None] = {}
        self._number_of: dict[ResidualRule | None, int] = {}
        self._together: dict[tuple[int, ...], tuple[int, tuple[ResidualRule, ...]]] = {}
        self._number_of_rules: dict[tuple[ResidualRule, ...], int] = {}

    def asked(self, contexts: Sequence[Mapping[str, CellValue]]) -> tuple[int, tuple[ResidualRule, ...]]:
        """Return a number of what is left in all of some contexts, and that."""
        if max(len(self._alone), len(self._together)) > MAX_READ:
            self._forget()
        names, alone = self._read, self._alone
        different: dict[int, None] = {}
        for context in contexts:
            read = tuple([context.get(name) for name in names])
            at = alone.get(read)
            if at is None:
                at = alone[read] = self._number(context)
            different[at] = None
        key = tuple(different)
        if key not in self._together:
            rules = tuple(joined(self._check, [self._left[at] for at in key]))
            number = self._number_of_rules.setdefault(rules, next(self._numbers))
            self._together[key] = number, rules
        return self._together[key]

    def _number(self, context: Mapping[str, CellValue]) -> int:
        """Return a number of what is left in a context, which is remembered."""
        rule = rule_of(self._check, (conditions_of(atom.left(context) for atom in own) for own in self._form))
        number = self._number_of.setdefault(rule, next(self._numbers))
        self._left[number] = rule
        return number


class _AtomMemory:
    """What is left of one atom.

    Attributes
    ----------
    read : tuple of str
        The fields that it reads and that are known.
    """

    def __init__(self, atom: Atom, free: Free) -> None:
        self._atom, self._free = atom, free
        self.read = tuple(
            name for name in variables_of_atom(atom) if name not in free.numbers and name not in free.options
        )
        self._known: dict[_Read, tuple[Condition, ...] | None] = {}

    def left(self, context: Mapping[str, CellValue]) -> tuple[Condition, ...] | None:
        """Return the conditions that are left in a context; None where the atom fails."""
        read = tuple([context.get(name) for name in self.read])
        if read not in self._known:
            if len(self._known) >= MAX_READ:
                self._known.clear()
            self._known[read] = left_of_atom(self._atom, context, self._free)
        return self._known[read]

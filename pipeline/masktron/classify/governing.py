"""Governing edits (EC-GV): an order between variables, or IF ... THEN."""

from __future__ import annotations

from masktron.classify.conjunctions import Conjunction
from masktron.classify.linear import is_order
from masktron.constraints import Form, GoverningEdit, Linear, Polynomial, Product, Untranslated


def governing_edit(core: Form, form: Form) -> GoverningEdit | None:
    """One alternative with orders between variables, or several alternatives of which one at least is understood."""
    if len(core) == 1:
        orders = [atom for atom in core[0] if isinstance(atom, Linear)]
        return GoverningEdit(form) if orders and _only_orders(core[0]) else None
    return None if all(_has_untranslated(conjunction) for conjunction in core) else GoverningEdit(form)


def _only_orders(conjunction: Conjunction) -> bool:
    return all(
        is_order(atom) if isinstance(atom, Linear) else not isinstance(atom, Product | Polynomial | Untranslated)
        for atom in conjunction
    )


def _has_untranslated(conjunction: Conjunction) -> bool:
    return any(isinstance(atom, Untranslated) for atom in conjunction)

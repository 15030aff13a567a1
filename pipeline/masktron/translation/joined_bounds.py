"""What two bounds on a field say of other fields: ``A <= x and x <= B`` says ``A <= B``."""

from __future__ import annotations

from dataclasses import dataclass

from masktron.classify.kinds import kind_of
from masktron.rulebook.schema import XPathVersion
from masktron.translation.put_values import compared
from masktron.translation.truth_trees import Both, Claim, Either, TruthTree, both, either
from masktron.xpath.ir import Call, Comparison, Expression, FieldRef


@dataclass(frozen=True, slots=True)
class _Bound:
    """``other <= field`` or, ``above``, ``field <= other``; ``open_``: not equal."""

    above: bool
    other: Expression
    open_: bool


def with_joined_bounds(tree: TruthTree, field: str, version: XPathVersion) -> TruthTree:
    """Add to each conjunction what two of its conditions on a field say together without it.

    This is the step of Fourier and Motzkin for conditions that have the field alone on one side. Both sides of the
    result are computed as they were, so that what is true of the numbers of an engine stays true of them.

    Parameters
    ----------
    tree : TruthTree
    field : str
    version : str
    """
    match tree:
        case Either(parts=parts):
            return either(with_joined_bounds(part, field, version) for part in parts)
        case Both(parts=parts):
            inner = [with_joined_bounds(part, field, version) for part in parts]
            bounds = [bound for part in parts if isinstance(part, Claim) for bound in _bounds(part, field, version)]
            joined = [
                Claim(Comparison("<" if low.open_ or high.open_ else "<=", low.other, high.other))
                for low in bounds
                if not low.above
                for high in bounds
                if high.above and high.other != low.other
            ]
            return both((*inner, *joined))
        case _:
            return tree


def _bounds(claim: Claim, field: str, version: XPathVersion) -> list[_Bound]:
    found = compared(claim, field, version)
    if found is None or claim.negated:
        return []
    match found.left:
        case FieldRef() | Call(name="number", arguments=(FieldRef(),)):
            pass
        case _:
            return []
    other = found.right
    if version != "1.0" and kind_of(other) == "node":
        other = Call("number", (other,))
    match found.operator:
        case "=":
            return [_Bound(above, other, open_=False) for above in (False, True)]
        case "<" | "<=":
            return [_Bound(above=True, other=other, open_=found.operator == "<")]
        case ">" | ">=":
            return [_Bound(above=False, other=other, open_=found.operator == ">")]
        case _:
            return []

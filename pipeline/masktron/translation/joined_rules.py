"""What rules say together of classes, and none of them says alone.

``Role = 'pupil' -> Age <= 15`` and ``Licence = 'yes' -> Age >= 16`` may each hold of somebody in the class 15-19; of
a pupil with a licence they do not hold together. Whoever has the original rules knows that, so that a value that is
drawn anew must not make such a record.

Theorem: let the trees A and B be recoded to A' and B', and A and B together to J. Then J implies A' and B', and no
original of a recoded record that breaks J obeys both rules. Proof: J is what A and B say together of one value of
the class (`recoded_conditions`), so each of them says it of a value of the class.

The converse fails where A holds of some values of a class, B of others, and no value has both. So rules are joined
only where, for some class, J asks more than A' and B' do. Where that is so for no class of a field, A' and B' stand
for J when the next field is recoded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from masktron.recodings import Recoding
from masktron.rulebook.schema import XPathVersion
from masktron.translation.recoded_conditions import RecodedTree, open_classes, recoded
from masktron.translation.recoded_spelling import LostError
from masktron.translation.truth_trees import Both, Branch, Claim, Either, OneOf, TruthTree, both, leaves

MOST_ATOMS = 14
"""Two trees of more conditions are compared as they are written."""


@dataclass(frozen=True, slots=True)
class ClassedRule:
    """A rule that classes have weakened, or may have.

    Attributes
    ----------
    index : int
        Of its check.
    tree : TruthTree
        What it asks before fields are recoded.
    context : str
        The records on which it is asked.
    """

    index: int
    tree: TruthTree
    context: str


type Translate = Callable[[TruthTree], TruthTree]
"""Recodes all fields of a tree; raises LostError where that cannot be written."""


def joined_rules(
    rules: Sequence[ClassedRule], recodings: Mapping[str, Recoding], version: XPathVersion, translate: Translate
) -> Iterator[tuple[tuple[int, ...], TruthTree]]:
    """Yield the rules that say more together than each by itself, with what they say.

    Rules are joined that share a context and a class of which each holds for some values and not for others, and all
    those that are tied by such pairs. Where all of them together are too much to be written, pairs are.

    Parameters
    ----------
    rules : sequence of ClassedRule
    recodings : mapping of str to Recoding
        By field.
    version : str
    translate : callable

    Yields
    ------
    (tuple of int, TruthTree)
        The indices of the checks, rising, and what they say together.
    """
    opened = {
        rule.index: {name: open_classes(rule.tree, recoding, version) for name, recoding in recodings.items()}
        for rule in rules
    }
    pairs = [
        (one, other)
        for one, other in combinations(rules, 2)
        if one.context == other.context and _meet(opened[one.index], opened[other.index])
    ]
    for several in _components(pairs):
        for group in (several,) if _written(several, translate) is not None else _pairs_in(pairs, several):
            told = _written(group, translate)
            if told is not None and _say_more(group, list(recodings.values()), version):
                yield tuple(rule.index for rule in group), told


def _meet(one: Mapping[str, Collection[str]], other: Mapping[str, Collection[str]]) -> bool:
    return any(set(labels) & set(other[name]) for name, labels in one.items())


def _components(pairs: Sequence[tuple[ClassedRule, ClassedRule]]) -> list[tuple[ClassedRule, ...]]:
    """Return the rules that pairs tie together."""
    found: list[dict[int, ClassedRule]] = []
    for pair in pairs:
        own = {rule.index: rule for rule in pair}
        apart = []
        for known in found:
            if known.keys() & own.keys():
                own |= known
            else:
                apart.append(known)
        found = [*apart, own]
    return sorted((tuple(own[index] for index in sorted(own)) for own in found), key=lambda group: group[0].index)


def _pairs_in(
    pairs: Sequence[tuple[ClassedRule, ClassedRule]], several: Sequence[ClassedRule]
) -> list[tuple[ClassedRule, ...]]:
    known = {rule.index for rule in several}
    return [pair for pair in pairs if pair[0].index in known]


def _written(rules: Sequence[ClassedRule], translate: Translate) -> TruthTree | None:
    """What rules say together; None where that cannot be written."""
    try:
        return translate(both(rule.tree for rule in rules))
    except LostError:
        return None


def _say_more(rules: Sequence[ClassedRule], recodings: Sequence[Recoding], version: XPathVersion) -> bool:
    """Whether rules ask more of some class together than each by itself."""
    apart = [rule.tree for rule in rules]
    for recoding in recodings:
        try:
            whole = recoded(both(apart), recoding, version)
            ones = [recoded(tree, recoding, version) for tree in apart]
        except LostError:
            return True  # it is not known that they say no more
        labels = whole.asked or {"": whole.tree}
        for label, told in labels.items():
            if not follows(told, both(_asked(one, label) for one in ones)):
                return True
        apart = [one.tree for one in ones]
    return False


def _asked(one: RecodedTree, label: str) -> TruthTree:
    return one.asked.get(label, one.tree)


def follows(conclusion: TruthTree, premise: TruthTree) -> bool:
    """Whether one tree follows from another, whatever their conditions say.

    Parameters
    ----------
    conclusion, premise : TruthTree

    Returns
    -------
    bool
        False as well where there are too many conditions to find out.
    """
    if conclusion == premise:
        return True
    atoms = {atom: at for at, atom in enumerate(dict.fromkeys(map(_atom, (*leaves(conclusion), *leaves(premise)))))}
    if len(atoms) > MOST_ATOMS:
        return False
    rows = np.arange(1 << len(atoms))
    said = {atom: (rows >> at & 1).astype(np.bool_) for atom, at in atoms.items()}
    return not bool((_truth(premise, said) & ~_truth(conclusion, said)).any())


def _atom(leaf: Claim | OneOf) -> Claim | OneOf:
    return Claim(leaf.expression) if isinstance(leaf, Claim) else OneOf(leaf.field, leaf.labels)


def _truth(tree: TruthTree, said: Mapping[Claim | OneOf, NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Return the truth of a tree in each row of a table of truth values of its conditions."""
    rows = len(next(iter(said.values()))) if said else 1
    match tree:
        case Claim(negated=negated) | OneOf(negated=negated):
            return said[_atom(tree)] ^ negated
        case Both(parts=parts):
            found = np.ones(rows, dtype=np.bool_)
            for part in parts:
                found &= _truth(part, said)
            return found
        case Either(parts=parts):
            found = np.zeros(rows, dtype=np.bool_)
            for part in parts:
                found |= _truth(part, said)
            return found
        case Branch(condition=condition, then=then, otherwise=otherwise):
            return np.where(_truth(condition, said), _truth(then, said), _truth(otherwise, said))

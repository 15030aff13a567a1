"""Rules that ask nothing any more, since no class tells enough.

``AGE < 40 or B > 3`` asks nothing of a class from 35 without an end, as somebody of it may be 35; and nothing of the
classes below. Its translation is still asked of what has no class, as a missing age, and finds no error in any other
record. That is another thing than a rule which every value obeys, and which never asked anything of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from masktron.recodings import Recoding
from masktron.rulebook.schema import XPathVersion
from masktron.translation.recoded_conditions import RecodedTree, recoded
from masktron.translation.recoded_spelling import LostError
from masktron.translation.truth_trees import ALWAYS, TruthTree


def asks_nothing_any_more(
    tree: TruthTree, recodings: Sequence[Recoding], version: XPathVersion, *, as_intervals: bool = False
) -> bool:
    """Whether a rule asks something of records that have a value in each recoded field, and its translation nothing.

    Parameters
    ----------
    tree : TruthTree
        What the rule asks before fields are recoded.
    recodings : sequence of Recoding
        In the order in which the rule is translated.
    version : str
    as_intervals : bool
        As for `masktron.translation.recoded_conditions.recoded`.

    Returns
    -------
    bool
        False as well where that cannot be told.
    """

    def silent(
        asked: TruthTree, left: Sequence[Recoding], told: Callable[[RecodedTree], Collection[TruthTree]]
    ) -> bool:
        if asked == ALWAYS or not left:
            return asked == ALWAYS
        found = told(recoded(asked, left[0], version, as_intervals=as_intervals))
        return all(silent(one, left[1:], told) for one in found)

    try:
        return silent(tree, recodings, lambda one: one.now) and not silent(tree, recodings, lambda one: one.before)
    except LostError:
        return False  # what is asked of one class alone cannot be written, so that it is something

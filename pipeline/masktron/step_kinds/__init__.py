"""Kinds of steps before masking: each declares itself once, in a class whose values say what was done.

Begin in `base`, then `ALL`: settings, words, manifests, pages and searches are made of it. What takes a step
stands in `masktron.jobs.steps`, what verifies it in `masktron.verify.declared_steps`. It may import settings and
`recodings`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from masktron.recodings import Recoding
from masktron.serialised import read_plain
from masktron.step_kinds.base import Treatment
from masktron.step_kinds.post_randomisation import Postrandomised
from masktron.step_kinds.recoding import Recoded
from masktron.step_kinds.record_swapping import Swapped
from masktron.step_kinds.reweighting import Reweighted
from masktron.step_kinds.suppression import SharedKeys, Suppressed

ALL: tuple[type[Treatment], ...] = (Recoded, Reweighted, Postrandomised, Swapped, Suppressed)
"""In the order in which they are taken."""

__all__ = [
    "ALL",
    "Postrandomised",
    "Recoded",
    "Reweighted",
    "SharedKeys",
    "Suppressed",
    "Swapped",
    "Treatment",
    "names_in",
    "perturbed_fields",
    "perturbed_in",
    "plain_settings",
    "recodings_in",
    "require_asked_for",
    "reweighted_in",
    "steps_of",
    "suppressed_in",
    "treatments_from",
]


def steps_of(config: Any) -> dict[type[Treatment], tuple[str, ...]]:
    """Return the kinds of steps that settings ask for, in their order, each with the fields that it may change.

    Fields of which settings say nothing are not among them: keys may be those that a file is seen to have.
    """
    return {kind: kind.fields_of(config) for kind in ALL if kind.asked(config)}


def treatments_from(content: Sequence[Any]) -> tuple[Treatment, ...]:
    """Read the treatments of a manifest.

    Raises
    ------
    ValueError
        Something is missing, of the wrong type, or nonsense.
    """
    kinds, found = {kind.kind: kind for kind in ALL}, list[Treatment]()
    for number, one in enumerate(content):
        place = f"treatments[{number}]"
        kind = read_plain(str, read_plain(Mapping[str, Any], one, place).get("kind"), f"{place}.kind")
        if kind not in kinds:
            raise ValueError(f"{place} is of no kind that this version knows")
        found.append(kinds[kind].read(one, place))
    if len(recodings_in(found)) < sum(isinstance(one, Recoded) for one in found):
        raise ValueError("a field is recoded twice")
    return tuple(found)


def require_asked_for(treatments: Sequence[Treatment], config: Mapping[str, Any], *, nested: bool = False) -> None:
    """Compare treatments with settings, so that `check` does not test a file for what nobody asked.

    Parameters
    ----------
    treatments : sequence of Treatment
        As the manifest declares them.
    config : mapping of str to plain data
        The settings of the same manifest.
    nested : bool
        Whether keys were suppressed level by level, with those of the levels around.

    Raises
    ------
    TypeError, ValueError
        They disagree, or the settings are nonsense.
    """
    for kind in ALL:
        asked, made = kind.compared([one for one in treatments if isinstance(one, kind)], config, nested=nested)
        if asked != made:
            setting = kind.asked_by[-1]
            raise ValueError(f"its 'treatments' are not what {setting!r} of its 'config' asks for")


def recodings_in(treatments: Iterable[Treatment]) -> dict[str, Recoding]:
    """Return the recodings among treatments, by field."""
    return {one.recoding.field: one.recoding for one in treatments if isinstance(one, Recoded)}


def names_in(treatments: Iterable[Treatment]) -> dict[str, Mapping[str, str]]:
    """Return what classes are called of which numbers stand in the file, by field."""
    return {one.recoding.field: one.names for one in treatments if isinstance(one, Recoded) and one.names}


def reweighted_in(treatments: Iterable[Treatment]) -> tuple[Reweighted, ...]:
    """Return what took over the weights of records left out: one treatment, or none."""
    return tuple(one for one in treatments if isinstance(one, Reweighted))


def suppressed_in(treatments: Iterable[Treatment]) -> tuple[Suppressed, ...]:
    """Return the suppressions among treatments."""
    return tuple(one for one in treatments if isinstance(one, Suppressed))


def plain_settings(treatments: Iterable[Treatment]) -> list[dict[str, Any]]:
    """Return treatments as plain data without what came of them, and without the words of the settings.

    Later draws depend on it. The words may have the path of a file, which is another one in another folder.
    """
    passed = ("figures", "how")
    return [{name: one for name, one in each.as_dict().items() if name not in passed} for each in treatments]


def perturbed_in(treatments: Iterable[Treatment]) -> tuple[Treatment, ...]:
    """Return what wrote values that are not those of the records among treatments."""
    return tuple(one for one in treatments if one.untrue)


def perturbed_fields(treatments: Iterable[Treatment]) -> tuple[str, ...]:
    """Return the fields that were drawn anew or swapped: each in one treatment."""
    return tuple(name for one in perturbed_in(treatments) for name in one.changed)

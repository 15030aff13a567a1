"""The cap on groups that publish the values of one record in the place of a mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.classify import Edit
from masktron.errors import InfeasibleError, RefusalFacts
from masktron.masking.choice import MaskedBlock
from masktron.masking.disclosure.exposure import AVERAGED, Holders
from masktron.masking.inputs import MaskingInputs
from masktron.problems.problem import Note, fields, rules


def fallen_on(inputs: MaskingInputs, masked: MaskedBlock) -> NDArray[np.bool_]:
    """Tell which groups copy a record where their prototypes are no plan, but what drawn records fall back on.

    In averaged blocks these are the copied ones; in others, the observed ones that fewer than k records hold.

    Parameters
    ----------
    inputs : MaskingInputs
    masked : MaskedBlock
        Masked by groups.

    Returns
    -------
    ndarray of bool, shape (groups,)
    """
    if masked.block.aggregator in AVERAGED:
        return masked.exposure.copied
    held = Holders.of(inputs.file, inputs.k, masked.block.variables, masked.grouping, masked.settled)
    return masked.exposure.observed & held.held & (held.in_file < inputs.k)


def refuse_observed(
    blocks: Sequence[MaskedBlock], most: float, *, where: str = "", edits: Mapping[int, Edit] = MappingProxyType({})
) -> None:
    """Stop where more observed records than wanted would be published in the place of means.

    A block whose plan is the median, the mode or the medoid is made of observed values by design, so it is counted
    in the result and not capped.

    Parameters
    ----------
    blocks : sequence of MaskedBlock
    most : float
        Groups of each block that may publish an observed record, in per cent of the records, rounded up to whole
        groups: so a small file may have one, unless `most` is 0.
    where : str
        The file, for the message.
    edits : mapping of int to Edit
        The rules, by the index of their check.

    Raises
    ------
    InfeasibleError
        Naming each block over the cap, its share and the rules that it has to keep.
    """
    capped = [(one, one.exposure.copied) for one in blocks if one.block.drawn or one.block.aggregator in AVERAGED]
    records = len(blocks[0].grouping.labels) if blocks else 0
    allowed = math.ceil(Fraction(str(most)) * records / 100)
    beyond = [(masked, copied) for masked, copied in capped if copied.sum() > allowed]
    if beyond:
        over = tuple(_described(masked, copied, records, edits) for masked, copied in beyond)
        raise InfeasibleError.of(
            "values-published",
            where,
            groups=over,
            most=most,
            allowed=allowed,
            facts=[
                RefusalFacts(
                    "copied", one.block.variables, one.block.conditions, groups=int(copied.sum()), records=records
                )
                for one, copied in beyond
            ],
        )


def _described(masked: MaskedBlock, copied: NDArray[np.bool_], records: int, edits: Mapping[int, Edit]) -> Note:
    """Name the groups of a block, and its rules: those that no theorem covers, where there are some, else all."""
    pooled = int((copied & masked.grouping.pooled).sum())
    ruled = int((copied & masked.exposure.dominated).sum())
    reason = f"; {pooled} of them since a pattern of missing values is rarer than k" if pooled else ""
    reason += f"; {ruled} of them ruled by the weight of one record" if ruled else ""
    own = [edits[index] for index in masked.block.checks if index in edits]
    opaque = [edit.check.id for edit in own if edit.name == "opaque"]
    said = "; rules that masktron does not understand: " if opaque else "; rules: " if own else ""
    count = int(copied.sum())
    return Note(
        "{groups:group} of {fields:and}, {share:.2g} % of the records{reason}{said}{rules:and}",
        groups=count,
        fields=fields(masked.block.variables),
        share=100 * count / records,
        reason=reason,
        said=said,
        rules=rules(opaque or [edit.check.id for edit in own]),
    )

"""The cap on groups that publish the values of one record in the place of a mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.classify import Edit
from masktron.counts import counted
from masktron.errors import InfeasibleError, RefusalFacts
from masktron.masking.disclosure.exposure import AVERAGED
from masktron.masking.disclosure.holders import Holders
from masktron.masking.inputs import MaskingInputs
from masktron.masking.masked import MaskedBlock


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
    over = [f"{_described(masked, copied, records)}{_rules(masked, edits)}" for masked, copied in beyond]
    if over:
        raise InfeasibleError(
            f"too many groups have no mean that satisfies the rules and would publish the values of a real record: "
            f"{'; '.join(over)}; at most {most:g} % of the records may, which is {allowed}",
            where=where,
            hint="raise --max-observed-share, change k, let a rule go with --allow, or give a field another role",
            facts=[
                RefusalFacts(
                    "copied",
                    masked.block.variables,
                    masked.block.conditions,
                    groups=int(copied.sum()),
                    records=records,
                )
                for masked, copied in beyond
            ],
        )


def _rules(masked: MaskedBlock, edits: Mapping[int, Edit]) -> str:
    """Name the rules of a block: those that no theorem covers, where there are some, else all."""
    own = [edits[index] for index in masked.block.checks if index in edits]
    opaque = [edit.check.id for edit in own if edit.name == "opaque"]
    if opaque:
        return f" (rules that could not be understood: {', '.join(opaque)}; explain says why)"
    return f" (rules: {', '.join(edit.check.id for edit in own)})" if own else ""


def _described(masked: MaskedBlock, copied: NDArray[np.bool_], records: int) -> str:
    count, pooled = int(copied.sum()), int((copied & masked.grouping.pooled).sum())
    ruled = int((copied & masked.exposure.dominated).sum())
    groups = counted(count, "group")
    rare = f", {pooled} of them since a pattern of missing values is rarer than k" if pooled else ""
    heavy = f", {ruled} of them ruled by the weight of one record" if ruled else ""
    return f"{', '.join(masked.block.variables)}: {groups}, {100 * count / records:.2g} % of the records{rare}{heavy}"

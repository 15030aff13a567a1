"""Mask: groups, prototypes and totals for every block of a plan.

Begin with `run`, which has the stages of a run in their order, then `block.joint_search`, which has those of one
block. What all of them share is in `inputs`: the columns of the file, the rules beside them, and what forms groups.
"""

from __future__ import annotations

from masktron.masking.choice import MaskedBlock, Trial
from masktron.masking.draws.perturbing import Perturbed
from masktron.masking.inputs import SharedWork
from masktron.masking.run import Masked, mask_records
from masktron.masking.totals.repair import Repair

__all__ = [
    "Masked",
    "MaskedBlock",
    "Perturbed",
    "Repair",
    "SharedWork",
    "Trial",
    "mask_records",
]

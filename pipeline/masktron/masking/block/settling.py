"""The stages of one block, from groups to lexemes that the rules accept.

1. Aggregates: what stands for each group before the rules are asked (`group_aggregates`, `targets`).
2. Patterns: what a prototype may look like, by missing values and categories (`patterns`).
3. Candidates for many groups at once: rounded, on the lattice around, projected on a case (`joint_search`, `cases`).
4. Candidates for single groups that are left, the best first (`group_searches`).
5. Each candidate is judged in every context of its group; the first that is accepted is the prototype (`settle`).
"""

from __future__ import annotations

from masktron.grouping.record_groups import RecordGroups
from masktron.masking.block.group_searches import GroupSearches
from masktron.masking.block.joint_search import JointSearch
from masktron.masking.inputs import MaskingInputs
from masktron.masking.judging import Judging
from masktron.plan import Block
from masktron.progress import Told, untold
from masktron.settle.prototypes import Settled, settle


def settle_block(inputs: MaskingInputs, block: Block, grouping: RecordGroups, told: Told = untold) -> Settled:
    """Find the prototypes of one block; `told` hears how many groups have one."""
    told(0, grouping.groups)
    searches = GroupSearches(inputs, block, grouping)
    judging = Judging(inputs.rules, block)
    table = None
    if not block.solved:  # what follows in each record is completed group by group
        joint = JointSearch(inputs.rules, block, grouping, judging, searches.aggregates.pooled, told)
        joint.observed(searches.aggregates)
        joint.aggregates(searches.patterns, searches.of(0))
        table = joint.table
    return settle(searches.records, searches.candidates, judging, table, conflict=searches.conflict, told=told)

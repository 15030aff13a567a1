"""Code that masking has to wait for until it is compiled."""

from __future__ import annotations

from collections.abc import Sequence

from masktron.classify import Edit
from masktron.classify.forms import form_of
from masktron.kernels import exchange, nearest_point
from masktron.kernels.mdav import TREE_FROM
from masktron.methods.base import Method, Partitioning
from masktron.partitions.partitioner import compile_for as compile_partitioning
from masktron.partitions.partitioner import compiles_first as partitioning_compiles_first
from masktron.plan import Plan


def compiles_first(n: int, plan: Plan, edits: Sequence[Edit], method: Method) -> bool:
    """Tell whether masking n records would have to wait for code to be compiled."""
    exchanging = n >= TREE_FROM and _may_exchange(plan, edits) and not exchange.exchange_ready()
    return (
        exchanging
        or partitioning_compiles_first(n, plan.k, _dimensions(plan))
        or method.compiles_first(n)
        or (_draws(method) and nearest_point.compiles_first(n))
    )


def compile_for(n: int, plan: Plan, edits: Sequence[Edit], method: Method) -> None:
    """Compile all that masking n records may take, while the user is told so."""
    if partitioning_compiles_first(n, plan.k, _dimensions(plan)):
        compile_partitioning(_dimensions(plan))
    if n >= TREE_FROM and _may_exchange(plan, edits):
        exchange.compile_exchange()
    if method.compiles_first(n):
        method.compile()
    if _draws(method) and nearest_point.compiles_first(n):
        nearest_point.compile_rows()


def _draws(method: Method) -> bool:
    """Whether each record is settled on its own, so that many are projected at once."""
    return not isinstance(method, Partitioning)


def _dimensions(plan: Plan) -> list[int]:
    return [len(partition.variables) for partition in plan.partitions]


def _may_exchange(plan: Plan, edits: Sequence[Edit]) -> bool:
    """Whether a rule has alternatives, so that groups may have to share one."""
    forms = {edit.check.index: form_of(edit.constraint) for edit in edits}
    blocks = (block for partition in plan.partitions for block in partition.blocks)
    return any(len(forms[check]) > 1 for block in blocks for check in block.checks)

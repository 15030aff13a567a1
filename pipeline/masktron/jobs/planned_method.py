"""What the method of a run means for a plan, said before anything is masked."""

from __future__ import annotations

from masktron.errors import UsageError
from masktron.methods.base import Method, Partitioning
from masktron.methods.mdav import MdavMethod
from masktron.plan import Block, Plan


def method_notes(plan: Plan, method: Method) -> tuple[str, ...]:
    """Say which blocks a method draws and which it masks by groups.

    Parameters
    ----------
    plan : Plan
    method : Method

    Returns
    -------
    tuple of str
        A sentence each; none for the default, whose groups and aggregators are what a plan shows.

    Raises
    ------
    UsageError
        It can draw no block of the file.
    """
    if isinstance(method, Partitioning):
        return () if isinstance(method, MdavMethod) else (f"groups are formed by {method.name}",)
    drawable = {fact.name for fact in plan.fields if fact.numeric or (method.orders and fact.order is not None)}
    drawn = [block for block in plan.blocks if method.categories or drawable.issuperset(block.variables)]
    if not drawn:
        raise UsageError(
            f"{method.name} draws numbers, and every block of masked fields holds categories",
            hint="take a method that masks categories: see `masktron methods`",
        )
    return _drawn(method, drawn, [block for block in plan.blocks if block not in drawn])


def _drawn(method: Method, drawn: list[Block], grouped: list[Block]) -> tuple[str, ...]:
    told = [
        f"{method.name} draws a value of its own for every record in {_fields(drawn)}; there, aggregators are for "
        "records alone for which no draw can be settled by the rules"
    ]
    if grouped:
        told.append(f"{method.name} draws numbers only; masked by groups: {_fields(grouped)}")
    return tuple(told)


def _fields(blocks: list[Block]) -> str:
    return ", ".join(name for block in blocks for name in block.variables)

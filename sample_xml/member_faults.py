"""What the invalid samples with records in records get wrong: for each rule a known, small number of violations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import establishments
import persons
from draws import cents, to_cents
from survey import Fault, Record, Unit

type Change = Callable[[Unit], Unit]
type Which = Callable[[Record], bool]


def _number(record: Record, name: str) -> int:
    return int(record[name] or 0)


def _own(**texts: str) -> Change:
    return lambda unit: replace(unit, own=unit.own | texts)


def _added(record: Record, amounts: dict[str, int]) -> Record:
    """Add to whole numbers."""
    return record | {name: str(_number(record, name) + amount) for name, amount in amounts.items()}


def _shift(**amounts: int) -> Change:
    return lambda unit: replace(unit, own=_added(unit.own, amounts))


def _is(name: str, *texts: str) -> Which:
    return lambda record: record[name] in texts


def _all(*several: Which) -> Which:
    return lambda record: all(one(record) for one in several)


def _earning(record: Record) -> bool:
    return record["Status"] == "EMP" and _number(record, "Wages") > 5_000


def _anybody(record: Record) -> bool:
    return True


def _first(unit: Unit, which: Which) -> int | None:
    """Return the place of the first member of a kind."""
    return next((at for at, member in enumerate(unit.members) if which(member)), None)


def _has(which: Which, *lacking: Which, least: int = 1) -> Callable[[Unit], bool]:
    """Whether a unit has members of a kind, and none of others."""
    return lambda unit: (
        sum(map(which, unit.members)) >= least and all(_first(unit, other) is None for other in lacking)
    )


def _of_member(which: Which, change: Callable[[Record], Record]) -> Change:
    """Change the first member of a kind."""

    def changed(unit: Unit) -> Unit:
        at = _first(unit, which)
        return replace(
            unit, members=tuple(change(one) if place == at else one for place, one in enumerate(unit.members))
        )

    return changed


def _put(which: Which, **texts: str) -> Change:
    return _of_member(which, lambda member: member | texts)


_HEAD, _PARTNER = _is("Role", "head"), _is("Role", "partner")
_CHILD, _OTHER = _is("Role", "child"), _is("Role", "other")
_RETIRED, _DEPENDENT = _is("Status", "RET"), _is("Status", "STUD", "NONE")


def _head_last(unit: Unit) -> Unit:
    return replace(unit, members=(*unit.members[1:], unit.members[0]))


def _child_as_old(unit: Unit) -> Unit:
    age = _number(unit.members[0], "Age") - 10
    return _put(_CHILD, Age=str(age))(unit)


def _rent_for_owner(unit: Unit) -> Unit:
    housing = cents(to_cents(unit.own["Energy"] or "0") + 10_000)
    return replace(unit, own=unit.own | {"Rent": "100.00", "Housing": housing})


def _dear_housing(unit: Unit) -> Unit:
    return replace(unit, own=unit.own | {"Housing": cents(to_cents(unit.own["Housing"] or "0") + 100)})


def _rich(unit: Unit) -> Unit:
    amounts = dict.fromkeys(("Total", "NetIncome"), 600_000)
    richer = _of_member(_earning, lambda one: _added(one, dict.fromkeys(("Wages", "Income"), 600_000)))(unit)
    return replace(richer, own=_added(unit.own, amounts))


def _pocket_money(unit: Unit) -> Unit:
    dependent = _of_member(_DEPENDENT, lambda one: _added(one, {"Benefits": 300, "Income": 300}))(unit)
    return replace(dependent, own=_added(unit.own, {"Total": 300, "NetIncome": 300}))


def _owning(unit: Unit) -> bool:
    return unit.own["Tenure"] == "OWN"


def _has_partner_and_other(unit: Unit) -> bool:
    return _has(_PARTNER)(unit) and _has(_OTHER)(unit)


def _known_rent(unit: Unit) -> bool:
    return unit.own["Rent"] != "-9"


PERSONS: tuple[Fault[Unit], ...] = (
    Fault(("household-unique",), 2, _own(**{"@id": str(persons.FIRST_ID)})),
    Fault(("region-codes",), 2, _own(Region="XX")),
    Fault(("size-count",), 3, _shift(Size=1)),
    Fault(("children-count",), 2, _shift(Children=1), _has(_CHILD)),
    Fault(("earners-count",), 2, _shift(Earners=1)),
    Fault(("one-head",), 2, _put(_OTHER, Role="head"), _has(_OTHER, _CHILD)),
    Fault(("one-head", "head-first"), 2, _put(_HEAD, Role="other"), _has(_HEAD, _PARTNER, _CHILD, _OTHER)),
    Fault(("head-first",), 2, _head_last, _has(_PARTNER)),
    Fault(("one-partner",), 2, _put(_OTHER, Role="partner"), _has_partner_and_other),
    Fault(("total-sum",), 4, _shift(Total=1_000, NetIncome=1_000)),
    Fault(("allowance-children",), 2, _shift(Allowance=500, Total=500, NetIncome=500), _has(_HEAD, _CHILD)),
    Fault(("net-balance",), 3, _shift(NetIncome=-25)),
    Fault(("owner-rent",), 2, _rent_for_owner, _owning),
    Fault(("housing-balance",), 2, _dear_housing, _known_rent),
    Fault(("savings-range",), 2, _own(Savings="-5")),
    Fault(("high-income",), 2, _rich, _has(_earning)),
    Fault(("number-unique",), 2, _put(_PARTNER, **{"@no": "1"}), _has(_PARTNER)),
    Fault(("role-codes",), 2, _put(_OTHER, Role="lodger"), _has(_OTHER)),
    Fault(("age-range",), 2, _put(_RETIRED, Age="120"), _has(_RETIRED)),
    Fault(("child-age",), 3, _child_as_old, _has(_CHILD)),
    Fault(("retired-age",), 2, _put(_all(_HEAD, _RETIRED), Age="45"), _has(_all(_HEAD, _RETIRED), _CHILD)),
    Fault(("income-sum",), 4, _of_member(_earning, lambda one: _added(one, {"Wages": 1_000})), _has(_earning)),
    Fault(("wages-range",), 2, _of_member(_RETIRED, lambda one: _added(one, {"Wages": -90, "Benefits": 90})),
          _has(_RETIRED)),
    Fault(("dependent-income",), 2, _pocket_money, _has(_DEPENDENT)),
    Fault(("own-account",), 2, _of_member(_earning, lambda one: _added(one, {"SelfEmp": 500, "Wages": -500})),
          _has(_earning)),
    Fault(("hours-range",), 2, _put(_earning, Hours="90"), _has(_earning)),
)  # fmt: skip


_SEAT, _BRANCH = _is("Kind", "SEAT"), _is("Kind", "BRANCH")


def _elsewhere(unit: Unit) -> Unit:
    others = [region for region in establishments.REGIONS if region != unit.own["Region"]]
    return _own(Region=others[0])(unit)


def _costly(unit: Unit) -> Unit:
    """Raise the wages of the seat to its turnover, and those of the enterprise as much."""
    seat = unit.members[0]
    more = _number(seat, "Turnover") - _number(seat, "Wages")
    dearer = _of_member(_SEAT, lambda one: _added(one, {"Wages": more}))(unit)
    return replace(dearer, own=_added(unit.own, {"Wages": more}))


ESTABLISHMENTS: tuple[Fault[Unit], ...] = (
    Fault(("enterprise-unique",), 1, _own(**{"@id": str(establishments.FIRST_ID)})),
    Fault(("region-codes",), 2, _put(_BRANCH, Region="ABROAD"), _has(_BRANCH)),
    Fault(("units-count",), 2, _shift(LocalUnits=1)),
    Fault(("number-unique",), 2, _put(_BRANCH, **{"@no": "1"}), _has(_BRANCH)),
    Fault(("one-seat",), 2, _put(_SEAT, Kind="BRANCH"), _has(_SEAT, _BRANCH)),
    Fault(("seat-region",), 2, _elsewhere),
    Fault(("opened-order",), 2, _put(_BRANCH, Opened="1901"), _has(_BRANCH)),
    Fault(("opened-range",), 2, _put(_SEAT, Opened="2031"), _has(_SEAT, _BRANCH)),
    Fault(("staff-sum",), 3, _shift(Staff=2)),
    Fault(("turnover-sum",), 3, _shift(Turnover=100)),
    Fault(("wages-sum",), 2, _shift(Wages=-10)),
    Fault(("wages-limit",), 2, _costly),
    Fault(("energy-range",), 2, _put(_anybody, Energy="-40")),
    Fault(("capex-range",), 2, _own(Capex="-250")),
)  # fmt: skip

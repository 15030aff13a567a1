"""What the invalid flat samples get wrong: for each rule a known, small number of violations."""

from __future__ import annotations

from collections.abc import Callable

import business
import household
from draws import cents, to_cents
from survey import Fault, Record

type Change = Callable[[Record], Record]


def _number(record: Record, name: str) -> int:
    return int(record[name] or 0)


def _put(**texts: str) -> Change:
    return lambda record: record | texts


def _shift(**amounts: int) -> Change:
    """Add to whole numbers."""
    return lambda record: record | {name: str(_number(record, name) + amount) for name, amount in amounts.items()}


def _shift_cents(name: str, amount: int) -> Change:
    return lambda record: record | {name: cents(to_cents(record[name] or "0") + amount)}


def _is(name: str, *texts: str) -> Callable[[Record], bool]:
    return lambda record: record[name] in texts


def _stated(name: str) -> Callable[[Record], bool]:
    return lambda record: record[name] not in (None, "", "-9")


def _no_tax(record: Record) -> bool:
    return record["Tax"] == "0" and _number(record, "Income") >= 0


def _well_paid(record: Record) -> bool:
    return record["Status"] == "EMP" and _number(record, "Wages") > 900


def _tax_all(record: Record) -> Record:
    return record | {"Tax": record["Income"], "NetIncome": "0"}


def _wages_to_transfers(record: Record) -> Record:
    return record | {"Wages": "0", "Transfers": str(_number(record, "Wages") + _number(record, "Transfers"))}


def _free_tenant(record: Record) -> Record:
    return record | {"Rent": "0.00", "Housing": record["Energy"]}


def _rent_for_owner(record: Record) -> Record:
    return record | {"Rent": "100.00", "Housing": cents(to_cents(record["Energy"] or "0") + 10_000)}


def _fifth_to_social(record: Record) -> Record:
    """A fifth of the wages becomes social contributions, which leaves the costs as they are."""
    moved = _number(record, "Wages") // 5
    return _shift(Wages=-moved, Social=moved)(record)


def _negative_quarter(record: Record) -> Record:
    moved = _number(record, "Q1") + 100
    return _shift(Q1=-moved, Q2=moved)(record)


def _negative_part_time(record: Record) -> Record:
    return record | {"FullTime": str(_number(record, "Staff") + 3), "PartTime": "-3"}


def _cheap(record: Record) -> Record:
    return record | {
        **dict.fromkeys(("Purchases", "Wages", "Social", "Other", "Costs"), "0"),
        "Profit": record["Turnover"],
    }


HOUSEHOLD = (
    Fault(("household-unique",), 2, _put(Id=str(household.FIRST_ID))),
    Fault(("age-range", "age-domain"), 2, _put(Age="120"), _is("Status", "RET")),
    Fault(("age-whole", "age-domain"), 2, _put(Age="34.5"), _is("Status", "EMP")),
    Fault(("age-domain",), 3, _put(Age="17"), _is("Status", "EMP", "UNEMP")),
    Fault(("retired-age",), 2, _put(Age="45"), _is("Status", "RET")),
    Fault(("region-codes",), 2, _put(Region="XX")),
    Fault(("occupation-code",), 2, _put(Occupation="24A1"), _is("Status", "EMP")),
    Fault(("status-occupation",), 1, _put(Occupation="5223"), _is("Status", "UNEMP")),
    Fault(("size-sum",), 3, _shift(Size=1)),
    Fault(("income-sum",), 4, _shift(Wages=1000), lambda r: r["Property"] is not None and r["Status"] == "EMP"),
    Fault(("income-sum-short",), 2, _shift(Transfers=500), lambda r: r["Property"] is None),
    Fault(("net-balance",), 3, _shift(NetIncome=-25)),
    Fault(("net-order",), 2, lambda r: r | {"NetIncome": str(_number(r, "Income") + 1)}, _no_tax),
    Fault(("tax-limit",), 2, _tax_all, lambda r: _number(r, "Income") > 25_000),
    Fault(("property-range",), 1, _shift(Property=-30_000, Income=-30_000, NetIncome=-30_000),
          lambda r: 0 < _number(r, "Property") < 30_000 and _number(r, "Income") > 60_000),
    Fault(("loss-tax",), 2, _shift(Tax=1, NetIncome=-1), lambda r: _number(r, "Income") < 0),
    Fault(("employee-wages",), 2, _wages_to_transfers, _is("Status", "EMP")),
    Fault(("own-account",), 2, _shift(SelfEmp=500, Wages=-500), _well_paid),
    Fault(("high-income",), 2, _shift(Wages=600_000, Income=600_000, NetIncome=600_000), _is("Status", "EMP")),
    Fault(("pay-product",), 3, _shift_cents("WeeklyPay", 1000), _stated("Hours")),
    Fault(("hours-range",), 2, _put(HourlyWage="10.00", Hours="90", WeeklyPay="900.00"), _stated("Hours")),
    Fault(("housing-balance",), 2, _shift_cents("Housing", 100), _stated("Rent")),
    Fault(("tenant-rent",), 2, _free_tenant, lambda r: r["Tenure"] == "RENT" and r["Rent"] != "-9"),
    Fault(("owner-rent",), 1, _rent_for_owner, _is("Tenure", "OWN", "MORT")),
    Fault(("free-rent",), 1, _put(Rent="-9", Housing="-9"), _is("Tenure", "FREE")),
    Fault(("free-rent",), 1, _put(Tenure="BOAT"), _is("Tenure", "FREE")),
    Fault(("savings-range",), 2, _put(Savings="-5")),
)  # fmt: skip
BUSINESS = (
    Fault(("enterprise-nace",), 2, _put(Nace="4671")),
    Fault(("region-codes",), 2, _put(Region="ABROAD")),
    Fault(("form-sector",), 3, _put(Sector="H"), lambda r: r["Form"] == "SOLE" and r["Sector"] not in ("C", "G")),
    Fault(("founded-range", "founded-domain"), 2, _put(Founded="2031")),
    Fault(("founded-whole", "founded-domain"), 1, _put(Founded="1999.5")),
    Fault(("founded-domain",), 2, _put(Founded="1801")),
    Fault(("vat-rate",), 2, _put(VatRate="7")),
    Fault(("staff-sum",), 3, _shift(Staff=2), _is("Form", "LTD")),
    Fault(("staff-order",), 2, _negative_part_time, _is("Form", "LTD")),
    Fault(("sole-staff",), 2, _put(FullTime="12", PartTime="0", Staff="12"), _is("Form", "SOLE")),
    Fault(("turnover-sum",), 4, _shift(Q3=100)),
    Fault(("costs-sum",), 2, _shift(Other=-100), lambda r: _number(r, "Other") > 5_000),
    Fault(("profit-balance",), 3, _shift(Profit=-50)),
    Fault(("social-limit",), 2, _fifth_to_social, lambda r: _number(r, "Wages") > 1_000),
    Fault(("quarter-range",), 1, _negative_quarter, lambda r: _number(r, "Q1") > 0),
    Fault(("dormant-purchases",), 2, _shift(Purchases=200, Costs=200, Profit=-200), _is("Turnover", "0")),
    Fault(("high-margin",), 2, _cheap, lambda r: _number(r, "Turnover") > 1_000),
    Fault(("sales-product",), 3, _shift_cents("Sales", 1000), _stated("Price")),
    Fault(("unit-value",), 2, _put(Price="2000.00", Quantity="3", Sales="6000.00"), _stated("Price")),
    Fault(("energy-sum",), 2, _shift_cents("Energy", 5), _stated("Energy")),
    Fault(("capex-range",), 2, _put(Capex="-250.00")),
    Fault(("enterprise-unique",), 1, _put(**{"@id": str(business.FIRST_ID)})),
)  # fmt: skip

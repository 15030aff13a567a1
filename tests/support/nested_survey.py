"""A made nested survey that obeys its rules, and a judge of a masked one that shares no code with the pipeline."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from lxml import etree

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron">
<pattern><rule context="Household">
<assert id="size" test="count(Person) = Size">The size is the number of persons.</assert>
<assert id="total" test="sum(Person/Income) = Total">The total is the sum of incomes.</assert>
<assert id="head" test="count(Person[Role = 'head']) = 1">There is one head.</assert>
</rule></pattern>
<pattern><rule context="Person">
<assert id="income" test="not(Income) or sum(Wage | Benefit) = Income">Income is the sum of its parts.</assert>
<assert id="wage" test="not(Wage &lt; 0)">Wages are not negative.</assert>
<assert id="benefit" test="not(Benefit &lt; 0)">Benefits are not negative.</assert>
<assert id="child-wage" test="not(Age &lt; 16) or not(Wage &gt; 0)">Children have no wage.</assert>
<assert id="older" test="not(Role = 'child') or ../Person[Role = 'head']/Age &gt;= Age + 15">Older.</assert>
</rule></pattern>
SPELLS</schema>"""
_SPELLS = """<pattern><rule context="Spell">
<assert id="spell" test="Begin &lt;= End">It ends after it begins.</assert>
<assert id="within" test="Pay &lt;= ../Wage">A spell pays no more than all wages.</assert>
</rule></pattern>
"""
_ROLES = ("head", "spouse", "child", "other")
ROLES = {
    "@id": "identifier", "Size": "untouched", "Region": "untouched", "Role": "quasi-identifier",
    "Age": "quasi-identifier",
}  # fmt: skip
"""Of the fields that are not masked."""
SPELL_ROLES = {"Begin": "untouched", "End": "untouched"}


def made(
    folder: Path, seed: int, households: int = 60, *, spells: bool = False, gaps: float = 0.0, mixed: bool = False
) -> tuple[Path, Path]:
    """Write a survey and its rules, and return where they are; `mixed`: persons stand in any order."""
    dice = random.Random(seed)
    units = [_household(dice, at, spells=spells, gaps=gaps, mixed=mixed) for at in range(households)]
    data, rules = folder / "survey.xml", folder / "rules.sch"
    data.write_text(f"<Survey>\n{''.join(units)}</Survey>\n", encoding="utf-8")
    rules.write_text(RULES.replace("SPELLS", _SPELLS if spells else ""), encoding="utf-8")
    return data, rules


def _household(dice: random.Random, at: int, *, spells: bool, gaps: float, mixed: bool) -> str:
    persons, total = [], 0
    base = dice.randint(30, 60)
    for number in range(dice.choice((1, 1, 2, 2, 3))):
        role = ("head", "spouse", "child")[number]
        age = base if role != "child" else dice.randint(0, base - 20)
        wage = dice.randint(1, 400) * 10 if age >= 16 else 0
        benefit = dice.choice((0, 0, dice.randint(1, 90)))
        gone = dice.random() < gaps
        parts = "" if gone else f"<Wage>{wage}</Wage><Benefit>{benefit}</Benefit><Income>{wage + benefit}</Income>"
        total += 0 if gone else wage + benefit
        inner = ""
        for _ in range(dice.choice((0, 1)) if spells and wage and not gone else 0):
            begin = dice.randint(1, 12)
            inner += f"<Spell><Begin>{begin}</Begin><End>{begin + 1}</End><Pay>{wage // 2}</Pay></Spell>"
        persons.append(f"<Person><Role>{role}</Role><Age>{age}</Age>{parts}{inner}</Person>")
    if mixed:
        dice.shuffle(persons)
    own = f"<Size>{len(persons)}</Size><Region>{dice.choice('NS')}</Region><Total>{total}</Total>"
    return f'<Household id="h{at}">{own}{"".join(persons)}</Household>\n'


def parsed(path: Path) -> list[etree._Element]:
    """Return the households of a file."""
    return list(etree.parse(path).getroot())


def aligned(unit: etree._Element) -> list[etree._Element]:
    """Return the persons of a household, the head first: by role, by age, and as they stand there."""
    return sorted(
        unit.findall("Person"),
        key=lambda one: (_ROLES.index(one.findtext("Role") or ""), int(one.findtext("Age") or 0)),
    )


def composition(unit: etree._Element) -> tuple[tuple[str, int], ...]:
    """Return how many spells each person of a household has, in order."""
    return tuple((str(one.tag), len(one.findall("Spell"))) for one in aligned(unit))


def masked_values(unit: etree._Element) -> tuple[str | None, ...]:
    """Return what is masked of a household, position by position."""
    found = [unit.findtext("Total")]
    for person in aligned(unit):
        found += [person.findtext(name) for name in ("Wage", "Benefit", "Income")]
        found += [spell.findtext("Pay") for spell in person.findall("Spell")]
    return tuple(found)


def unmasked_values(unit: etree._Element) -> tuple[object, ...]:
    """Return what is not masked of a household."""
    persons = [
        (
            p.findtext("Role"),
            p.findtext("Age"),
            tuple((s.findtext("Begin"), s.findtext("End")) for s in p.findall("Spell")),
        )
        for p in unit.findall("Person")
    ]
    return unit.findtext("Size"), unit.findtext("Region"), tuple(persons)


def least_alike(units: list[etree._Element]) -> int:
    """Return the fewest households that are alike in composition and in all that is masked."""
    alike = Counter((composition(unit), masked_values(unit)) for unit in units)
    return min(alike.values())


def least_persons_alike(units: list[etree._Element]) -> int:
    """Return the fewest persons that are alike in all that is masked of them and of their household."""
    alike = Counter(
        (unit.findtext("Total"), *(person.findtext(name) for name in ("Wage", "Benefit", "Income")))
        for unit in units
        for person in unit.findall("Person")
    )
    return min(alike.values())


def least_alone_alike(units: list[etree._Element]) -> int:
    """Return the fewest persons that are alike in number of spells and in all that is masked of them alone."""
    alike = Counter(
        (
            *(person.findtext(name) for name in ("Wage", "Benefit", "Income")),
            *(spell.findtext("Pay") for spell in person.findall("Spell")),
        )
        for unit in units
        for person in unit.findall("Person")
    )
    return min(alike.values())


def broken(units: list[etree._Element]) -> list[str]:
    """Return the rules that a file breaks, worked out anew."""
    found = set()
    for unit in units:
        persons = unit.findall("Person")
        head = [p for p in persons if p.findtext("Role") == "head"]
        incomes = [int(p.findtext("Income")) for p in persons if p.find("Income") is not None]
        found |= {"size"} if len(persons) != int(unit.findtext("Size") or -1) else set()
        found |= {"total"} if sum(incomes) != int(unit.findtext("Total") or -1) else set()
        found |= {"head"} if len(head) != 1 else set()
        for person in persons:
            wage, benefit, income = (person.findtext(name) for name in ("Wage", "Benefit", "Income"))
            age = int(person.findtext("Age") or -1)
            if income is not None and int(wage or 0) + int(benefit or 0) != int(income):
                found.add("income")
            found |= {"negative"} if min(int(wage or 0), int(benefit or 0)) < 0 else set()
            found |= {"child-wage"} if age < 16 and int(wage or 0) > 0 else set()
            if person.findtext("Role") == "child" and int(head[0].findtext("Age") or -1) < age + 15:
                found.add("older")
            for spell in person.findall("Spell"):
                found |= {"within"} if int(spell.findtext("Pay") or 0) > int(wage or -1) else set()
    return sorted(found)

"""Pairs with keys: files in which quasi-identifiers are recoded and suppressed beside masked numbers.

Keys go together, so that rules on them (lists, ranges, conditions, orders) are read off the file; motifs of other
pairs tie masked numbers to them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from pairs.builder import Builder
from pairs.generate import Pair, document, leave_out
from pairs.governing import caps, conditioned, exclusion, fitted, if_then, on_number, on_text
from pairs.motifs import (
    balance,
    file_count,
    inequality,
    order,
    pattern,
    ratio_bound,
    total,
    unique_key,
    value_range,
    value_set,
)
from pairs.rules import Between, Compare, OneOf, Raw, always, literal, place
from pairs.spelling import Speller, rulebook
from pairs.values import Gap, Variable, written

MASKED = 4
"""Masked fields, at most."""

REGIONS = ("111", "112", "121", "122", "211", "212", "221", "311")
JOBS = ("agr.crop", "agr.herd", "ind.food", "ind.car", "srv.bank", "srv.shop", "none")


@dataclass(frozen=True, slots=True)
class KeyedPair:
    """A pair, and what is to become of its keys.

    Attributes
    ----------
    pair : Pair
        Its settings have ``recode``, with the name of a file where that is a hierarchy.
    keys : tuple of str
        Their references, without the weight.
    hierarchies : dict of str to str
        Files by name.
    """

    pair: Pair
    keys: tuple[str, ...]
    hierarchies: dict[str, str]

    def write(self, folder: Path) -> tuple[Path, Path, dict[str, Any]]:
        """Write all files; return the data, the rulebook and the settings with paths that are found."""
        data, rules = self.pair.write(folder)
        for name, text in self.hierarchies.items():
            (folder / name).write_text(text, encoding="utf-8")
        recode = {
            field: f"{folder / how}" if how.partition(":")[0] in self.hierarchies else how
            for field, how in self.pair.settings["recode"].items()
        }
        return data, rules, {**self.pair.settings, "recode": recode}


def generate_keyed(seed: int) -> KeyedPair:
    """Make the pair of a seed; the same seed always gives the same bytes."""
    rng = random.Random(f"keyed {seed}")
    n = rng.choice((rng.randint(30, 80), rng.randint(80, 200), rng.randint(200, 400)))
    b = Builder(rng, n, rng.randint(2, 6), max_variables=0)
    keys = _keys(b)
    if b.chance(0.4):
        _weight(b)
    if b.chance(0.2):
        b.add("integer", [Fraction(number) for number in rng.sample(range(1000, 10000), n)], "record-id")
    if b.chance(0.25):
        b.new_text("untouched")
    b.max_variables = len(b.variables) + rng.randint(1, MASKED)
    b.new_number(rng.choice(("integer", "money")), "positive")
    _add_rules(b, MOTIFS_OF_KEYS, rng.randint(0, 4))
    _add_rules(b, MOTIFS_OF_NUMBERS, rng.randint(0 if b.edits else 1, 4))
    leave_out(b)
    for key in keys:
        _leave_out(b, key)
    modern = b.chance(0.4)
    variables = list(b.variables.values())
    rng.shuffle(variables)
    rules = rulebook(rng, Speller(rng, b.variables, modern=modern), rng.sample(b.edits, len(b.edits)))
    settings, hierarchies = _settings(b, variables, keys)
    pair = Pair(
        seed, n, b.k, tuple(variables), tuple(b.edits), document(variables, n), rules, settings, modern
    )  # fmt: skip
    names = tuple(variable.reference for variable in variables if variable.role == "quasi-identifier")
    return KeyedPair(pair, names, hierarchies)


# keys


def _keys(b: Builder) -> list[Variable]:
    """Make two to five keys that go together."""
    ages = [Fraction(max(0, min(97, round(41 + 21 * size)))) for size in b.size]
    makers: list[Callable[[], Variable]] = [
        lambda: b.add("integer", ages, "quasi-identifier"),
        lambda: b.add("text", b.rng.choices(REGIONS, (9, 7, 7, 5, 5, 4, 2, 1), k=b.n), "quasi-identifier"),
        lambda: b.add("text", [_job(b, age) for age in ages], "quasi-identifier"),
        lambda: b.add("integer", [_children(b, age) for age in ages], "quasi-identifier"),
        lambda: b.add("text", b.rng.choices("mf", k=b.n), "quasi-identifier"),
        lambda: b.add("money", [Fraction(b.rng.randint(2, 14) * 25, 4) for _ in b.records], "quasi-identifier"),
        lambda: b.add("integer", [Fraction(b.rng.randint(-6, 6)) for _ in b.records], "quasi-identifier"),
    ]
    made = [make() for make in b.rng.sample(makers, b.rng.randint(2, 5))]
    for key in made:
        key.attribute = b.chance(0.08)
    return made


def _job(b: Builder, age: Fraction) -> str:
    if age < 15:
        return "none"
    return "none" if age >= 70 or b.chance(0.15) else b.rng.choice(JOBS[:-1])


def _children(b: Builder, age: Fraction) -> Fraction:
    return Fraction(0) if age < 18 else Fraction(b.rng.choice((0, 0, 1, 1, 2, 2, 3, 5)))


def _weight(b: Builder) -> None:
    amounts = (100, 250, 400) if b.chance(0.5) else range(100, 900)
    b.add("money", [Fraction(b.rng.choice(amounts), 4) for _ in b.records], "weight")


def _leave_out(b: Builder, key: Variable) -> None:
    """Let values of a key be missing, or rules let them be."""
    key.optional = b.chance(0.85)
    if not b.chance(0.3):
        return
    kinds: list[Gap] = b.rng.sample(["absent", "empty", "code"], b.rng.choice((1, 1, 2)))
    if key.attribute and "absent" in kinds:
        kinds = ["absent"]
    key.code = "??" if key.kind == "text" else ("-9" if min(key.numbers) >= 0 else "NA")
    for record in b.rng.sample(range(b.n), b.rng.randint(1, b.n // 5)):
        key.gaps[record] = b.rng.choice(kinds)


# rules


def _key_of(b: Builder, *kinds: str) -> Variable | None:
    """Choose a key of some kinds."""
    found = [v for v in b.variables.values() if v.role == "quasi-identifier" and v.kind in kinds]
    return b.rng.choice(found) if found else None


def key_range(b: Builder) -> bool:
    """A key within bounds, on the values at the ends or farther out."""
    key = _key_of(b, "integer", "money")
    if key is None:
        return False
    low, high = min(key.numbers) - b.rng.choice((0, 0, 4)), max(key.numbers) + b.rng.choice((0, 3, 20))
    atom = b.rng.choice(
        (Between(key.name, literal(low), literal(high)), Compare(place(key.name), ">=", literal(low)))
    )
    b.rule("range", "values", always(atom))
    return True


def key_list(b: Builder) -> bool:
    """A key that has one of the values of a list, which knows more than the file has."""
    key = _key_of(b, "text", "integer")
    if key is None:
        return False
    values = list(dict.fromkeys(key.values))
    if len(values) > 15:
        return False
    if key.kind == "text":
        b.rule("set", "values", always(OneOf(key.name, tuple(f"'{one}'" for one in (*values, "zz")), text=True)))
    else:
        b.rule("set", "values", always(OneOf(key.name, tuple(map(written, values)), text=False)))
    return True


def key_condition(b: Builder) -> bool:
    """What one key is where another has a value, or lies beyond a bound."""
    one, other = _key_of(b, "text", "integer"), _key_of(b, "text", "integer", "money")
    if one is None or other is None or one is other:
        return False
    wanted = b.rng.randint(1, b.n // 2)
    found = on_text(b, one, wanted) if one.kind == "text" else on_number(b, one, min(wanted, b.n - 2))
    if found is None:
        return False
    condition, mask = found
    inside = [value for value, applies in zip(other.values, mask, strict=True) if applies]
    if other.kind == "text":
        values = tuple(dict.fromkeys(f"'{value}'" for value in inside))
        if len(values) == len(set(other.values)):
            return False
        b.rule("combination", "governing", always(OneOf(other.name, values, text=True)), condition)
        return True
    numbers = [value for value in inside if isinstance(value, Fraction)]
    end, op = b.rng.choice(((min(numbers), ">="), (max(numbers), "<=")))
    b.rule("if-then", "governing", always(Compare(place(other.name), op, literal(end))), condition)  # type: ignore[arg-type]
    return True


def key_order(b: Builder) -> bool:
    """One key that is at most another one and a number."""
    one, other = _key_of(b, "integer"), _key_of(b, "integer")
    if one is None or other is None or one is other:
        return False
    most = max(a - c for a, c in zip(one.numbers, other.numbers, strict=True))
    sign = f"+ {literal(most)}" if most >= 0 else f"- {literal(-most)}"
    b.rule("order", "linear", always(Compare(place(one.name), "<=", f"{place(other.name)} {sign}")))
    return True


def key_present(b: Builder) -> bool:
    """A key that must be there."""
    key = _key_of(b, "text", "integer", "money")
    if key is None or not b.chance(0.3):
        return False
    name = place(key.name)
    # in the records that lack it the rule is spelled with a guard, as all rules are
    b.rule("pattern", "values", always(Raw(f"string-length({name}) > 0", f"string-length({name}) > 0")))
    return True


MOTIFS_OF_KEYS = (key_range, key_list, key_condition, key_condition, key_order, key_present)
MOTIFS_OF_NUMBERS = (
    conditioned, conditioned, if_then, if_then, if_then, caps, fitted, exclusion,
    total, total, balance, order, inequality, ratio_bound, value_range, value_set, pattern, unique_key, file_count,
)  # fmt: skip


def _add_rules(b: Builder, motifs: Sequence[Callable[[Builder], bool]], wanted: int) -> None:
    goal = len(b.edits) + wanted
    for _ in range(30):
        if len(b.edits) >= goal:
            return
        b.rng.choice(motifs)(b)


# settings


def _settings(
    b: Builder, variables: Sequence[Variable], keys: Sequence[Variable]
) -> tuple[dict[str, Any], dict[str, str]]:
    recode, hierarchies = {}, {}
    treated = b.rng.choice(("recode", "suppress", "both", "both"))
    if treated != "suppress":
        many = [key for key in keys if len(set(key.values)) > 20]
        for key in {key.name: key for key in (*b.rng.sample(keys, b.rng.randint(1, len(keys))), *many)}.values():
            recode[key.reference], files = _recoding(b, key)
            hierarchies |= files
    settings = {
        "k": b.k,
        "order": "keep",
        "roles": {v.reference: v.role for v in variables if not v.masked or v.kind == "text"},
        "missing": {v.reference: [v.code] for v in variables if "code" in v.gaps.values()},
        "numeric": [v.reference for v in variables if v.masked and v.kind != "text"],
        "grouping": "all" if b.chance(0.15) else "rules",
        "recode": recode,
    }
    if recode and b.chance(0.85):
        settings["allow_lost"] = ["*"]
    if treated != "recode":
        settings["key_k"] = b.rng.choice((2, 3, 3, 5))
        wishes: dict[str, Any] = {}
        if b.chance(0.3):
            wishes["subsets"] = min(b.rng.randint(1, 3), len(keys))  # more is refused
        if b.chance(0.2):
            wishes["missing_matches"] = True
        if b.chance(0.3):
            wishes["importance"] = {b.rng.choice(keys).reference: b.rng.choice((0.5, 2, 10))}
        settings["keys"] = wishes
    return settings, hierarchies


def _recoding(b: Builder, key: Variable) -> tuple[str, dict[str, str]]:
    if key.kind == "text" or (len(set(key.numbers)) < 30 and b.chance(0.3)):
        name = f"{key.name}.csv"
        rows = _tree([written(value, 2 if key.kind == "money" and key.padded else 0) for value in key.values])
        separator = b.rng.choice(";,\t")
        level = b.rng.randint(1, len(rows[0]) - 1)
        return f"{name}:{level}", {name: "".join(f"{separator.join(row)}\n" for row in rows)}
    low, high = min(key.numbers), max(key.numbers)
    span = high - low
    middle = sorted(key.numbers)
    ways = [
        f"width:{b.rng.choice((5, 10, 20))}",
        f"breaks:{literal(low)},{literal(low + max(1, span // 3))},{literal(low + max(2, 2 * span // 3))}",
        f"round:{b.rng.choice(('5', '10', '0.5'))}",
    ]
    bottom, top = middle[len(middle) // 6], middle[-1 - len(middle) // 6]
    if bottom < top:
        statistic = b.rng.choice(("", ":median", ":mean"))
        ways += [f"top:{literal(top)}{statistic}", f"bottom:{literal(bottom)}{statistic}",
                 f"bottom:{literal(bottom)},top:{literal(top)}{statistic}"]  # fmt: skip
    return b.rng.choice(ways), {}


def _tree(values: Sequence[str]) -> list[tuple[str, ...]]:
    """Two levels and the root, by the first characters of codes, or by the quarters of numbers."""
    known = list(dict.fromkeys(values))
    if all(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value) for value in known) and not set(known) <= set(REGIONS):
        ranked = sorted(known, key=Fraction)
        quarters = [at * 4 // len(ranked) for at in range(len(ranked))]
        return [(one, f"c{at}", f"d{at // 2}", "*") for one, at in zip(ranked, quarters, strict=True)]
    return [(one, one[:2], one[:1], "*") for one in sorted(known)]

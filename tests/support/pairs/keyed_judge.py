"""Judge a file with treated keys without masktron: classes read anew from settings, combinations by counting."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
from lxml import etree

from pairs.keyed import KeyedPair
from pairs.spelling import SCH
from pairs.values import written

type Record = Mapping[str, str | None]


def faults_of_keys(keyed: KeyedPair, before: Sequence[Record], after: Sequence[Record], left: int) -> list[str]:
    """Say what is wrong with fields that are not masked.

    Parameters
    ----------
    keyed : KeyedPair
    before, after : sequence of records
        In the same order.
    left : int
        Cells that the result counts as suppressed.
    """
    pair, settings, found = keyed.pair, keyed.pair.settings, []
    gone = 0
    for name in (variable.reference for variable in pair.variables if not variable.masked):
        expected = recoded(keyed, name, before)
        off = [at for at, one in enumerate(after) if one.get(name) != expected[at]]
        suppressed = [at for at in off if after[at].get(name) is None]
        gone += len(suppressed)
        if len(suppressed) < len(off):
            found.append(f"{name} is none of its class in {len(off) - len(suppressed)} records")
        if suppressed and "key_k" not in settings:
            found.append(f"{name} is missing, and nothing is suppressed")
        if name not in keyed.keys:
            lonely = [at for at in suppressed if not any(missing(before, after, at, key) for key in keyed.keys)]
            found += [f"{name} is no key, and missing beside all keys in {len(lonely)} records"] if lonely else []
    if gone != left:
        found.append(f"{gone} cells are suppressed, and {left} counted")
    if "key_k" in settings:
        found += _combinations(keyed, after)
    return found


def missing(before: Sequence[Record], after: Sequence[Record], at: int, name: str) -> bool:
    """Tell whether a cell that was there is not any more."""
    return before[at].get(name) is not None and after[at].get(name) is None


def _combinations(keyed: KeyedPair, after: Sequence[Record]) -> list[str]:
    """Name the keys of which fewer than k records share a combination."""
    settings = keyed.pair.settings
    size = min(settings["keys"].get("subsets", len(keyed.keys)), len(keyed.keys))
    matches = settings["keys"].get("missing_matches", False)
    found = []
    for names in combinations(keyed.keys, size):
        least = min(sharing(after, names, {} if matches else None))
        if least < settings["key_k"]:
            found.append(f"{least} records share {', '.join(names)}")
    return found


def sharing(records: Sequence[Record], names: Sequence[str], codes: Mapping[str, Sequence[str]] | None) -> list[int]:
    """Count, for each record, the records with its combination.

    Parameters
    ----------
    codes : mapping of str to sequence of str, or None
        A missing value matches every value, also where it is empty or one of these codes. None: what is absent is a
        value of its own, and so are what is empty and codes.
    """
    rows = [tuple(record.get(name) for name in names) for record in records]
    if codes is None:
        count = Counter(rows)
        return [count[row] for row in rows]
    alike = np.ones((len(rows), len(rows)), dtype=bool)
    for at, name in enumerate(names):
        own = np.array(["" if row[at] is None or row[at] in codes.get(name, ()) else row[at] for row in rows])
        gap = own == ""
        alike &= (own[:, None] == own[None, :]) | gap[:, None] | gap[None, :]
    return [int(count) for count in alike.sum(axis=1)]


# recoding


def recoded(keyed: KeyedPair, name: str, before: Sequence[Record]) -> list[str | None]:
    """Read what settings say of a field, and do it to the original."""
    settings = keyed.pair.settings
    how, codes = settings["recode"].get(name), settings["missing"].get(name, ())
    texts = [record.get(name) for record in before]
    if how is None:
        return texts
    there = [text for text in texts if text and text not in codes]
    kind, _, rest = how.partition(":")
    if kind in keyed.hierarchies:
        rows = [re.split("[;,\t]", line) for line in keyed.hierarchies[kind].splitlines()]
        of: Callable[[str], str] = {row[0]: row[int(rest)] for row in rows}.__getitem__
    elif kind in ("width", "breaks"):
        of = _interval(kind, rest, there)
    elif kind == "round":
        places = max(_places(text) for text in [*there, rest])
        base = Fraction(rest)
        # Python rounds half to even
        of = lambda text: written(round(Fraction(text) / base) * base, places)  # noqa: E731
    else:
        of = _tail(keyed, how, [(text, record) for text, record in zip(texts, before, strict=True) if text in there])
    return [of(text) if text and text not in codes else text for text in texts]


def _places(text: str) -> int:
    return len(text.partition(".")[2])


def _interval(kind: str, rest: str, there: Sequence[str]) -> Callable[[str], str]:
    numbers = [Fraction(text) for text in there]
    if kind == "width":
        width = Fraction(rest)
        ends = [width * step for step in range(min(numbers) // width, max(numbers) // width + 2)]
    else:
        ends = [Fraction(one) for one in rest.split(",")]
    whole = not any(map(_places, there)) and all(end.denominator == 1 for end in ends)
    places = max(_places(written(end)) for end in ends)

    def of(text: str) -> str:
        low = max(end for end in ends if end <= Fraction(text))
        above = [end for end in ends if end > low]
        if not above:
            return f"{written(low, places)}+"
        if not whole:
            return f"{written(low, places)} to under {written(above[0], places)}"
        last = above[0] - 1
        return f"{low}" if low == last else f"{low}{'-' if ends[0] >= 0 else ' to '}{last}"

    return of


def _tail(keyed: KeyedPair, how: str, there: Sequence[tuple[str | None, Record]]) -> Callable[[str], str]:
    weight = next((v.reference for v in keyed.pair.variables if v.role == "weight"), None)
    pairs = [
        (Fraction(text or ""), Fraction(1) if weight is None else Fraction(record[weight] or 0))
        for text, record in there
    ]
    places = max(_places(text or "") for text, _ in there)
    sides = {}
    for part in how.split(","):
        side, bound, *statistic = part.split(":")
        limit = Fraction(bound)
        inside = [(x, w) for x, w in pairs if (x <= limit if side == "bottom" else x >= limit)]
        mean = statistic != ["median"]
        sides[side] = limit, _decimal(_mean(inside) if mean else _median(inside), places)

    def of(text: str) -> str:
        number = Fraction(text)
        if "bottom" in sides and number <= sides["bottom"][0]:
            return sides["bottom"][1]
        return sides["top"][1] if "top" in sides and number >= sides["top"][0] else text

    return of


def _mean(pairs: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    return sum((x * w for x, w in pairs), Fraction(0)) / sum(w for _, w in pairs)


def _median(pairs: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """Return the middle of all numbers m such that neither side of m has more than half of the weight."""
    half = sum(w for _, w in pairs) / 2
    middle = [
        x for x, _ in pairs if sum(w for y, w in pairs if y < x) <= half and sum(w for y, w in pairs if y > x) <= half
    ]
    return (min(middle) + max(middle)) / 2


def _decimal(number: Fraction, places: int) -> str:
    return written(Fraction(round(number * 10**places), 10**places), places)


# rules


def asked_as_before(rules: Path, recoded_fields: Sequence[str], out: Path) -> set[str]:
    """Write the patterns of a rulebook that read no recoded field; return the ids of their checks."""
    tree = etree.parse(str(rules))
    root, kept = tree.getroot(), set()
    for pattern in list(root.iter(f"{{{SCH}}}pattern")):
        texts = [text for element in pattern.iter() for text in (str(value) for value in element.attrib.values())]
        names = {name for text in texts for name in re.findall(r"@?\b[A-Z]\w*", text)}
        if names.intersection(recoded_fields):
            root.remove(pattern)
        else:
            kept |= ids_in(pattern)
    tree.write(str(out))
    return kept


def ids_in(element: etree._Element) -> set[str]:
    """Return the ids of checks."""
    return {check.get("id", "") for tag in ("assert", "report") for check in element.iter(f"{{{SCH}}}{tag}")}


def ids_of(rules: Path) -> set[str]:
    """Return the ids of the checks of a rulebook."""
    return ids_in(etree.parse(str(rules)).getroot())

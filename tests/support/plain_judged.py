"""What masktron's judges say of rules in plain text, beside what an interpreter of their trees says.

``python -m plain_judged FIRST LAST`` from ``tests/support`` compares the batches of seeds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import numpy as np
from lxml import etree

from masktron.errors import RulebookError
from masktron.judge import exact
from masktron.judge.findings import Evaluation, Verdict
from masktron.judge.request import EvaluationRequest
from masktron.judge.tiered import evaluate
from masktron.rulebook.plain.compiled import compiled
from masktron.rulebook.plain.conditions import Records
from masktron.rulebook.plain.grammar import parse
from masktron.rulebook.plain.tree import Node, PlainRule, PlainRules
from masktron.rulebook.schema import Pattern, Rulebook
from masktron.sources.xml.plain import PlainRecords, survey_plain
from plain_generator import CODES, PATHS, Maker, row
from plain_interpreter import Interpreter, Outcome, Row, kinds_of, of_whole_file

_MARKS = {Verdict.NOT_FIRED: ".", Verdict.HOLDS: "h", Verdict.FAILS: "F", Verdict.ERROR: "E"}
_TABLE = np.array([_MARKS[verdict] for verdict in sorted(_MARKS)])


@dataclass
class Comparison:
    """What came of batches.

    Attributes
    ----------
    rules : Counter
        By the judge that was asked.
    outcomes : Counter
        Of the interpreter: how often rules hold, fail and are not decided.
    refused : int
        Rules that cannot be written in XPath.
    differences : list of str
    """

    rules: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    refused: int = 0
    differences: list[str] = field(default_factory=list)


def compare(seeds: Iterable[int], folder: Path, rules: int = 100, records: int = 100) -> Comparison:
    """Compare what judges and the interpreter say of random rules on random records."""
    total = Comparison()
    for seed in seeds:
        random = Random(f"plain {seed}")
        loose = 0.3 if seed % 6 == 5 else 0.0
        maker = Maker(random, loose)
        made = [maker.rule() for _ in range(rules)]
        rows = [row(random) for _ in range(records)]
        _read_back(made, total)
        # a batch that mixes kinds is cut small, so that rules do not decide for all others what fields are
        size = 20 if loose else rules
        for first in range(0, len(made), size):
            _compare(seed, made[first : first + size], rows, folder, random, total)
    return total


def _read_back(made: Sequence[tuple[Node, str]], total: Comparison) -> None:
    for node, text in made:
        if (found := parse(text)) != node:
            total.differences.append(f"{text!r} is read as {found}, and not as {node}")


def _compare(
    seed: int, made: Sequence[tuple[Node, str]], rows: Sequence[Row], folder: Path, random: Random, total: Comparison
) -> None:
    known = Records(fields=PATHS, codes=CODES)
    strict = random.random() < 0.2
    plain = tuple(PlainRule(f"r{at}", parse(text), at + 1, text) for at, (_, text) in enumerate(made))
    plain = _without_refused(plain, known)
    total.refused += len(made) - len(plain)
    where = folder / f"{seed}.xml"
    book = compiled(PlainRules(plain, missing_fails=strict), (known,), where.with_suffix(".rules"))
    interpreter = Interpreter(rows, CODES, kinds_of((rule.node for rule in plain), {}))
    where.write_bytes(document(rows))
    _judge(seed, plain, book, interpreter, where, total)


def _without_refused(plain: Sequence[PlainRule], known: Records) -> tuple[PlainRule, ...]:
    """Leave out rules that cannot be written, as fields are by all rules together what they are."""
    kept = tuple(plain)
    while True:
        try:
            compiled(PlainRules(kept), (known,), Path("rules"))
        except RulebookError as error:
            assert error.problem is not None
            each = error.problem.references.get("problems", (error.problem,))
            names = {one.place.rule.name for one in each}
            kept = tuple(rule for rule in kept if rule.name not in names)
        else:
            return kept


def document(rows: Sequence[Row]) -> bytes:
    """Return records as XML."""
    root = etree.Element("Data")
    for one in rows:
        record = etree.SubElement(root, "Record")
        for name, path in PATHS.items():
            if (text := one[name]) is not None:
                etree.SubElement(record, path).text = text
    return etree.tostring(root)


def _judge(
    seed: int,
    some: Sequence[PlainRule],
    compiled_: Rulebook,
    interpreter: Interpreter,
    where: Path,
    total: Comparison,
) -> None:
    strict = not compiled_.checks[0].decided
    book = _with_decisions(compiled_)
    expected = [*_expected(some, interpreter, strict, total)]
    request = _request(where, book)
    judges = {
        "columns": lambda: evaluate(request),
        "engine": lambda: exact.evaluate(request),
        "saxon": lambda: exact.evaluate(replace(request, engine="saxon")),
    }
    for judge, ask in judges.items():
        said = _said(ask())
        total.rules.update(f"{judge}, XPath 2" if one.version == "2.0" else judge for one in compiled_.patterns)
        for at, (wanted, told) in enumerate(zip(expected, said, strict=True)):
            if wanted == told:
                continue
            one = some[at // (1 if strict else 2)]
            rows = [k for k, (x, y) in enumerate(zip(wanted[1], told[1], strict=True)) if x != y][:3]
            total.differences.append(
                f"{seed}, {judge}: {one.written!r} "
                f"{'strict' if strict else 'decided' if at % 2 else 'fails'}: {wanted[0]}, judged {told[0]}; "
                f"rows {rows} {[wanted[1][k] + told[1][k] for k in rows]} {[interpreter.rows[k] for k in rows[:1]]} "
                f"by {book.checks[at].test[:600]!r}"
            )


def _with_decisions(book: Rulebook) -> Rulebook:
    """Return rules of which each that may be undecided is followed by one that fails where it is."""
    patterns: list[Pattern] = []
    for pattern in book.patterns:
        ((rule, (check,)),) = ((one, one.checks) for one in pattern.rules)
        for test in filter(None, (check.test, check.decided)):
            own = replace(check, id=f"{check.id}.{len(patterns)}", index=len(patterns), test=test)
            patterns.append(replace(pattern, rules=(replace(rule, checks=(own,)),)))
    return replace(book, patterns=tuple(patterns))


def _expected(
    some: Sequence[PlainRule], interpreter: Interpreter, strict: bool, total: Comparison
) -> Iterable[tuple[tuple[int, int], str]]:
    for one in some:
        found = interpreter.outcomes(one.node)
        total.outcomes.update(found)
        whole = of_whole_file(one.node)
        yield _counted(found, (False, None) if strict else (False,), len(interpreter.rows), whole)
        if not strict:
            yield _counted(found, (None,), len(interpreter.rows), whole)


def _counted(
    found: Sequence[Outcome], failing: tuple[Outcome, ...], records: int, whole: bool
) -> tuple[tuple[int, int], str]:
    marks = ["F" if one in failing else "h" for one in found]
    return (len(found), marks.count("F")), "." * records if whole else "".join(marks)


def _request(where: Path, book: Rulebook) -> EvaluationRequest:
    surveyed = survey_plain(where, record="Record")
    assert surveyed is not None
    layout, _, records = surveyed
    return EvaluationRequest(where, book, layout, PlainRecords(where, layout, records))


def _said(done: Evaluation) -> list[tuple[tuple[int, int], str]]:
    return [
        ((int(done.fired[k]), int(done.failed[k] + done.errors[k])), "".join(_TABLE[done.judged[:, k]]))
        for k in range(done.judged.shape[1])
    ]


def main() -> None:
    """Compare, and print."""
    first, last = map(int, sys.argv[1:3])
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        total = compare(range(first, last), Path(folder))
    print(*total.differences, sep="\n")
    print(
        f"{total.rules}; {total.outcomes}; {total.refused} refused; {len(total.differences)} differences; "
        f"{time.monotonic() - begun:.0f} s"
    )


if __name__ == "__main__":
    main()

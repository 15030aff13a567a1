"""CPU seconds of the first and of each further document under a made-up rulebook of some 1,000 checks.

Documents are invoices of some 200 elements. CPU seconds are those of this process and of the engines that it starts.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import masktron

SCHEMATRON = "http://purl.oclc.org/dsdl/schematron"
PARTS = ("Party", "Address", "Tax", "Payment", "Delivery")
TESTS_1 = (
    "ID", "not(Name) or string-length(Name) &lt; {n}", "contains(' DE FR IT ES ', concat(' ', $code, ' '))",
    "number(Value) &gt;= -{n}", "string-length(Date) = 10",
)  # fmt: skip
TESTS_2 = (
    *TESTS_1, "every $d in Date satisfies $d castable as xs:date", "matches(ID, '^[A-Za-z]{{1,{n}}}$')",
    "if (Code = 'DE') then string-length(Name) lt {n} else true()",
)  # fmt: skip


def rulebook(binding: str, checks: int) -> str:
    """Return a rulebook of so many checks or some more, no two alike."""
    tests = TESTS_1 if binding == "xslt" else TESTS_2
    patterns: list[str] = []
    count = 0
    while count < checks:
        rules = []
        for part in PARTS:
            asserts = []
            for test in tests:
                count += 1
                asserts.append(f'<assert id="R{count}" test="{test.format(n=100 + count)}">wrong</assert>')
            let = '<let name="code" value="normalize-space(Code)"/>'
            rules.append(f'<rule context="{part}">{let}{"".join(asserts)}</rule>')
        patterns.append(f"<pattern>{''.join(rules)}</pattern>")
    return f'<schema xmlns="{SCHEMATRON}" queryBinding="{binding}">{"".join(patterns)}</schema>'


def invoice(number: int) -> str:
    """Return a document."""
    parts = "".join(
        f"<{part}><ID>{part}</ID><Name>n</Name><Code>DE</Code><Date>2026-01-01</Date><Value>{at}</Value></{part}>"
        for at, part in enumerate(PARTS)
    )
    line = "<Line><ID>1</ID><Quantity>2</Quantity><Price>3</Price><Item><Name>x</Name><Code>y</Code></Item></Line>"
    return f"<Invoice><ID>{number}</ID>{parts}{line * 24}</Invoice>"


def spent() -> float:
    """Return the CPU seconds of this process and of those that it has started, running or not."""
    times, tick = os.times(), os.sysconf("SC_CLK_TCK")
    total = times.user + times.system + times.children_user + times.children_system
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            values = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(values[1]) == os.getpid():
            total += (int(values[11]) + int(values[12])) / tick
    return total


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=1000)
    given = parser.parse_args()
    print("| binding | first document | second | third |\n| --- | --- | --- | --- |")
    for binding in ("xslt", "xslt2"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            rules = folder / "book.sch"
            rules.write_text(rulebook(binding, given.checks))
            seconds = []
            for number in range(3):
                document = folder / f"{number}.xml"
                document.write_text(invoice(number))
                before = spent()
                result = masktron.validate([document], rules)
                seconds.append(spent() - before)
                if not result.valid:
                    raise RuntimeError(f"{document.name} is not valid")
        print(f"| {binding} | {' | '.join(f'{one:.2f} s' for one in seconds)} |", flush=True)


if __name__ == "__main__":
    main()

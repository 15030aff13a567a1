"""Rules across records: CPU seconds of `masktron validate` for each form, and how they grow: `python across.py`.

A form that grows as n log n has an exponent near 1. What needs the whole document is not measured here.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

from measure import exponent, process

FORMS: Mapping[str, tuple[str, ...]] = {
    "": (
        "count(//Record[id = current()/id]) = 1",
        "not(preceding-sibling::Record[1]/V1 = -1)",
        "not(preceding-sibling::Record[G = current()/G][1]/V1 = -1)",
        "count(//Record[V1 > current()/V1]) >= 0",
        "count(//Record[G = current()/G and V1 > current()/V1]) >= 0",
        "sum(preceding-sibling::Record/V2) >= 0",
        "//Record[position() = 2]/V1 > 0",
    ),
    "xslt2": (
        "not(following-sibling::Record[1]/V1 = '-1')",
        "count(//Record[number(V1) > number(current()/V1)]) >= 0",
        "sum(preceding-sibling::Record/V2) >= 0",
        "some $r in //Record satisfies $r/id = V3",
        "every $r in //Record satisfies $r/id != '-1'",
    ),
}


def write_records(path: Path, records: int) -> Path:
    """Write records with a number, a class of some five records, and three numbers."""
    draw = random.Random(7)  # noqa: S311 -- no secret
    with path.open("w", encoding="utf-8") as stream:
        stream.write("<Records>\n")
        for at in range(records):
            stream.write(
                f"<Record><id>{at + 1}</id><G>{at % (records // 5 + 1)}</G><V1>{draw.randint(1, 99999)}</V1>"
                f"<V2>{draw.randint(1, 9999) / 100}</V2><V3>{draw.randint(1, records)}</V3></Record>\n"
            )
        stream.write("</Records>\n")
    return path


def write_rule(path: Path, binding: str, test: str) -> Path:
    """Write a rulebook of one rule."""
    declared = f' queryBinding="{binding}"' if binding else ""
    path.write_text(
        f'<schema xmlns="http://purl.oclc.org/dsdl/schematron"{declared}><pattern><rule context="Record">'
        f"<assert test={quoteattr(test)}>{path.stem}</assert></rule></pattern></schema>",
        encoding="utf-8",
    )
    return path


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs=2, default=(100_000, 1_000_000), metavar="N")
    sizes: tuple[int, int] = tuple(parser.parse_args().records)
    with tempfile.TemporaryDirectory() as folder:
        files = [write_records(Path(folder) / f"{size}.xml", size) for size in sizes]
        print(f"| rule | {' | '.join(f'{size:,} records' for size in sizes)} | exponent |\n| --- | --- | --- | --- |")
        for binding, tests in FORMS.items():
            for test in tests:
                rules = write_rule(Path(folder) / "rule.sch", binding, test)
                runs = [
                    process(
                        [sys.executable, "-m", "masktron", "validate", file, "--rules", rules],
                        Path(folder) / "out.txt",
                        allowed=(0, 1),
                        repeats=1,
                    )
                    for file in files
                ]
                shown = " | ".join(f"{run.cpu:.1f} s, {run.megabytes / 1000:.1f} GB" for run in runs)
                grown = exponent(sizes, [run.cpu for run in runs])
                print(f"| `{test}`{' (XPath 2)' * bool(binding)} | {shown} | {grown:.2f} |", flush=True)


if __name__ == "__main__":
    main()

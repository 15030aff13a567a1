"""What grows with the number of rules or records: CPU seconds of `validate`, in a process for each figure.

Rulebooks of every shape of `tests/support/cost_shapes.py` with 100, 300 and 1,000 rules on 50 records; rules across
records on files of 2,000 to 8,000 records, flat and not. A figure that takes longer than a minute of CPU ends there.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from cost_shapes import FILES, RULES, records

_MOST = 60
"""Seconds of CPU after which a figure is given up."""
_RUN = """
import sys, time
from pathlib import Path
from masktron.config import Config
from masktron.jobs.validate import ValidateRequest, run_validate
began = time.process_time()
run_validate(Path(sys.argv[1]), ValidateRequest(Path(sys.argv[2]), config=Config(record="R")))
print(time.process_time() - began)
"""
ACROSS = {
    "unique key": "count(//R[ID = current()/ID]) = 1",
    "size of a class": "count(../R[G = current()/G]) > 0",
    "class under a condition": "count(../R[G = current()/G and A > 3]) > 0 or A",
    "no earlier key": "not(ID = preceding-sibling::R/ID)",
    "no earlier key, by predicate": "not(preceding-sibling::R[ID = current()/ID])",
    "total": "sum(//R/A) > 0",
}
"""Tests of rules across records."""


def seconds(data: Path, rules: Path) -> str:
    """Return what validation takes, or that it takes too long."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (_MOST, _MOST))

    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(data), str(rules)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=limited,
        check=False,
    )
    return f"{float(done.stdout):.2f}" if done.returncode == 0 else f"> {_MOST}"


def rulebook(test: str, binding: str) -> str:
    """Return a rulebook with one rule."""
    escaped = test.replace("<", "&lt;").replace(">", "&gt;")
    return (
        f'<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="{binding}"><pattern>'
        f'<rule context="R"><assert id="a" test="{escaped}">no</assert></rule></pattern></schema>'
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", default="100,300,1000", help="numbers of rules")
    parser.add_argument("--records", default="2000,4000,8000", help="numbers of records")
    parser.add_argument("--only", default="", help="a part of the name of a shape")
    given = parser.parse_args()
    many, sizes = given.rules.split(","), given.records.split(",")
    with tempfile.TemporaryDirectory() as folder:
        data, rules = Path(folder) / "data.xml", Path(folder) / "rules.sch"
        data.write_bytes(records(50))
        print(f"| rules on 50 records | {' | '.join(many)} |\n| --- |{' --- |' * len(many)}")
        for name, make in RULES.items():
            if given.only in name:
                found = []
                for size in many:
                    rules.write_text(make(int(size)))
                    found.append(seconds(data, rules))
                print(f"| {name} | {' | '.join(found)} |", flush=True)
        print(f"\n| one rule, records | file | XPath | {' | '.join(sizes)} |")
        print(f"| --- | --- | --- |{' --- |' * len(sizes)}")
        for name, test in ACROSS.items():
            for shape in ("flat", "one record repeats a field"):
                for binding, version in (("xslt", "1.0"), ("xslt2", "2.0")):
                    if given.only not in name:
                        continue
                    rules.write_text(rulebook(test, binding))
                    found = []
                    for size in sizes:
                        data.write_bytes(FILES[shape](int(size)))
                        found.append(seconds(data, rules))
                    print(f"| {name} | {shape} | {version} | {' | '.join(found)} |", flush=True)


if __name__ == "__main__":
    main()

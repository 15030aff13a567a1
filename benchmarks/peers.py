"""What validation is compared with, each in a process of its own: ``python peers.py NAME FILE ...``, JSON out.

Seconds are those of the work, without the start of the interpreter and imports.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.parsers import expat

from data import FIELDS

TESTS = {
    "ec-lc": "1.0 * number(V9) + 1.0 * number(V10) = number(V14)",
    "ec-pv": "0 <= number(V3) and number(V3) <= 7500",
    "ec-gv": "not(number(V8) < 1115) or (number(V13) <= number(V12))",
    "ec-order": "number(V3) <= number(V7)",
}
"""Four rules, which mean the same in XPath 1.0 and 2.0 and to every engine."""


def bare(path: Path) -> dict[str, object]:
    """xml2arrow into columns, then expat without handlers: best of three of both, one after the other."""
    import xml2arrow  # noqa: PLC0415

    found: dict[str, object] = {}
    for kind in ("Float64", "Utf8"):
        parser = xml2arrow.XmlToArrowParser(_configuration(kind))
        runs = []
        for _ in range(3):
            start = time.perf_counter()
            records = parser.parse(path)["records"].num_rows
            middle = time.perf_counter()
            _expat(path)
            runs.append((time.perf_counter() - start, middle - start))
        found |= {kind: min(runs)[0], f"{kind} xml2arrow": min(runs)[1], "records": records}
    return found


def _configuration(kind: str) -> str:
    fields = "".join(
        f"      - name: {f}\n        xml_path: /Data/Record/{f}\n        data_type: {kind}\n        nullable: true\n"
        for f in FIELDS
    )
    path = Path(tempfile.mkdtemp()) / "columns.yaml"
    path.write_text(f"tables:\n  - name: records\n    xml_path: /Data\n    levels: []\n    fields:\n{fields}")
    return str(path)


def _expat(path: Path) -> None:
    with path.open("rb") as stream:
        expat.ParserCreate().ParseFile(stream)


def bare_nested(path: Path) -> dict[str, object]:
    """The same of households with persons: best of three; and lxml's iterparse with clearing, once."""
    import xml2arrow  # noqa: PLC0415
    from lxml import etree  # noqa: PLC0415

    parser = xml2arrow.XmlToArrowParser(_nested_configuration())
    runs = []
    for _ in range(3):
        start, busy = time.perf_counter(), time.process_time()
        parser.parse(path)
        _expat(path)
        runs.append((time.perf_counter() - start, time.process_time() - busy))
    start = time.perf_counter()
    for _, household in etree.iterparse(path, tag="Household"):
        household.clear()
        del household.getparent()[: household.getparent().index(household)]
    seconds, busy = min(runs)
    return {"seconds": seconds, "cpu": busy, "iterparse": time.perf_counter() - start}


def _nested_configuration() -> str:
    levels = {
        "/Survey": {"@id": "Utf8", "Size": "Float64", "Region": "Utf8", "Total": "Float64"},
        "/Survey/Household": dict.fromkeys(("@nr", "Age", "Wage", "Benefit", "Income"), "Float64")
        | dict.fromkeys(("Role", "Sex"), "Utf8"),
    }
    text = "tables:\n"
    for at, (around, element) in enumerate(zip(levels, ("Household", "Person"), strict=True)):
        text += f"  - name: level{at}\n    xml_path: {around}\n    levels: [{'household' * at}]\n    fields:\n"
        text += "".join(
            f"      - name: '{name}'\n        xml_path: {around}/{element}/{name}\n        data_type: {kind}\n"
            "        nullable: true\n"
            for name, kind in levels[around].items()
        )
    path = Path(tempfile.mkdtemp()) / "levels.yaml"
    path.write_text(text)
    return str(path)


def libxml2(path: Path) -> dict[str, object]:
    """libxml2's compiled XPath, record by record, on a tree of the whole file."""
    from lxml import etree  # noqa: PLC0415

    start = time.perf_counter()
    root = etree.parse(str(path)).getroot()
    parsed = time.perf_counter()
    compiled = {name: etree.XPath(f"boolean({test})") for name, test in TESTS.items()}
    failures = dict.fromkeys(TESTS, 0)
    for record in root:
        for name, holds in compiled.items():
            failures[name] += not holds(record)
    end = time.perf_counter()
    return {"seconds": end - start, "parsing": parsed - start, "records": len(root), "failures": failures}


def saxon(path: Path) -> dict[str, object]:
    """Saxon's XPath over chunks of 5,000 records."""
    from saxonche import PySaxonProcessor  # noqa: PLC0415

    failures = dict.fromkeys(TESTS, 0)
    records = 0
    with PySaxonProcessor(license=False) as processor:
        xpath = processor.new_xpath_processor()
        start = time.perf_counter()
        for count, text in _chunks(path, 5000):
            xpath.set_context(xdm_item=processor.parse_xml(xml_text=text))
            for name, test in TESTS.items():
                failures[name] += (
                    xpath.evaluate_single(f"count(//Record[not({test})])").get_atomic_value().integer_value
                )
            records += count
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "records": records, "failures": failures}


def _chunks(path: Path, size: int) -> Iterator[tuple[int, str]]:
    parts = path.read_text(encoding="utf-8").split("</Record>")
    first = parts[0].index("<Record")
    head, tail = parts[0][parts[0].index("<Data") : first], parts[-1]
    parts[0] = parts[0][first:]
    for at in range(0, len(parts) - 1, size):
        chosen = parts[at : min(at + size, len(parts) - 1)]
        yield len(chosen), f"{head}{''.join(f'{part}</Record>' for part in chosen)}{tail}"


def pyschematron(path: Path, rules: Path) -> dict[str, object]:
    """Return what pyschematron takes in chunks, of the size that suits it best."""
    from lxml import etree  # noqa: PLC0415
    from pyschematron import create_validator  # noqa: PLC0415

    validator = create_validator(rules)
    best: dict[str, object] = {}
    for size in (10, 25, 40):
        chunks = [(count, etree.ElementTree(etree.fromstring(text))) for count, text in _chunks(path, size)]
        start = time.perf_counter()
        results = [validator.validate(chunk) for _, chunk in chunks]
        valid = [result.is_valid() for result in results]
        seconds = time.perf_counter() - start
        if not best or seconds < best["seconds"]:  # type: ignore[operator]
            failed = [one.get("id") for r in results for one in r.get_svrl().iter("{*}failed-assert")]
            best = {"seconds": seconds, "records": sum(count for count, _ in chunks), "chunk": size}
            best |= {"failures": {name: failed.count(name) for name in TESTS}, "valid": all(valid)}
    return best


def masktron(path: Path, rules: Path, small: Path) -> dict[str, object]:
    """The interface in Python, after a small file that everything is loaded and compiled for."""
    import masktron as package  # noqa: PLC0415

    package.validate(small, rules)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        result = package.validate(path, rules)
        seconds.append(time.perf_counter() - start)
    failures = {rule.id: rule.failed for rule in result.rules}
    return {"seconds": min(seconds), "records": result.records, "failures": failures}


def independent(path: Path, rules: Path) -> dict[str, object]:
    """The engine that is not ours, as `mask` and `check` ask it."""
    from masktron.judge.request import EvaluationRequest  # noqa: PLC0415
    from masktron.judge.second_opinions import Question, engine_opinions  # noqa: PLC0415
    from masktron.rulebook.schematron.reader import read_rules  # noqa: PLC0415
    from masktron.sources.xml.plain import survey  # noqa: PLC0415

    rulebook, layout = read_rules(rules), survey(path)[0]
    start = time.perf_counter()
    (counts,) = engine_opinions(EvaluationRequest(path, rulebook, layout), Question(("unaided",), frozenset(), 0))
    seconds = time.perf_counter() - start
    failures = {check.id: int(counts.failed[check.index]) for check in rulebook.checks}
    return {"seconds": seconds, "records": counts.records, "failures": failures, "engine": counts.engine}


def stages(path: Path, rules: Path, out: Path) -> dict[str, object]:
    """What each stage of `mask` takes: from its first word to the first of the next, with some that run together."""
    from masktron.config import Config  # noqa: PLC0415
    from masktron.jobs.mask import run_mask  # noqa: PLC0415
    from masktron.jobs.run_places import MaskRequest  # noqa: PLC0415

    heard: list[tuple[float, str]] = []
    lock = threading.Lock()

    def progress(stage: str, _done: int) -> None:
        with lock:
            if all(name != stage for _, name in heard):
                heard.append((time.perf_counter(), stage))

    start = time.perf_counter()
    run_mask(MaskRequest(path, rules, out, config=Config(k=5)), progress=progress)
    end = time.perf_counter()
    begins = [start, *(at for at, _ in heard), end]
    names = ["survey, reading", *(name.replace(path.name, "the original") for _, name in heard)]
    taken = [later - earlier for earlier, later in itertools.pairwise(begins)]
    return {"stages": [*zip(names, taken, strict=True), ("all", end - start)]}


def arrow(path: Path) -> dict[str, object]:
    """Pyarrow into typed columns, from CSV or Parquet: best of three."""
    import pyarrow.csv  # noqa: PLC0415
    import pyarrow.parquet  # noqa: PLC0415

    read = pyarrow.parquet.read_table if path.suffix == ".parquet" else pyarrow.csv.read_csv
    runs = []
    for _ in range(3):
        start = time.perf_counter()
        records = read(path).num_rows
        runs.append(time.perf_counter() - start)
    return {"seconds": min(runs), "records": records}


PEERS: dict[str, Callable[..., dict[str, object]]] = {
    one.__name__: one
    for one in (bare, bare_nested, libxml2, saxon, pyschematron, masktron, independent, stages, arrow)
}

if __name__ == "__main__":
    print(json.dumps(PEERS[sys.argv[1]](*map(Path, sys.argv[2:]))))

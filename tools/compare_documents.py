"""Compare masktron with a compiled Schematron on a folder of documents.

`python tools/compare_documents.py FOLDER RULES.sch [--xslt RULES.xsl] [--document NAME=FILE]` judges every XML file
in the folder. With the XSLT that a publisher has compiled of the same rulebook, Saxon runs that too, and failed
asserts and successful reports are compared by id. Without, counts are printed. Run only an XSLT that you trust: it
may read files.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lxml import etree
from saxonche import PySaxonProcessor, PyXsltExecutable

import masktron

SVRL = "{http://purl.oclc.org/dsdl/svrl}"


def failures_of(report: bytes) -> Counter[str]:
    """Count what fails in a report in SVRL, by the id of the assert or report."""
    root = etree.fromstring(report, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))
    found = root.iter(f"{SVRL}failed-assert", f"{SVRL}successful-report")
    return Counter(str(one.get("id", one.get("test"))) for one in found)


def by_masktron(result: masktron.ValidateResult) -> Counter[str]:
    """Count what fails by masktron, by the id of the rule."""
    return Counter({rule.id: rule.violations for rule in result.rules if rule.violations})


def by_xslt(paths: list[Path], xslt: Path) -> Iterator[Counter[str]]:
    """Yield what fails in each document by a compiled Schematron."""
    with PySaxonProcessor(license=False) as saxon:
        program: PyXsltExecutable = saxon.new_xslt30_processor().compile_stylesheet(stylesheet_file=str(xslt))
        for path in paths:
            node = saxon.parse_xml(xml_file_name=str(path))
            yield failures_of(str(program.transform_to_string(xdm_node=node)).encode())


def main(words: list[str] | None = None) -> int:
    """Print what differs; return 1 where something does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("rules", type=Path)
    parser.add_argument("--xslt", type=Path)
    parser.add_argument("--document", action="append", default=[], metavar="NAME=FILE")
    given = parser.parse_args(words)
    paths = sorted(given.folder.rglob("*.xml"))
    began = time.perf_counter()
    beside = dict(one.split("=", 1) for one in given.document)
    result = masktron.validate(paths, given.rules, documents=beside)
    print(f"masktron: {len(result.documents)} documents in {time.perf_counter() - began:.1f} s", end="")
    print(f", {len(result.unread)} not judged, {result.violations + result.warnings} failures")
    for one in result.unread:
        print(f"  {one.data}: {one.problem}")
    if given.xslt is None:
        for rule, count in by_masktron(result).most_common():
            print(f"  {rule}: {count}")
        return 0
    judged = {one.data: by_masktron(one) for one in result.documents}
    began = time.perf_counter()
    readable = [path for path in paths if path.as_posix() in judged]
    others = list(by_xslt(readable, given.xslt))
    print(f"XSLT: {sum(one.total() for one in others)} failures in {time.perf_counter() - began:.1f} s")
    different = 0
    for path, other in zip(readable, others, strict=True):
        own = judged[path.as_posix()]
        for rule in sorted(own.keys() | other.keys()):
            if own[rule] != other[rule]:
                different += 1
                print(f"  {path}: {rule}: masktron {own[rule]}, XSLT {other[rule]}")
    print(f"{different} differences")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())

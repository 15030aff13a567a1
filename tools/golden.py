"""Hashes of what runs give: `python tools/golden.py` compares them with the kept ones, `--write` keeps new ones.

A pairwise selection of methods, formats, treatments and units, flat and nested, with one secret. Of each run the
released records, their types and labels, the translated rulebook, the figures, and the data of all pictures of its
pages are hashed; of runs that are refused, that they are. A change that is meant to leave results alone leaves all
hashes alone.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from hashlib import sha256
from itertools import combinations, product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import lxml.html
import numpy as np
import pandas as pd
import pyarrow.feather
import pyarrow.parquet
import pyreadstat

import masktron
from masktron.methods import ALL

KEPT = Path(__file__).with_name("golden.json")
SECRET = bytes(range(32))
SEED, RECORDS = 49, 260

AXES: dict[str, tuple[str, ...]] = {
    "method": tuple(kind.name for kind in ALL),
    "format": ("csv", "xml", "parquet", "arrow", "xlsx", "spss", "stata", "sqlite", "nested"),
    "treatment": ("none", "recode", "pram", "swap", "key_k", "recode key_k", "pram swap key_k", "reweight"),
    "cut": ("whole", "units"),
    "given": ("auto", "none", "strata"),
    "order": ("keep", "random"),
    "rules": ("balance", "ratio"),
}
SUFFIXES = {"spss": "sav", "stata": "dta", "nested": "xml"}

ALONE = {"treatment": "none", "cut": "whole", "given": "auto", "rules": "balance"}
"""What nested records have alone."""

type Case = Mapping[str, str]

FLAT = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="{record}">
<assert id="a" test="{test}">{test}</assert><assert id="b" test="other &gt;= 0">other</assert>
<assert id="c" test="not(age &lt; 20) or wage &lt;= 3000">young</assert></rule></pattern></schema>"""
TESTS = {"balance": "wage + other = income", "ratio": "wage &lt;= income and other &lt;= income"}
NESTED = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="household">
<assert id="a" test="rent &lt;= sum(person/wage) + 2000">rent</assert></rule><rule context="person">
<assert id="b" test="wage &gt;= 0">wage</assert></rule></pattern></schema>"""


def selected() -> list[dict[str, str]]:
    """Return cases in which every two values of different axes meet that can: greedily, from seeded candidates."""
    rng = np.random.default_rng(SEED)
    names = tuple(AXES)
    open_ = {pair for one, other in combinations(names, 2) for pair in product(_values(one), _values(other))}
    open_ = {pair for pair in open_ if _possible(dict(pair))}
    cases: list[dict[str, str]] = []
    while open_:
        (first, second), *_ = sorted(open_)
        best: dict[str, str] = {}
        most = -1
        for _ in range(60):
            case = {name: str(rng.choice(AXES[name])) for name in names} | dict((first, second))
            if case["format"] == "nested":
                case |= ALONE
            met = len(open_.intersection(combinations(case.items(), 2)))
            if _possible(case) and met > most:
                best, most = case, met
        cases.append(best)
        open_ -= set(combinations(best.items(), 2))
    return cases


def _values(axis: str) -> Iterator[tuple[str, str]]:
    return ((axis, value) for value in AXES[axis])


def _possible(case: Case) -> bool:
    """Tell whether a case makes sense: nested records have no treatments, no units and one rulebook."""
    return case.get("format") != "nested" or all(case.get(axis, value) == value for axis, value in ALONE.items())


def people() -> pd.DataFrame:
    """Return generated persons."""
    rng = np.random.default_rng(SEED)
    wage, other = (np.rint(rng.lognormal(mean, 0.5, RECORDS)).astype(int) for mean in (7.5, 5))
    age = rng.integers(15, 80, RECORDS)
    wage = np.where(age < 20, np.minimum(wage, 3000), wage)
    return pd.DataFrame(
        {
            "region": rng.choice(["north", "south", "west"], RECORDS),
            "sex": rng.choice(["f", "m"], RECORDS),
            "age": age,
            "job": rng.choice(["a", "b", "c", "d"], RECORDS),
            "weight": rng.integers(1, 9, RECORDS) + 0.5,
            "wage": wage,
            "other": other,
            "income": wage + other,
        }
    )


def written(case: Case, folder: Path) -> tuple[Path, Path]:
    """Write the data and the rules of a case."""
    rules = folder / "rules.sch"
    if case["format"] == "nested":
        rng = np.random.default_rng(SEED)
        households = []
        for _ in range(60):
            persons = "".join(
                f"<person><age>{rng.integers(18, 80)}</age><wage>{rng.integers(500, 4000)}</wage></person>"
                for _ in range(rng.choice([1, 2]))
            )
            households.append(f"<household><rent>{rng.integers(300, 1500)}</rent>{persons}</household>")
        (folder / "data.xml").write_text(f"<households>{''.join(households)}</households>")
        rules.write_text(NESTED)
        return folder / "data.xml", rules
    plain = folder / "plain.csv"
    people().to_csv(plain, index=False)
    data = folder / f"data.{SUFFIXES.get(case['format'], case['format'])}"
    if case["format"] == "csv":
        data = plain
    elif case["format"] == "xml":
        people().to_xml(data, index=False, root_name="records", row_name="record")
    elif case["format"] in ("spss", "stata"):
        write = pyreadstat.write_sav if case["format"] == "spss" else pyreadstat.write_dta
        write(
            people(),
            str(data),
            column_labels={"wage": "Wage a year"},
            variable_value_labels={"age": {15: "youngest"}},
        )
    else:
        masktron.convert(plain, data)
    rules.write_text(FLAT.format(record="record", test=TESTS[case["rules"]]))
    return data, rules


def settings(case: Case) -> dict[str, Any]:
    """Return the settings of a case."""
    found: dict[str, Any] = {"method": case["method"], "secret": SECRET, "k": 3, "order": case["order"], "params": {}}
    kind = next(kind for kind in ALL if kind.name == case["method"])
    if case["format"] == "nested":
        return found | {"numeric": ["rent", "person/wage", "person/age"]}
    found["roles"] = {"region": "quasi-identifier", "sex": "quasi-identifier", "weight": "weight"}
    found["roles"]["age"] = "quasi-identifier"
    found["nominal"], found["numeric"] = ["job"], ["wage", "other", "income"]
    if kind.needs_class:
        found["params"]["class"] = "sex"
    named = kind.parameters
    if case["given"] == "none" and "conditions" in named:
        found["params"]["conditions"] = []
    if case["given"] == "strata":
        found["params"]["strata"] = ["sex"]
    if "most" in named:
        found["params"]["most"] = 2
    ways: dict[str, dict[str, Any]] = {
        "recode": {"recode": {"age": "width:10"}},
        "pram": {"pram": {"sex": "change:0.2"}},
        "swap": {"swap": {"regions": ["region"], "rate": 0.1}},
        "key_k": {"key_k": 3},
        "reweight": {"reweight": ["region"], "invalid": "exclude"},
    }
    for name in case["treatment"].split():
        found |= ways.get(name, {})
    return found | ({"unit_records": 100} if case["cut"] == "units" else {})


def hashes(case: Case) -> dict[str, str]:
    """Run a case, and return the hashes of what it gives."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, rules = written(case, folder)
        out = folder / f"released{data.suffix}"
        try:
            result = masktron.mask(data, rules, out, **settings(case))
        except masktron.MasktronError as refused:
            return {"refused": type(refused).__name__}
        text = out
        if case["format"] not in ("csv", "xml", "nested"):
            text = folder / "released.csv"
            masktron.convert(out, text)
        translated = Path(result.rules_file).read_bytes() if result.rules_file else b""
        page, public = folder / "page.html", folder / "public.html"
        masktron.write_report(folder / "released.manifest.json", html=page, html_public=public)
        plain = {
            "figures": [[one.name, one.field, f"{one.value:.9g}"] for one in result.figures],
            "blocks": [[list(one.variables), sorted(one.exits.items())] for one in result.blocks],
            "records": [result.records_in, result.records_out],
        }
        return {
            "release": sha256(text.read_bytes()).hexdigest(),
            "types": sha256(json.dumps(_types(out), sort_keys=True).encode()).hexdigest(),
            "rules": sha256(translated).hexdigest(),
            "figures": sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest(),
            "pictures": sha256(json.dumps([*_drawn(page), *_drawn(public)]).encode()).hexdigest(),
        }


def _types(path: Path) -> object:
    """Return the types and labels of a file, as other libraries read them; none of a text file."""
    match path.suffix:
        case ".parquet":
            return str(pyarrow.parquet.read_schema(path))
        case ".arrow":
            return str(pyarrow.feather.read_table(path).schema)
        case ".sav" | ".dta":
            read = pyreadstat.read_sav if path.suffix == ".sav" else pyreadstat.read_dta
            told = read(str(path), metadataonly=True)[1]
            labels = {name: sorted(map(str, one.items())) for name, one in told.variable_value_labels.items()}
            return [told.original_variable_types, told.column_names_to_labels, labels]
        case ".sqlite":
            with closing(sqlite3.connect(path)) as database:
                return database.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()
        case _:
            return None


def _drawn(page: Path) -> list[object]:
    """Return the data of the pictures of a page: the cells of their tables."""
    return [
        [picture.get("id"), [cell.text_content().strip() for cell in picture.iter("th", "td")]]
        for picture in lxml.html.parse(str(page)).getroot().iter("figure")
    ]


def run(cases: Sequence[Case], jobs: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the name and the hashes of each case, in processes that are spawned."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from zip((" ".join(case.values()) for case in cases), pool.map(hashes, cases), strict=True)


def differences(kept: Mapping[str, Mapping[str, str]], found: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Say which hashes are others than those that are kept."""
    said = [f"{name}: no such run is kept" for name in found if name not in kept]
    for name, hashed in found.items():
        before = kept.get(name, hashed)
        if changed := [part for part in {*before, *hashed} if before.get(part) != hashed.get(part)]:
            said.append(f"{name}: {', '.join(sorted(changed))} changed")
    return said


def main() -> int:
    """Compare, or keep; return 1 where hashes are others."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="keep the hashes in the place of those that are kept")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="run one case of N")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    cases = selected()[:: options.every]
    found: dict[str, dict[str, str]] = {}
    for name, hashed in run(cases, options.jobs):
        found[name] = hashed
        print(f"{len(found)} of {len(cases)}: {name}: {hashed.get('refused', 'masked')}", flush=True)
    if options.write:
        KEPT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        return 0
    said = differences(json.loads(KEPT.read_text()), found)
    print("\n".join(said) or f"the hashes of {len(found)} runs are those that are kept")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())

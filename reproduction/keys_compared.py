"""`python -m reproduction.keys_compared`: keys treated under the rules, beside the usual order without them.

Writes docs/keys-compared.md from real runs on the samples that come with masktron and on a generated survey.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from lxml import etree
from numpy.typing import NDArray

import masktron
from masktron.config import Config, Role
from masktron.measures.keys import individual_risk, key_frequencies
from masktron.recodings import Recoding
from masktron.results import MaskResult
from masktron.step_kinds import recodings_in, treatments_from
from reproduction.generated_survey import RECORDS, SETTINGS, write_survey
from reproduction.key_page import page
from reproduction.usual_order import locally_suppressed, microaggregated

ROOT = Path(__file__).resolve().parents[1]
K = 3
RISK = 1
"""Per cent of the records that may be re-identified, where settings have no limit."""
NAMES = ("household", "business", "survey")


@dataclass(frozen=True, slots=True)
class Case:
    """A file with its rules and settings."""

    name: str
    data: Path
    rules: Path
    settings: Path


@dataclass(frozen=True, slots=True)
class Risk:
    """What keys tell, the weight left out: missing values match every value.

    Attributes
    ----------
    k : int
        The fewest records that match a record.
    below : int
        Records that match fewer than three.
    unique : int
    per_cent : float
        Expected re-identifications.
    """

    k: int
    below: int
    unique: int
    per_cent: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """A file as one of the ways leaves it.

    Attributes
    ----------
    risk : Risk
    suppressed : mapping of str to int
        Cells by key.
    keys_lost, numbers_lost : float
        Entropy of the keys, and 100 SSE/SST of the masked numbers, in per cent.
    broken : mapping of str to int
        Records that break each hard rule, as the rules are asked of recoded keys.
    seconds : float
    """

    risk: Risk
    suppressed: Mapping[str, int]
    keys_lost: float
    numbers_lost: float
    broken: Mapping[str, int]
    seconds: float


@dataclass(frozen=True, slots=True)
class Compared:
    """A file before, and as both ways leave it."""

    case: Case
    records: int
    keys: tuple[str, ...]
    before: Risk
    ours: Outcome
    usual: Outcome
    result: MaskResult

    @property
    def reached(self) -> bool:
        """Whether our file has k = 3 and a risk below its limit by the keys and the weight, and every rule holds."""
        figures = {one.name: one.value for one in self.result.figures}
        held = self.result.valid and not any(self.ours.broken.values())
        return held and figures["key_k"] >= K and figures["global_risk"] < self.result.limits.get("global_risk", RISK)


def cases(folder: Path, records: int) -> list[Case]:
    """Return the samples, and the survey, which is written to a folder."""
    place = ROOT / "sample_xml"
    samples = [
        Case(name, place / f"{name}.xml", ROOT / "rules" / f"{name}.sch", place / f"{name}.toml")
        for name in NAMES[:2]
    ]
    survey = write_survey(folder / "survey.csv", records)
    return [*samples, Case(NAMES[2], survey, SETTINGS / "survey.sch", SETTINGS / "survey.toml")]


def compared(case: Case, folder: Path) -> Compared:
    """Treat a file both ways, and measure what comes of it.

    Parameters
    ----------
    case : Case
    folder : Path
        Where the files go.
    """
    config = masktron.load_config(case.settings).updated(order="keep")
    out, manifest = folder / f"{case.name}{case.data.suffix}", folder / f"{case.name}.json"
    start = time.perf_counter()
    result = masktron.mask(case.data, case.rules, out, config=config, manifest=manifest)
    ours_took = time.perf_counter() - start
    rules = folder / f"{case.name}.rules.sch"
    treatments = recodings_in(treatments_from(json.loads(manifest.read_text())["treatments"]))
    original, released = read(case.data), read(out)
    weight = next(name for name, role in config.roles.items() if role is Role.WEIGHT)
    keys = tuple(name for name, role in config.roles.items() if role is Role.QUASI_IDENTIFIER)

    start = time.perf_counter()
    usual = usual_order(original, config, keys, treatments)
    usual_took = time.perf_counter() - start
    plain = folder / f"{case.name}-usual{case.data.suffix}"
    write_like(case.data, usual, plain)

    def outcome(table: pd.DataFrame, path: Path, seconds: float) -> Outcome:
        recoded = original[list(keys)].apply(lambda own: recoded_texts(own, treatments.get(str(own.name))))
        gone = {name: int((table[name].isna() & recoded[name].notna()).sum()) for name in keys}
        return Outcome(
            risk_of(table, keys, weight),
            gone,
            entropy_lost(original[list(keys)], table[list(keys)]),
            variance_lost(original, table, config),
            broken(path, rules, case.data),
            seconds,
        )

    return Compared(
        case,
        len(original),
        keys,
        risk_of(original, keys, weight),
        outcome(released, out, ours_took),
        outcome(usual, plain, usual_took),
        result,
    )


def read(path: Path) -> pd.DataFrame:
    """Read the texts of a file, by field; nothing where an element or the text of a cell is missing."""
    if path.suffix == ".csv":
        return pd.read_csv(path, dtype=str, keep_default_na=False).replace("", None)
    return pd.DataFrame({etree.QName(own).localname: own.text for own in one} for one in etree.parse(path).getroot())


def write_like(path: Path, table: pd.DataFrame, out: Path) -> None:
    """Write a file with the texts of a table in the place of its own; a missing one is left out."""
    if path.suffix == ".csv":
        table.to_csv(out, index=False, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
        return
    tree = etree.parse(path)
    for record, row in zip(tree.getroot(), table.to_dict("records"), strict=True):
        for own in list(record):
            name = etree.QName(own).localname
            if name not in row or (pd.isna(row[name]) and own.text):
                record.remove(own)
            elif not pd.isna(row[name]):
                own.text = row[name]
    tree.write(out, encoding="UTF-8", xml_declaration=True)


def usual_order(
    original: pd.DataFrame, config: Config, keys: Sequence[str], recodings: Mapping[str, Recoding]
) -> pd.DataFrame:
    """Recode keys alike, suppress cells to k = 3, and microaggregate all numbers together; no rule is asked."""
    removed = [name for name, role in config.roles.items() if role is Role.IDENTIFIER]
    table = original.drop(columns=removed)
    for name in keys:
        table[name] = recoded_texts(table[name], recodings.get(name))
    suppressed = locally_suppressed(coded(table, keys), K)
    for name, codes in zip(keys, suppressed, strict=True):
        table.loc[codes < 0, name] = None
    numbers = numbers_of(table, config)
    for name, own in microaggregated(numbers, config.k).items():
        decimals = table[name].dropna().str.partition(".")[2].str.len().max()
        there = own.notna()
        table.loc[there, name] = own[there].map(f"{{:.{decimals}f}}".format)
    return table


def numbers_of(table: pd.DataFrame, config: Config) -> pd.DataFrame:
    """Return the masked fields as numbers; missing codes are missing."""
    names = [name for name, role in config.roles.items() if role is Role.CONFIDENTIAL]
    found = {
        name: pd.to_numeric(table[name].mask(table[name].isin(config.missing.get(name, frozenset()))))
        for name in names
    }
    return pd.DataFrame(found, dtype=np.float64)


def recoded_texts(texts: pd.Series, recoding: Recoding | None) -> pd.Series:
    """Return texts as a recoding writes them."""
    return texts if recoding is None else texts.map(recoding.label_of, na_action="ignore")


def coded(table: pd.DataFrame, keys: Iterable[str]) -> list[NDArray[np.int32]]:
    """Return keys as codes, -1 where missing."""
    return [pd.factorize(table[name])[0].astype(np.int32) for name in keys]


def risk_of(table: pd.DataFrame, keys: Sequence[str], weight: str) -> Risk:
    """Measure what keys tell."""
    found = key_frequencies(coded(table, keys), table[weight].astype(float).to_numpy())
    counts = found.sample
    risk = 100 * float(individual_risk(found).mean())
    return Risk(int(counts.min()), int((counts < K).sum()), int((counts < 2).sum()), risk)


def entropy_lost(original: pd.DataFrame, table: pd.DataFrame) -> float:
    """Non-uniform entropy (Gionis and Tassa 2009): log of the frequency of what is written by that of the value."""
    lost = most = 0.0
    for name in original:
        there = original[name].notna().to_numpy()
        values, labels = original[name][there].to_numpy(), table[name][there].to_numpy()
        own = pd.Series(values).groupby(values).transform("size")
        alike = pd.Series(labels).groupby(labels).transform("size").fillna(len(values))
        lost += float(np.log(np.maximum(alike / own, 1)).sum())
        most += float(np.log(len(values) / own).sum())
    return 100 * lost / most


def variance_lost(original: pd.DataFrame, table: pd.DataFrame, config: Config) -> float:
    """100 SSE/SST over the masked numbers, each standardised; values that became missing are left out."""
    before, after = numbers_of(original, config), numbers_of(table, config)
    error = np.square(after - before).sum() / np.square(before - before.mean()).sum()
    return 100 * float(error.mean())


def broken(path: Path, rules: Path, original: Path) -> dict[str, int]:
    """Count the records that break each hard rule, by the engine that decides."""
    judged = masktron.validate(path, rules, original=original, max_findings=0, allow_unfired=["*"])
    return {one.id: one.violations for one in judged.rules if not one.soft}


def main() -> int:
    """Write the page; return 1 where a file does not reach what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m reproduction.keys_compared", description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS, help="records of the generated survey")
    parser.add_argument("--only", action="append", choices=NAMES, help="this file alone")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "keys-compared.md", help="the page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        chosen = [one for one in cases(place, options.records) if not options.only or one.name in options.only]
        found = []
        for one in chosen:
            print(f"treating {one.name} ...", file=sys.stderr)
            (place / "treated").mkdir(exist_ok=True)
            found.append(compared(one, place / "treated"))
    options.out.write_text(page(found), encoding="utf-8")
    missed = [one.case.name for one in found if not one.reached]
    print(f"{options.out}: {', '.join(missed) or 'none'} missed k = {K} or a risk below its limit")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

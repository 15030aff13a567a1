"""What the methods make of small files in a process of its own, for comparing processes with other processors.

python tests/support/processor_run.py arrays | DATA RULES FOLDER | treated DATA RULES FOLDER

Prints JSON: the kinds of processor that the libraries of linear algebra work for, and a digest by method, of what is
drawn for an array, or of a file that was masked; or by treatment of keys, of a file whose keys were treated.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401 -- its BLAS is another one than numpy's, and both are told
from threadpoolctl import threadpool_info

from masktron import methods
from masktron.config import Config, Role
from masktron.errors import MasktronError
from masktron.jobs.mask import run_mask
from masktron.jobs.run_places import MaskRequest

KEY = hashlib.sha256(b"processors").digest()
OTHERS: dict[str, tuple[dict[str, object], ...]] = {
    "noise": ({"exact": True},),
    "ipso": ({"variant": "strict"},),
    "muralidhar_sarathy": ({"alpha": 0.2},),
    "microhybrid": ({"synthesiser": "multiple_imputation"}, {"synthesiser": "normal", "k": 3}, {"k": 23}),
    "hybrid_micro": ({"k": 23},),
    "fuzzy": ({"m": 1.7},),
}
"""Parameters other than those that a method has by itself."""
NUMERIC = ("V5", "V6")
"""Fields of few different values, which are amounts all the same."""
FIRST: dict[str, dict[str, object]] = {"model_hybrid": {"most": 3}, "latent_class": {"most": 3}}
"""Parameters in place of those that a method has by itself: few mixtures, which take most of the time."""


def values() -> np.ndarray:
    """Records with exact relations, a constant, integers with ties, and numbers of very different size."""
    generator = np.random.default_rng(0)
    plain = generator.integers(0, 1000, (60, 4)) ** 2 / 8
    few = generator.integers(0, 3, (60, 2)).astype(np.float64)
    total = plain[:, 0] + plain[:, 1]
    large = plain[:, 2] * 1e6 + few[:, 1]
    return np.column_stack([plain, few, total, total - 3 * few[:, 0], np.full(len(few), 7.0), large])


def drawn() -> Iterator[tuple[str, bytes]]:
    """Yield what each method makes of an array."""
    records = values()
    classes = np.arange(len(records)) % 3
    for method in methods.ALL:
        for own in (FIRST.get(method.name, {}), *OTHERS.get(method.name, ())):
            made = methods.method_named(method.name)(**own)
            masked = made.mask(records, np.random.default_rng(1), classes=classes if made.needs_class else None)
            yield f"{method.name} {own}", masked.values.tobytes()


def masked_files(data: Path, rules: Path, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what each method makes of a file; a refusal is a result as well."""
    for method in methods.ALL:
        out = folder / f"{method.name}.xml"
        params = {"class": "V0"} if method.needs_class else {}
        config = Config(
            roles={"V0": Role.UNTOUCHED},
            k=5,
            secret=KEY,
            order="keep",
            method=method.name,
            params=params,
            numeric=NUMERIC,
        )
        try:
            run_mask(MaskRequest(data, rules, out, config=config))
            yield method.name, out.read_bytes()
        except MasktronError as refused:
            yield method.name, str(refused).encode()


def treated_files(data: Path, rules: Path, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what each treatment makes of the keys G, H and S of a file, in households N."""
    matrix = folder / "matrix.csv"
    matrix.write_text(",a,b,c\na,0.7,0.2,0.1\nb,0.1,0.8,0.1\nc,0.3,0.1,0.6\n", encoding="utf-8")
    treatments: dict[str, dict[str, Any]] = {
        "pram": {"pram": {"S": "change:0.3"}},
        "pram within, weighted": {"pram": {"S": "change:0.2,within:G"}, "weight": "W"},
        "pram by a matrix": {"pram": {"S": str(matrix)}},
        "pram of two together": {"pram": {"G+S": "change:0.3,stay:0.1"}},
        "pram of households": {"pram": {"G": "change:0.4,household:N"}},
        "swapping": {"swap": {"regions": ("G", "H"), "keys": ("S",), "k": 40}},
        "swapping of households": {"swap": {"regions": ("G",), "keys": ("S",), "k": 40, "household": "N"}},
        "swapping at a rate": {"swap": {"regions": ("G",), "keys": ("S",), "k": 2, "rate": 0.3}},
        "both, and suppression": {
            "pram": {"S": "change:0.3"},
            "swap": {"regions": ("G",), "keys": ("S",), "k": 40},
            "key_k": 3,
        },
    }
    for name, treatment in treatments.items():
        out = folder / f"{name}.csv"
        marked = dict.fromkeys(("G", "H", "S"), Role.QUASI_IDENTIFIER)
        weight = treatment.pop("weight", None)
        roles = {**marked, "N": Role.UNTOUCHED, "W": Role.UNTOUCHED if weight is None else Role.WEIGHT}
        config = Config(roles=roles, k=3, secret=KEY, order="keep", **treatment)
        done = run_mask(MaskRequest(data, rules, out, config=config))
        if not done.treatments:
            raise ValueError(f"{name}: no key was treated")
        yield name, out.read_bytes()


def digests(found: Iterator[tuple[str, bytes]]) -> dict[str, str]:
    """Return digests by name."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in found}


def kinds() -> list[str]:
    """Return the kinds of processor that the libraries of linear algebra of this process work for."""
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return sorted({str(library.get("architecture")) for library in libraries})


def main() -> int:
    """Run the command line."""
    what, *paths = sys.argv[1:]
    places = list(map(Path, paths))
    if what == "treated":
        found = treated_files(*places)
    else:
        found = drawn() if what == "arrays" else masked_files(Path(what), *places)
    print(json.dumps({"digests": digests(found), "kinds": kinds()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

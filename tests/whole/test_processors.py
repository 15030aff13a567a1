"""The same bytes on another processor and with other threads, as libraries of linear algebra are told to see them."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_runner import write_rules
from package_trees import PACKAGE, tree_of
from paths import TESTS
from plain_rows import write_csv
from processor_run import digests, drawn, kinds, values

PROGRAM = TESTS / "support" / "processor_run.py"
OWN = {"OPENBLAS_CORETYPE": "", "OPENBLAS_NUM_THREADS": "2"}
OTHERS = {
    "Nehalem": {"OPENBLAS_CORETYPE": "Nehalem", "OPENBLAS_NUM_THREADS": "1"},
    "Prescott": {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "2"},
}
"""Kinds of processor whose instructions every later one of x86-64 has."""

ASKING = {
    "kernels/logistic.py": "measures of utility",
    "kernels/moments.py": "measures of utility",
    "kernels/polynomials.py": "measures of utility",
    "measures/joint_sums.py": "measures of risk",
    "measures/kept_variation.py": "measures of utility",
    "measures/keys/combinations.py": "measures of risk",
    "measures/keys/read_off.py": "measures of risk",
    "measures/revealed.py": "measures of risk: ranks of the few coefficients of rules",
    "measures/strongest_link.py": "measures of risk",
    "jobs/released_sums.py": "concerns: whether two releases go along",
    "verify/drawn_values.py": "tests of draws, which make no value",
    "synthesis/em.py": "mixtures: decisions by more than last digits",
    "synthesis/mixture.py": "columns that others give but for far more than last digits",
}
"""What may ask BLAS or LAPACK, since no masked value is made of its last digits."""

PRODUCTS = (
    "dot",
    "matmul",
    "inner",
    "vdot",
    "vecdot",
    "matvec",
    "vecmat",
    "tensordot",
    "corrcoef",
    "cov",
    "convolve",
)
LIKELY = re.compile(r"linalg\.|\S @|@=|\.dot\(|np\.(" + "|".join(PRODUCTS) + r")\b")


def told(settings: dict[str, str], *what: str) -> dict[str, Any]:
    command = [sys.executable, str(PROGRAM), *what]
    ended = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def require_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Require the same bytes; most of them are different from those of other names, so that something was done."""
    if one["kinds"] == other["kinds"]:
        pytest.skip(f"the linear algebra here knows no kinds of processor, or no other one than {one['kinds']}")
    different = [name for name, digest in one["digests"].items() if other["digests"][name] != digest]
    assert not different, f"{one['kinds']} and {other['kinds']}"
    assert len(set(one["digests"].values())) > len(one["digests"]) / 2


@pytest.fixture(scope="module")
def own_arrays() -> dict[str, Any]:
    return {"kinds": kinds(), "digests": digests(drawn())}


@pytest.mark.full
@pytest.mark.parametrize("kind", ["Nehalem", pytest.param("Prescott", marks=pytest.mark.full)])
def test_every_method_draws_the_same_bits(own_arrays: dict[str, Any], kind: str) -> None:
    require_same(own_arrays, told(OTHERS[kind], "arrays"))


def test_no_other_part_asks_blas_or_lapack() -> None:
    # most modules need not be parsed
    likely = [path for path in PACKAGE.rglob("*.py") if LIKELY.search(path.read_text(encoding="utf-8"))]
    asking = {str(path.relative_to(PACKAGE)) for path in likely if any(asked(tree_of(path)))}
    assert asking == set(ASKING)


def asked(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield products of matrices and names of libraries that make them; lengths of vectors and errors need none."""
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
                yield node
            case ast.Attribute(value=ast.Attribute(attr="linalg"), attr=name) if name not in {"norm", "LinAlgError"}:
                yield node
            case ast.Attribute(value=ast.Name(id="np"), attr=name) if name in PRODUCTS:
                yield node
            case ast.Call(func=ast.Attribute(attr="dot")):
                yield node


@pytest.mark.full
@pytest.mark.parametrize("kind", OTHERS)
def test_every_method_masks_to_the_same_bytes(tmp_path: Path, kind: str) -> None:
    data = tmp_path / "microdata.xml"
    records = (
        "<Record>"
        + "".join(f"<V{at}>{cell:.3f}</V{at}>" for at, cell in enumerate(row, 1))
        + f"<V0>{number % 3}</V0></Record>"
        for number, row in enumerate(values())
    )
    data.write_text(f"<Data>{''.join(records)}</Data>", encoding="utf-8")
    rules = write_rules(tmp_path / "rules.sch", "V1 + V2 = V7", "V1 >= 0", "V8 <= V7")
    folders = [tmp_path / name for name in ("own", "other")]
    for folder in folders:
        folder.mkdir()
    own, other = (
        told(settings, str(data), str(rules), str(folder))
        for settings, folder in zip((OWN, OTHERS[kind]), folders, strict=True)
    )
    require_same(own, other)
    assert len(list(folders[0].glob("*.xml"))) >= len(own["digests"]) - 2


@pytest.mark.full
@pytest.mark.parametrize("kind", ["Nehalem", "Prescott"])
def test_treated_keys_are_written_in_the_same_bytes(tmp_path: Path, kind: str) -> None:
    rows: list[dict[str, object]] = [
        {
            "N": at // 2,
            "G": "nesw"[at // 2 % 4],
            "H": f"{'nesw'[at // 2 % 4]}{at // 2 % 3}",
            "S": "abc"[at * at % 7 % 3],
            "W": 1 + at % 5,
            "A": 100 + 13 * at % 70,
            "B": 10 + at % 9,
        }
        for at in range(120)
    ]
    data = write_csv(tmp_path / "d.csv", rows)
    rules = write_rules(tmp_path / "rules.sch", "B <= A", "not(S = 'a') or A >= 0")
    folders = [tmp_path / name for name in ("own", "other")]
    for folder in folders:
        folder.mkdir()
    own, other = (
        told(settings, "treated", str(data), str(rules), str(folder))
        for settings, folder in zip((OWN, OTHERS[kind]), folders, strict=True)
    )
    require_same(own, other)
    assert len(set(own["digests"].values())) == len(own["digests"]) == 9

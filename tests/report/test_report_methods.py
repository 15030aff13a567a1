"""The methods as the command line lists and explains them, at any width, and as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, override

import jsonschema
import numpy as np
import pytest

from cli_runner import Runner
from examples import spread
from masktron import methods
from masktron.contracts import (
    KINDS,
    IdenticalGroups,
    MarkedReplaced,
    MethodContract,
    ModelDrawn,
    NoiseAdded,
    PartitionedSynthesis,
    ValuesExchanged,
    as_plain,
    contract_from,
)
from masktron.methods.base import Drawn, GroupedMethod, Method, RecordContext
from masktron.methods.mdav import MdavMethod
from masktron.methods.parameters import parameter
from masktron.report.rendering import render
from masktron.report.tables.methods import explained, methods_dict, methods_tables
from paths import SCHEMAS

SCHEMA = SCHEMAS / "methods.schema.json"


class Wordy(GroupedMethod):
    """A method with long texts, some that a terminal or its markup would obey."""

    name: ClassVar[str] = "rather_long_method_name"
    title: ClassVar[str] = "A title of some length [red]with brackets[/] and a good many words in it"
    says: ClassVar[str] = "It draws values and says so at length, [bold]in brackets[/] too, beyond any line. " * 2
    when: ClassVar[str] = "When a table has to be read on a narrow terminal, and on a wide one."
    source: ClassVar[str] = "Somebody 2013, section 4"
    attacker: ClassVar[str] = "With the key he takes off [red]what was added[/], and without it a share of it."
    preserves: ClassVar[tuple[str, ...]] = ("means of all variables, exactly", "covariances, in expectation")
    needs_class: ClassVar[bool] = True

    k: int = 3
    share_of_variance: float = parameter("Share of the variance of the original.", default=0.15, above=0)
    runs: int | None = parameter("Runs.", default=None, least=1)
    exact: bool = parameter("Whether moments are those of the original, and not in expectation alone.", default=True)
    order: Iterable[int] | None = parameter("Order.", default=("A", "B"))  # type: ignore[assignment]

    @property
    def contract(self) -> MethodContract:
        return PartitionedSynthesis(self.k)

    def least(self, variables: int) -> int:
        return variables + 3

    @override
    def _mask(self, values: Any, generator: np.random.Generator, context: RecordContext) -> Drawn:
        raise NotImplementedError


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("kind", spread([*methods.ALL, Wordy], every=3), ids=lambda kind: kind.name)
def test_lines_fit_and_nothing_is_lost(kind: type[Method], width: int) -> None:
    page = render(explained(kind), width=width)
    assert max(map(len, page.splitlines())) <= width
    words = " ".join(page.split())
    told = " ".join((kind.says, kind.when, kind.source, kind.attacker)).split()
    for text in (kind.name, *told, "promises", "needs", "attacker"):
        assert text in words
    for name in kind.parameters:
        option = "-k" if name == "k" else name
        assert any(line.startswith(f"{option} ") for line in page.splitlines())


@pytest.mark.parametrize("width", [80, 120])
def test_the_list_names_every_method_on_one_line(width: int) -> None:
    kinds = (*methods.ALL, Wordy)
    lines = render(methods_tables(kinds), width=width).splitlines()
    assert max(map(len, lines)) <= width
    for kind in kinds:
        (line,) = [line for line in lines if line.startswith(f"{kind.name} ")]
        assert (" a class" in line) == kind.needs_class
    assert f"The default is {kinds[0].name}." in " ".join(lines)


def test_defaults_are_spelled_as_on_the_command_line() -> None:
    page = render(explained(Wordy), width=200)
    rows = {line.split()[0]: line.split()[1] for line in page.splitlines() if line and not line.startswith(" ")}
    assert {"class": "needed", "-k": "5", "runs": "auto", "exact": "true", "order": "A,B"}.items() <= rows.items()
    assert rows["share_of_variance"] == "0.15"
    assert "at least 4 for 1, 8 for 5, 13 for 10" in page
    assert "[red]" in render(methods_tables([Wordy]), width=200)


def test_k_is_that_of_a_run(run: Runner) -> None:
    """In Python a method may have a k of its own; `mask` has one for all."""
    listed = json.loads(run("methods", "--json", "-").out)["methods"]
    defaults = {one["name"]: each["default"] for one in listed for each in one["parameters"] if each["name"] == "k"}
    assert {*defaults.values()} == {5}
    assert "hybrid_micro" in defaults
    assert "group of at least 5 records" in " ".join(run("methods", "hybrid_micro").out.split())


def test_json_of_all_and_of_one(run: Runner, tmp_path: Path) -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    everything = json.loads(run("methods", "--json", "-").out)
    jsonschema.validate(everything, schema)
    assert [one["name"] for one in everything["methods"]] == [kind.name for kind in methods.ALL]
    assert everything["default"] == "mdav"
    one = tmp_path / "one.json"
    assert run("methods", "mdav", "--json", one).code == 0
    assert json.loads(one.read_text())["methods"] == everything["methods"][:1]
    wordy = methods_dict([Wordy], MdavMethod)
    jsonschema.validate(wordy, schema)
    json.dumps(wordy, allow_nan=False)
    parameters = {each["option"]: each for each in wordy["methods"][0]["parameters"]}
    assert (parameters["class"]["needed"], parameters["class"]["default"]) == (True, None)
    assert (parameters["order"]["default"], parameters["runs"]["default"]) == (["A", "B"], None)


def test_unknown_methods_are_usage_errors(run: Runner) -> None:
    outcome = run("methods", "mdva")
    outcome.refuses(2, "unknown-name", name="mdva", kind="method")


@pytest.mark.parametrize("arguments", spread([["methods"], ["methods", "mdav"], ["methods", "--json", "-"]], every=3))
def test_listing_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from masktron.commands.line import main; sys.argv[0] = 'masktron'\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code\n"
        "heavy = ('scipy', 'sklearn', 'numba', 'pandas', 'pyarrow', 'lxml', 'saxonche')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    argv = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


# contracts as plain data

CONTRACTS: list[MethodContract] = [
    IdenticalGroups(3),
    PartitionedSynthesis(5),
    NoiseAdded(0.15, "something else"),
    ModelDrawn(),
    MarkedReplaced(10),
    ValuesExchanged(),
]


def test_contracts_come_back_from_plain_data() -> None:
    assert tuple(map(type, CONTRACTS)) == KINDS
    assert len({kind.kind for kind in KINDS}) == len(KINDS)
    for contract in CONTRACTS:
        assert contract_from(json.loads(json.dumps(as_plain(contract)))) == contract
    listed = json.loads(SCHEMA.read_text())["$defs"]["contract"]["properties"]["kind"]["enum"]
    assert listed == [kind.kind for kind in KINDS]


@pytest.mark.parametrize(
    ("plain", "error"),
    [
        ({}, KeyError),
        ({"kind": "identical-groups"}, KeyError),
        ({"kind": "none"}, ValueError),
        ({"kind": ["identical-groups"], "k": 3}, ValueError),
        ({"kind": "identical-groups", "k": 1}, ValueError),
        ({"kind": "identical-groups", "k": 2.5}, TypeError),
        ({"kind": "identical-groups", "k": True}, TypeError),
        ({"kind": "identical-groups", "k": 3, "share": 1}, ValueError),
        ({"kind": "noise-added", "share": 0, "of": "x"}, ValueError),
        ({"kind": "noise-added", "share": 0.1}, KeyError),
        ({"kind": "noise-added", "share": 0.1, "of": 3}, TypeError),
        ({"kind": "noise-added", "share": float("nan"), "of": "x"}, ValueError),
        ({"kind": "noise-added", "share": "0.1"}, TypeError),
        ({"kind": "marked-replaced", "cluster": 1}, ValueError),
    ],
)
def test_what_is_no_contract_is_refused(plain: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        contract_from(plain)

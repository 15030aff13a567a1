"""A method from settings: what is read, what is checked, and what is refused with a hint."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Literal, override

import numpy as np
import pytest

import masktron
from cli_runner import Runner, numbers, write_data, write_rules
from masktron import methods
from masktron.config import Config, config_from
from masktron.contracts import MethodContract, ModelDrawn, PartitionedSynthesis
from masktron.declared import declared_in
from masktron.errors import UsageError
from masktron.methods.base import Drawn, GroupedMethod, Method, RecordContext
from masktron.methods.chosen import chosen
from masktron.methods.mdav import MdavMethod
from masktron.methods.parameters import parameter
from masktron.settings_file import load_config
from refusals import refused


class Drawing(GroupedMethod):
    """A method with a parameter of each kind."""

    name: ClassVar[str] = "drawing"
    title: ClassVar[str] = "Drawing"
    says: ClassVar[str] = "It draws."
    when: ClassVar[str] = "In tests."
    source: ClassVar[str] = "none"
    preserves: ClassVar[tuple[str, ...]] = ("nothing",)
    needs_class: ClassVar[bool] = True

    k: int = 3
    share: float = parameter("Share of the variance.", default=0.15, above=0, most=1)
    runs: int | None = parameter("Number of runs.", default=None, least=1)
    family: Literal["full", "diagonal"] = parameter("Family.", default="full")
    exact: bool = parameter("Whether moments are exact.", default=False)
    order: Iterable[int] | None = parameter("Order of the fields.", default=None)

    @property
    def contract(self) -> MethodContract:
        return PartitionedSynthesis(self.k)

    @override
    def _mask(self, values: Any, generator: np.random.Generator, context: RecordContext) -> Drawn:
        raise NotImplementedError


class Plain(Method):
    """A method of the whole file, without a class; `classes` is a number of its own."""

    name: ClassVar[str] = "plain"
    title = says = when = source = attacker = "a test"
    preserves: ClassVar[tuple[str, ...]] = ()
    classes: int = parameter("Latent classes.", default=2, least=1)

    @property
    def contract(self) -> MethodContract:
        return ModelDrawn()

    @override
    def _mask(self, values: Any, generator: np.random.Generator, context: RecordContext) -> Drawn:
        raise NotImplementedError


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "ALL", (MdavMethod, Drawing, Plain))


def test_the_default_is_mdav_with_the_k_of_the_run() -> None:
    config = Config(k=7)
    choice = chosen(config.method, config.params, config.k)
    assert isinstance(choice.method, MdavMethod)
    assert (choice.method.k, choice.class_fields) == (7, ())


def test_texts_and_typed_values_say_the_same() -> None:
    texts = {
        "share": "0.5",
        "runs": "12",
        "family": "diagonal",
        "exact": "true",
        "order": "B, A",
        "class": "REGION,SEX",
    }
    typed = {
        "share": 0.5,
        "runs": 12.0,
        "family": "diagonal",
        "exact": True,
        "order": ["B", "A"],
        "classes": ["REGION", "SEX"],
    }
    for params in (texts, typed):
        choice = chosen("drawing", params, 4)
        method: Any = choice.method
        assert choice.class_fields == ("REGION", "SEX")
        assert (method.k, method.share, method.runs, method.family, method.exact) == (4, 0.5, 12, "diagonal", True)
        assert type(method.runs) is int
        assert tuple(method.order) == ("B", "A")
    free: Any = chosen("drawing", {"class": "X", "runs": "auto", "order": "auto"}, 4).method
    assert (free.runs, free.order, free.share) == (None, None, 0.15)


def test_a_parameter_of_the_method_comes_before_the_class() -> None:
    choice = chosen("plain", {"classes": "5"}, 4)
    assert vars(choice.method) == {"classes": 5, "strata": ()}
    assert choice.class_fields == ()


@pytest.mark.parametrize(
    ("name", "params", "code", "named"),
    [
        ("drawnig", {}, "unknown-name", {"name": "drawnig", "known": ("mdav", "drawing", "plain")}),
        (
            "mdav",
            {"k": 5},
            "unknown-name",
            {"name": "k", "kind": "parameter", "asked_by": " for mdav, as it is a setting of the whole run"},
        ),
        ("drawing", {"class": "A", "random_state": 1}, "unknown-name", {"name": "random_state"}),
        ("mdav", {"shar": 1}, "unknown-name", {"name": "shar", "known": ("strata",)}),
        (
            "drawing",
            {"class": "A", "colour": 1},
            "unknown-name",
            {"known": ("share", "runs", "family", "exact", "order", "strata", "class")},
        ),
        ("mdav", {"class": "A"}, "unknown-name", {"name": "class"}),
        ("drawing", {}, "needs-setting", {"name": "drawing"}),
        ("drawing", {"class": "A", "classes": "B"}, "bad-value", {"name": "class", "expected": "given once"}),
        *(("drawing", {"class": value}, "bad-value", {"name": "class"}) for value in ("", "A,A", 3)),
        *(
            ("drawing", {"class": "A", name: value}, "bad-value", {"name": name, "given": repr(value)})
            for name, value in (("share", "much"), ("runs", "1.5"), ("family", "round"), ("exact", "yes"))
        ),
        ("drawing", {"class": "A", "share": "nan"}, "bad-value", {"name": "share", "given": "nan"}),
        ("drawing", {"class": "A", "order": "A,A"}, "bad-value", {"name": "order", "given": "('A', 'A')"}),
    ],
)
def test_what_is_wrong_is_refused(name: str, params: dict[str, Any], code: str, named: dict[str, object]) -> None:
    with refused(UsageError, code, **named):
        chosen(name, params, 4)


# settings


def test_a_file_names_method_and_parameters(tmp_path: Path) -> None:
    path = tmp_path / "masktron.toml"
    path.write_text(
        'k = 4\nmethod = "drawing"\n[params]\nclass = ["REGION"]\nshare = 0.5\nruns = "auto"\nexact = true\n'
    )
    config = load_config(path)
    assert config.params == {"class": ("REGION",), "share": 0.5, "runs": "auto", "exact": True}
    choice = chosen(config.method, config.params, config.k)
    assert (choice.method.name, choice.class_fields) == ("drawing", ("REGION",))


@pytest.mark.parametrize(
    ("table", "setting"),
    [
        ({"method": 3}, "method"),
        *(({"params": params}, "params") for params in (["share"], {3: 1})),
        *(({"params": {"share": value}}, "params.share") for value in ({"a": 1}, float("nan"))),
        ({"params": {"order": ["A", True]}}, "params.order"),
    ],
)
def test_wrong_settings_are_refused(table: dict[str, Any], setting: str) -> None:
    with refused(UsageError, "bad-value", where="masktron.toml", name=setting):
        config_from(table, where="masktron.toml")


def test_parameters_go_with_their_method() -> None:
    config = Config(method="drawing", params={"class": "A", "share": 0.5})
    assert config.choosing(None, {"runs": "2"}).params == {"class": "A", "share": 0.5, "runs": "2"}
    assert config.choosing("drawing", {"share": "1"}).params == {"class": "A", "share": "1"}
    assert config.choosing("plain", {"classes": "3"}).params == {"classes": "3"}
    assert config_from({"method": "plain"}, base=config).params == {}
    assert config_from({"method": "drawing"}, base=config).params == config.params
    assert config_from({"k": 3}, base=config).params == config.params


def params(*texts: str) -> Any:
    """Return what options give."""
    return declared_in(Config)["params"].collected("params", texts)


def test_options_have_a_name_and_a_value() -> None:
    assert params("a=1", " b = x=y", "c=A,B") == {"a": "1", "b": "x=y", "c": "A,B"}
    for option in ("a", "=1", "a=", "", "="):
        with refused(UsageError, "bad-value"):
            params(option)
    with refused(UsageError, "given-twice"):
        params("class=A", "class=B")


# before anything is read


def test_mask_refuses_before_it_reads_anything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Runner(capsys)
    files = (tmp_path / "none.xml", "--rules", tmp_path / "none.sch", "--out", tmp_path / "o.xml")
    outcome = run("mask", *files, "--method", "mdva")
    outcome.refuses(2, "unknown-name")
    outcome = run("mask", *files, "--method", "drawing", "--param", "share=2", "--param", "class=A")
    outcome.refuses(2, "bad-value")
    assert run("mask", *files, "--param", "share").code == 2
    with refused(
        UsageError, "unknown-name", kind="parameter", asked_by=" for mdav, as it is a setting of the whole run"
    ):
        masktron.mask(tmp_path / "none.xml", tmp_path / "none.sch", tmp_path / "o.xml", params={"k": 3})


def test_mdav_by_name_is_the_default(tmp_path: Path) -> None:
    data, rules = write_data(tmp_path / "d.xml", numbers()), write_rules(tmp_path / "r.sch", "A + B = T")
    masktron.mask(data, rules, tmp_path / "a.xml", k=4, order="keep", manifest=tmp_path / "a.json")
    masktron.mask(
        data, rules, tmp_path / "b.xml", k=4, order="keep", method="mdav", params={}, manifest=tmp_path / "b.json"
    )
    assert (tmp_path / "a.xml").read_bytes() == (tmp_path / "b.xml").read_bytes()

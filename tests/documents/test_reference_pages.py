"""Pages of the reference that are read off the program: nothing that there is is missing on them."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

import masktron
from masktron import errors
from masktron.commands import COMMANDS
from masktron.config import Config
from masktron.figures import NAMES
from masktron.methods import ALL
from masktron.trust import trust_of
from paths import DOCS, SCHEMAS


@pytest.fixture(scope="module")
def maker() -> Any:
    """The module that makes the pages; it needs nothing of the site."""
    spec = importlib.util.spec_from_file_location("program_pages", DOCS / "_extensions" / "program_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made(maker: Any) -> dict[str, str]:
    return {name.removeprefix("reference/generated/"): text for name, text in maker.program_pages()}


def test_each_command_has_a_page_with_its_options(made: dict[str, str]) -> None:
    assert len(COMMANDS) > 20
    for name, listed in COMMANDS.items():
        assert listed.example in made[f"commands/{name}"]
    assert "`--max-failures RULE=N|P%`\n: Failures that a rule may have" in made["commands/validate"]
    assert "`--out OUT.xml`, `-o OUT.xml`" in made["commands/mask"]
    assert "Default: 5." in made["commands/mask"]
    assert "masktron mask DATA --out OUT.xml [OPTIONS]" in made["commands/mask"]


def test_each_setting_is_told(made: dict[str, str]) -> None:
    assert [name for name in trust_of(Config) if f"`{name}`" not in made["settings"]] == []
    assert "`spare_documents`" not in made["settings"], "it is no setting"
    assert "`quasi-identifier`\n: Known to others" in made["settings"]


def test_each_method_measure_schema_and_function_is_told(made: dict[str, str]) -> None:
    assert [kind.name for kind in ALL if f"\n## {kind.name}\n" not in made["methods"]] == []
    assert [name for name in NAMES if f"### `{name}`" not in made["measures"]] == []
    assert {name for name in made if name.startswith("schemas/")} == {
        f"schemas/{path.name.removesuffix('.schema.json')}" for path in SCHEMAS.glob("*.schema.json")
    }
    assert "| `blocks[].variables` | list of string |" in made["schemas/mask"]
    told = {name.removeprefix("python/") for name in made if name.startswith("python/")}
    kinds = {name for name in masktron.__all__ if not name.startswith("__") and (name.islower() or "Result" in name)}
    assert kinds - told == set()


def test_each_exit_code_is_told_with_its_errors(made: dict[str, str]) -> None:
    for code in errors.Exit:
        assert f"| {int(code)} | " in made["exit-codes"]
    assert "`InfeasibleError`, `ReleasedBeforeError` |" in made["exit-codes"]


def test_a_member_without_words_is_a_mistake(maker: Any) -> None:
    assert maker.member_docs(errors.Exit)["COMPLIES"] == "Everything that was asked for holds."
    assert len(maker.member_docs(errors.Exit)) == len(errors.Exit)


def test_text_of_the_program_is_no_markup(maker: Any) -> None:
    assert maker.plain("[bold]a_b[/bold] * c|d <e> [f]") == r"a\_b \* c\|d \<e\> \[f\]"
    assert maker.prose("one `a_b` and ``c|d``, e_f") == r"one `a_b` and `c|d`, e\_f"

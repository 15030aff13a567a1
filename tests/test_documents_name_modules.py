"""The pages name modules that exist, and the glossary has no word twice."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import masktron
from paths import ROOT

PACKAGE = Path(masktron.__file__).parent
PAGES = sorted(
    [
        *(page for page in (ROOT / "docs").rglob("*.md") if "generated" not in page.parts),
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
    ]
)
_MODULE = re.compile(r"`((?:[a-z_0-9]+/)*[a-z_0-9]+\.py)[`:]")


def named(page: Path) -> list[str]:
    """Files of code that a page names in backticks."""
    return [name for name in _MODULE.findall(page.read_text(encoding="utf-8")) if "NAME" not in name]


def test_pages_name_modules() -> None:
    assert sum(len(named(page)) for page in PAGES) > 100


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_module_that_a_page_names_is_there(page: Path) -> None:
    code = {path.name for path in PACKAGE.rglob("*.py")}
    lost = {name for name in named(page) if not any((at / name).exists() for at in (PACKAGE, ROOT))} - code
    assert lost == set()


_DOTTED = re.compile(r"(?<!`)`([a-z_0-9.]+\.\w+)`(?!`)")


@pytest.mark.parametrize("init", sorted(PACKAGE.rglob("__init__.py")), ids=lambda init: init.parent.name)
def test_each_name_that_the_text_of_a_package_gives_is_there(init: Path) -> None:
    """`module.Name`, beside the text or in the whole package."""
    for dotted in _DOTTED.findall(ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or ""):
        *module, name = dotted.removeprefix("masktron.").split(".")
        places = [root.joinpath(*module) for root in (init.parent, PACKAGE)]
        found = any((place / name).is_dir() or (place / f"{name}.py").is_file() for place in places)
        code = [place.with_suffix(".py") for place in places if place.with_suffix(".py").is_file()]
        named = any(re.search(rf"^(def |class )?{name}\b", one.read_text(encoding="utf-8"), re.M) for one in code)
        assert found or named, dotted


def test_the_glossary_has_each_word_once() -> None:
    lines = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    words = [word for line in lines for word in re.findall(r"\*([^*]+)\*", line.partition(" | ")[0])]
    assert len(words) > 50
    assert sorted(words) == sorted(set(words))


def test_the_map_is_short() -> None:
    assert len((ROOT / "docs" / "design.md").read_text(encoding="utf-8").splitlines()) <= 250

"""No code searches in sentences of ours, or changes them: it reads the code and the references of a problem."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from masktron.report.pages.html import template_environment
from masktron.web.templating import web_environment
from package_trees import PACKAGE, tree_of

MODULES = sorted(PACKAGE.rglob("*.py"))
TEXTS = frozenset({"what", "hint", "where"})
"""Attributes of errors, and of what is worded, that are sentences."""
NAMES = frozenset({"error", "refused", "refusal", "problem", "wrong", "first", "reason", "known", "caught", "said"})
"""What errors are called where nothing else says that they are."""
SEARCHES = frozenset(
    {
        *("replace", "startswith", "endswith", "partition", "rpartition", "split", "rsplit", "splitlines"),
        *("removeprefix", "removesuffix", "find", "rfind", "index", "count", "strip", "lstrip", "rstrip"),
    }
)
"""Methods of texts that look into them."""
PATTERNS = frozenset({"sub", "subn", "search", "match", "fullmatch", "findall", "finditer", "split"})
"""Functions and methods of `re`."""
PARAMETERS = frozenset({"hint", "lint", "message", "note", "sentence", "why"})
"""What functions call a sentence of ours that they are given."""
SAID = frozenset({"details", "doubts", "help", "hint", "lints", "says", "why"})
"""Attributes of results and keys of their JSON that are sentences, whatever has them."""
WORDS = frozenset({"worded", "sentence", "complaint"})
"""Functions that make sentences of problems."""


@cache
def errors() -> frozenset[str]:
    """Return the names of all classes of errors of masktron."""
    classes = [node for path in MODULES for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)]
    found, before = {"MasktronError"}, 0
    while len(found) > before:
        before = len(found)
        found |= {one.name for one in classes if not found.isdisjoint(_names(one.bases))}
    return frozenset(found)


def _names(nodes: list[ast.expr]) -> set[str]:
    """Return the last names of all names within expressions."""
    each = [node for one in nodes for node in ast.walk(one)]
    return {node.id for node in each if isinstance(node, ast.Name)} | {
        node.attr for node in each if isinstance(node, ast.Attribute)
    }


class Searches:
    """Where a function, or a module outside of its functions, looks into sentences.

    Parameters
    ----------
    body : list of ast.stmt
    """

    def __init__(self, body: list[ast.stmt]) -> None:
        self._nodes = [node for one in body for node in ast.walk(one)]
        self._given = {
            node.arg
            for node in self._nodes
            if isinstance(node, ast.arg) and node.arg in PARAMETERS and _names([node.annotation or node]) == {"str"}
        }
        self._errors = {name for node in self._nodes for name in _bound(node)}
        self._texts: set[str] = set()
        self._texts = {
            target.id
            for node in self._nodes
            if isinstance(node, ast.Assign) and self._is_text(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def found(self) -> Iterator[int]:
        """Yield the lines."""
        return (node.lineno for node in self._nodes if isinstance(node, ast.stmt | ast.expr) and self._looks(node))

    def _looks(self, node: ast.AST) -> bool:
        match node:
            case ast.Compare():
                compared = any(map(self._is_text, [node.left, *node.comparators]))
                # whether there is one at all is no search
                return compared and not any(isinstance(one, ast.Is | ast.IsNot) for one in node.ops)
            case ast.Call(func=ast.Attribute() as function):
                given = [*node.args, *(one.value for one in node.keywords)]
                lines = bool(given) and ast.unparse(given[0]) == repr("\n")  # which are laid out, and not read
                searched = function.attr in SEARCHES and self._is_said(function.value) and not lines
                return searched or (function.attr in PATTERNS and any(map(self._is_said, given)))
            case ast.Subscript():
                return self._is_text(node.value)
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                return any(isinstance(one, ast.Attribute) and self._is_text(one) for one in targets)
        return False

    def _is_text(self, node: ast.expr) -> bool:
        match node:
            case ast.Name():
                return node.id in self._texts
            case ast.Attribute():
                return node.attr in TEXTS and self._is_error(node.value)
            case ast.Call(func=ast.Name(id="str")):
                return len(node.args) == 1 and isinstance(one := node.args[0], ast.Name) and one.id in self._errors
            case ast.Call(func=ast.Name()):
                return node.func.id in WORDS and node.func.id != "worded"  # type: ignore[attr-defined]
        return False

    def _is_said(self, node: ast.expr) -> bool:
        """Tell whether it is a sentence by what errors it comes from, or by its name."""
        match node:
            case ast.Name() if node.id in self._given:
                return True
            case ast.Attribute() if node.attr in SAID:
                return True
            case ast.Subscript(slice=ast.Constant(value=str(key))):
                return key in SAID
        return self._is_text(node)

    def _is_error(self, node: ast.expr) -> bool:
        match node:
            case ast.Name():
                return node.id in NAMES or node.id in self._errors
            case ast.Attribute():
                return node.attr in NAMES
            case ast.Call():
                return not WORDS.isdisjoint(_names([node.func]))
        return False


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield what a handler, an argument or a test of a class says to be an error of masktron."""
    match node:
        case ast.ExceptHandler(name=str(name), type=ast.expr() as kind) if errors() & _names([kind]):
            yield name
        case ast.arg(arg=name, annotation=ast.expr() as kind) if errors() & _names([kind]):
            yield name
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), kind]) if errors() & _names([kind]):
            yield name


def searches(tree: ast.Module) -> list[int]:
    """Return the lines of a module that look into sentences of ours."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    outside = [one for one in tree.body if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    return sorted({line for body in (outside, *([one] for one in functions)) for line in Searches(body).found()})


def test_no_module_searches_in_our_sentences() -> None:
    own = {PACKAGE / "errors.py", *(PACKAGE / "problems").rglob("*.py")}
    found = {str(path.relative_to(PACKAGE)): searches(tree_of(path)) for path in MODULES if path not in own}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "'XML' in error.what",
        "error.hint not in ('', 'x')",
        "error.what == 'it is gone'",
        "str(other).startswith('x')",
        "other.what.replace('a', 'b')",
        "' '.join(error.what.split())",
        "re.sub('a', 'b', run.error.where)",
        "_LINE.search(error.where)",
        "error.hint += 'x'",
        "error.what = 'x'",
        "text = other.what; text.partition(':')",
        "worded(one).hint.partition(';')",
        "sentence(one)[:3]",
        "one['says'].split('; ')",
        "one.help.replace('; repeatable.', '')",
        "_OPTION.sub(str, result['why'])",
    ],
)
def test_a_search_is_found(line: str) -> None:
    lines = ["def tried():", " try:", "  pass", " except UsageError as other:", f"  {line}"]
    assert searches(ast.parse("\n".join(lines))) == [5]


def test_a_function_that_rewrites_what_it_is_given_is_found() -> None:
    tried = "def in_browser(message: str) -> str:\n for one, words in _WORDS:\n  message = one.sub(words, message)"
    assert searches(ast.parse(tried)) == [3]


def test_no_template_of_pages_looks_into_what_it_shows() -> None:
    """But for the last part of a path, and codes as somebody has typed them."""
    looks = re.compile(r"\|\s*replace\b|\.(?:r?partition|r?split|[lr]?strip|replace|startswith|endswith|find)\(")
    spared = ('.rpartition("/")[2]', '.codes.split(",")')
    found = {}
    for path in sorted((PACKAGE / "web/templates").glob("*.html")):
        text = path.read_text(encoding="utf-8")
        found[path.name] = [
            text[one.start() :][:40] for one in looks.finditer(text) if not _spared(text, one, spared)
        ]
    assert {name: each for name, each in found.items() if each} == {}


def _spared(text: str, found: re.Match[str], spared: tuple[str, ...]) -> bool:
    return any(one in text[max(0, found.start() - 10) : found.end() + 10] for one in spared)


def test_no_filter_of_pages_changes_a_sentence() -> None:
    own = web_environment().filters.keys() - template_environment("web/templates").filters.keys()
    assert own == {"as_written", "bytes", "clock", "cut", "when"}


@pytest.mark.parametrize(
    "line",
    [
        "str(other)",
        "error.problem.code == 'a-b'",
        "f'{error.where}: {error.what}'",
        "other.where or 'x'",
        "x.where in y",
        r"error.what.replace('\n', ' ')",
    ],
)
def test_what_is_no_search_is_not_found(line: str) -> None:
    assert searches(ast.parse(f"try:\n pass\nexcept UsageError as other:\n {line}")) == []

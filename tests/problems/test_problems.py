"""Problems as data, their sentences, and that each use gives what its sentences name."""

from __future__ import annotations

import ast
import json
import os
import pickle
import re
from collections.abc import Iterator
from types import ModuleType

import pytest

from masktron.commands import COMMANDS
from masktron.commands.offered import offered
from masktron.errors import DocumentError, MasktronError, UsageError
from masktron.problems.problem import (
    Field,
    Known,
    Note,
    Place,
    Problem,
    Rule,
    Setting,
    SettingName,
    fields,
    format_option,
)
from masktron.problems.readers import Reader, reading
from masktron.problems.wording import Wording, names_in, needed_in, options_in, rooms, texts, worded
from package_trees import PACKAGE, tree_of
from paths import ROOT

PAGE = ROOT / "docs" / "reference" / "errors.md"
MODULES = sorted(PACKAGE.rglob("*.py"))


def calls(tree: ast.AST) -> Iterator[tuple[ast.expr, set[str | None], int]]:
    """Codes that a module uses, with the names that it gives: `XError.of(code, ...)`, and `Problem(code, ...)`."""
    nodes = list(ast.walk(tree))
    own = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "masktron.problems.problem"]
    imported = {one.name for node in own for one in node.names}
    for node in nodes:
        if isinstance(node, ast.Call) and node.args:
            function = node.func
            error = isinstance(function, ast.Attribute) and function.attr == "of" and _error(function.value)
            name = function.id if isinstance(function, ast.Name) else ""
            setting = {"name"} if name == "WrongValue" else set()  # which is known later
            if error or setting or name == "Problem" in imported:
                yield node.args[0], {*setting, *(one.arg for one in node.keywords)}, node.lineno


def _error(node: ast.expr) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name.endswith("Error")


def codes(node: ast.expr) -> list[str]:
    """Return the codes that an expression can be: a text, or one of two."""
    if isinstance(node, ast.IfExp):
        return [*codes(node.body), *codes(node.orelse)]
    assert isinstance(node, ast.Constant), ast.unparse(node)
    return [str(node.value)]


def used() -> Iterator[tuple[str, set[str | None], str]]:
    for path in MODULES:
        if path.parent.name != "problems" and path.name != "errors.py":
            for first, given, line in calls(tree_of(path)):
                if path.name == "declared.py" and isinstance(first, ast.Name):
                    continue  # it makes problems of any code
                for code in codes(first):
                    yield code, given - {"where", "facts", "place"}, f"{path.relative_to(PACKAGE)}:{line}"


def wrong_names(code: str, given: set[str | None]) -> set[str | None]:
    """Return the names that a use lacks, and those that its sentences have not."""
    text = re.sub(r"\[\[|\]\]", "", "\n".join(texts()[code]))
    return (needed_in(text) - given) | (given - names_in(text))


def test_each_use_gives_what_its_sentences_name() -> None:
    found = list(used())
    unknown = sorted((where, code) for code, _, where in found if code not in texts())
    known = [(code, given, where) for code, given, where in found if code in texts()]
    wrong = [(where, code, names) for code, given, where in known if (names := wrong_names(code, given))]
    assert not unknown
    assert not wrong


def test_each_text_is_used() -> None:
    assert sorted(texts().keys() - {code for code, _, _ in used()}) == []


def test_a_wrong_use_is_found() -> None:
    tree = ast.parse('raise UsageError.of("no-such-code", where=path, field=name)')
    ((first, given, _),) = calls(tree)
    assert (codes(first), given) == (["no-such-code"], {"where", "field"})


def test_no_code_stands_in_two_rooms() -> None:
    assert sum(len(room.TEXTS) for room in rooms()) == len(texts())


def test_each_text_can_be_read() -> None:
    """Codes are plain words; options are options; no sentence ends with a period, and what is wrong is one line."""
    for code, (what, hint) in texts().items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", code), code
        assert what, code
        assert not what.endswith("."), code
        assert "\n" not in what, code
        bare = re.sub(r"`masktron [^`]*`", "", what + hint)
        assert not re.search(r"(?<![\[\w-])--[a-z]", bare), f"{code}: write options in double brackets"
        for option in options_in(what) | options_in(hint):
            assert option in OPTIONS, (code, option)


OPTIONS = {spelling for listed in COMMANDS.values() for one in offered(listed.kind) for spelling in one.spellings}
"""What commands take."""


def test_codes_are_listed() -> None:
    """`docs/reference/errors.md` has all of them; MASKTRON_WRITE_DOCS=1 writes it."""
    page = errors_page()
    if os.environ.get("MASKTRON_WRITE_DOCS"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page


def errors_page() -> str:
    intro = (
        "# Errors and what to do\n\n"
        "Each error shows its code in square brackets at the end of the line that says what is wrong.\n"
        "Names in braces stand for what a message shows: a field, a file, a number.\n\n"
    )
    return intro + "\n".join(map(_section, rooms()))


def _section(room: ModuleType) -> str:
    title = str(room.__doc__).partition(": ")[0].rstrip(".")
    rows = (f"| `{code}` | {' | '.join(map(_shown, room.TEXTS[code]))} |\n" for code in sorted(room.TEXTS))
    return f"## {title}\n\n| code | what is wrong | what to do |\n| --- | --- | --- |\n{''.join(rows)}"


def _shown(template: str) -> str:
    named = re.sub(r"\{(\w+)[^}]*\}", r"{\1}", template)
    return " ".join(re.sub(r"\[\[(.*?)\]\]", r"`\1`", named).replace("|", "\\|").replace("<", "&lt;").split())


MADE = {
    "a-b": (
        "{field} of {records:record} {records:is|are} {text!r}",
        "use [[--role {field}=identifier]] or [[-k 3]]",
    )
}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, str]]:
    known = {**texts(), **MADE}
    monkeypatch.setattr("masktron.problems.wording.texts", lambda: known)
    return known


@pytest.mark.usefixtures("made")
def test_readers() -> None:
    one = Problem("a-b", field=Field("AGE"), records=1, text="x")
    assert worded(one).hint == 'use roles={"AGE": "identifier"} or k=3'
    with reading(Reader.TERMINAL):
        assert worded(one) == Wording("AGE of 1 record is 'x'", ("use --role AGE=identifier or -k 3",))
    both = Problem("a-b", field=fields(["AGE", "SEX"]), records=2, text="x")
    assert worded(both).hint == 'use roles={"AGE": "identifier", "SEX": "identifier"} or k=3'
    with reading(Reader.TERMINAL):
        assert worded(both) == Wording(
            "AGE, SEX of 2 records are 'x'", ("use --role AGE=identifier --role SEX=identifier or -k 3",)
        )


@pytest.mark.usefixtures("made")
def test_fields_are_renamed() -> None:
    level = {"P.1.AGE": Field("P/AGE", "AGE of the first P"), "P.2.AGE": Field("P/AGE", "AGE of the second P")}

    def names[T: (Field, Rule)](one: T) -> T:
        found = level.get(one.name, one)
        assert isinstance(found, type(one))
        return found

    one = Problem("a-b", Place("x.csv", field=Field("P.1.AGE")), field=Field("P.1.AGE"), records=1, text="P.1.AGE")
    shown = worded(one.renamed(names))
    assert shown.what == "AGE of the first P of 1 record is 'P.1.AGE'"
    assert '"P/AGE": "identifier"' in shown.hint
    assert str(one.renamed(names).place) == "x.csv, field AGE of the first P"
    other = Problem("a-b", "/t/x.half", text="/t/x.half is locked").renamed(
        source=lambda name: name.replace(".half", "")
    )
    assert (str(other.place), other.references["text"]) == ("/t/x", "/t/x is locked")
    more = Problem(
        "a-b",
        option=Setting("--role", ("P.1.AGE=key", "P.2.AGE=key")),
        setting=SettingName("recode", ("P.1.AGE",)),
        known=Known("P.1.AGE", ("P.1.AGE", "P.2.AGE", "X")),
    ).renamed(names)
    assert more.references == {
        "option": Setting("--role", ("P/AGE=key",)),
        "setting": SettingName("recode", ("P/AGE",)),
        "known": Known("P/AGE", ("P/AGE", "X")),
    }
    both = Problem("a-b", field=fields(level), records=1, text="").renamed(names)
    assert worded(both).what.startswith("P/AGE of")
    assert 'roles={"P/AGE": "identifier"} or' in worded(both).hint


@pytest.mark.usefixtures("made")
def test_errors_carry_problems() -> None:
    error = UsageError.of("a-b", Place("x.csv", 3), field=Field("AGE"), records=2, text="")
    assert str(error) == """x.csv:3: AGE of 2 records are '' [a-b]\n  -> use roles={"AGE": "identifier"} or k=3"""
    other = pickle.loads(pickle.dumps(error))  # noqa: S301 -- its own
    assert (str(other), other.problem) == (str(error), error.problem)
    with reading(Reader.TERMINAL):
        assert error.hint == "use --role AGE=identifier or -k 3"


@pytest.mark.usefixtures("made")
def test_further_hints_follow() -> None:
    one = Problem("a-b", field=Field("AGE"), records=1, text="")
    assert worded(one.then(one.naming(field=Field("SEX")))).hint.count("; use roles=") == 1


@pytest.mark.usefixtures("made")
def test_hints_of_what_a_sentence_names_follow_once() -> None:
    inner = Problem("a-b", field=Field("AGE"), records=1, text="")
    both = Note("{several:and} and {one}", several=(inner, inner.naming(text="x")), one=inner)
    assert worded(both).hints == worded(inner).hints
    assert worded(Note("{one:alone}", one=inner)) == Wording(worded(inner).what, ())


@pytest.mark.usefixtures("made")
def test_an_error_has_the_problem_that_it_was_given_last() -> None:
    error = UsageError.of("a-b", field=Field("AGE"), records=1, text="")
    error.at("x.csv")
    error.then(Problem("a-b", field=Field("SEX"), records=1, text=""))
    assert error.args == (error.problem,)
    assert "x.csv" in repr(error)


def test_what_a_problem_is_about() -> None:
    one = Problem("a-b", field=Field("AGE"), role=Setting("--role", ("SEX=key",)), inner=Problem("c-d", x=Field("X")))
    assert one.about() == ("AGE", "SEX", "role", "X")


def test_problems_are_read_from_plain_data() -> None:
    place = Place("x.csv", 3, record=2, field=Field("AGE", "AGE of the first P"))
    named = {"field": fields("AB"), "value": 5, "setting": SettingName("recode", ("AGE",)), "rule": Rule("r")}
    more = {
        "option": Setting("--role", ("AGE=key",)),
        "helps": (format_option("decimal", "comma"),),
        "nothing": None,
    }
    inner = Problem("c-d", known=Known("X", ("x", "y")), value="17")
    more = {**more, "note": Note("about {field}", field=Field("B"))}
    one = Problem("a-b", place, **named, **more, inner=inner).then(inner)
    assert Problem.from_dict(json.loads(json.dumps(one.as_dict()))) == one


@pytest.mark.usefixtures("made")
def test_what_a_hint_gives_is_data() -> None:
    one = Problem("a-b", field=Field("AGE"), records=1, text="")
    assert worded(one).given == (
        Setting("--role", ("AGE=identifier",), offered=True),
        Setting("-k", ("3",), offered=True),
    )
    with reading(Reader.BROWSER):
        said = worded(one).hint
    assert said == "use “names somebody” for AGE on the page Roles or “Smallest group (k): 3” on the page Mask"


def test_helps_are_references() -> None:
    option = format_option("encoding", "cp1252")
    assert DocumentError.of("a-b", helps=[option]).helps == (option,)
    assert MasktronError("text").helps == ()

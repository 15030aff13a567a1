"""Nothing that an engine or a reader says of a record leaves a run that must not tell.

A process of its own feeds every function of XPath the fields of records; all that it writes is searched, with both
file descriptors: what engines print themselves does not pass through `sys.stderr`.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from elementpath import XPath1Parser
from elementpath.xpath2 import XPath2Parser
from elementpath.xpath31 import XPath31Parser

import masktron
from cli_runner import SCHEMATRON, Runner, write_rules
from examples import FULL
from masktron.errors import DocumentError, InfeasibleError, MasktronError, RulebookError, UsageError
from masktron.jobs.following import without_values
from masktron.problems.problem import Field, Place, Problem
from masktron.problems.readers import Reader, reading
from masktron.problems.wording import names_in, texts
from masktron.rulebook.expressions.forbidden import FORBIDDEN
from masktron.rulebook.expressions.words import FUNCTIONS_NAMESPACE
from masktron.rulebook.functions import FUNCTIONS
from refusals import code_of
from xpath_functions import ARRAY, CONSTRUCTORS, FN, MAP, MATH, XPATH1, XPATH2, calls

REPORTS = ("svrl", "csv", "json", "sarif", "junit")
SECRET = "Zq7VaultWagtail9Kx"  # noqa: S105 -- no password
NUMBER = "735819462718"
DATE, TIME = "1987-03-29", "1987-03-29T11:47:53"
RECORD = f"<Record><V>{SECRET}</V><N>{NUMBER}</N><D>{DATE}</D><T>{TIME}</T></Record>"
NAMESPACES = {"": FN, "math:": MATH, "map:": MAP, "array:": ARRAY}


def forms() -> Iterator[str]:
    """Yield the secrets and what functions make of them."""
    for secret in (SECRET, NUMBER):
        half = len(secret) // 2
        yield from (secret, secret[::-1], secret[half:], secret[:half], secret[1:], secret[:-1])
        yield secret.encode().hex()
        yield base64.b64encode(secret.encode()).decode().rstrip("=")[:-1]
        yield from (separator.join(str(ord(sign)) for sign in secret) for separator in (" ", ", ", ","))
    number = int(NUMBER)
    yield from (f"{number:,}", f"{number:.3e}"[:5] + f"{number:e}"[5:8], "7.35819462718E11", f"{number // 100}")
    yield from (DATE, DATE.replace("-", ""), "29 March 1987", "29 Mar 1987", TIME[11:], "PT11H47M53S")


LATER = frozenset({"round-2", "tokenize-1", "data-2"})
"""Calls with a number of arguments that XPath 2.0 does not know."""
FORMS = tuple(dict.fromkeys(form.lower() for form in forms()))


def assert_nothing(content: bytes, where: object) -> None:
    for codec in ("utf-8", "utf-16-le", "utf-16-be"):
        text = content.decode(codec, errors="replace").lower()
        assert [form for form in FORMS if form in text] == [], f"{where}: {text[:2000]}"


def _known(parser: Any) -> tuple[dict[str, set[str]], set[str]]:
    """Return the functions that elementpath knows, by namespace, and its constructors."""
    functions: dict[str, set[str]] = {}
    constructors: set[str] = set()
    for symbol, token in parser.symbol_table.items():
        uri, local = re.fullmatch(r"(?:\{(.*)\})?(.*)", symbol).groups()  # type: ignore[union-attr]
        label = str(token.label).split("__")
        if "function" in label and getattr(token, "nargs", None) is not None:
            functions.setdefault(uri or FUNCTIONS_NAMESPACE, set()).add(local)
        if "constructor_function" in label or label == ["constructor function"]:
            constructors.add(local)
    return functions, constructors


def test_no_function_is_forgotten() -> None:
    """The table is that of the recommendation; elementpath has made its own."""
    functions, constructors = _known(XPath31Parser)
    lists = {"": FN, "/math": MATH, "/map": MAP, "/array": ARRAY}
    assert {uri.removeprefix(FUNCTIONS_NAMESPACE): names for uri, names in functions.items()} == {
        uri: set(names) for uri, names in lists.items()
    }
    # xs:error has no value, xs:numeric is no constructor, nothing is cast to NOTATION
    assert constructors - {"error", "numeric", "NOTATION"} == set(CONSTRUCTORS)
    assert _known(XPath2Parser)[0] == {FUNCTIONS_NAMESPACE: XPATH2}
    xslt = {"current", "document", "key", "format-number", "generate-id", "system-property", "unparsed-entity-uri"}
    xslt |= {"element-available", "function-available"}
    assert _known(XPath1Parser)[0] == {FUNCTIONS_NAMESPACE: set(XPATH1) - xslt}
    # what XSLT adds later is in test_functions.py
    assert set(FORBIDDEN) - set(FN) - set(XPATH1) <= set(FUNCTIONS)


def every_call(binding: str) -> dict[str, str]:
    """Return the calls of all functions that a version of XPath has, by an id."""
    match binding:
        case "xslt":
            return calls(XPATH1, XPATH1)
        case "xslt2":
            return {key: call for key, call in calls(sorted(XPATH2), FN).items() if key not in LATER}
        case _:
            named = ((prefix, calls(table, table)) for prefix, table in NAMESPACES.items())
            found = {f"{prefix}{key}": call for prefix, own in named for key, call in own.items()}
            return found | {f"xs:{key}": call for key, call in calls(CONSTRUCTORS, CONSTRUCTORS).items()}


def is_refused(name: str) -> bool:
    name = name.rpartition("-")[0]
    return name in FORBIDDEN or name in ("doc", "document", "generate-id")


def _rulebook(path: Path, tests: Mapping[str, str], binding: str) -> Path:
    """Write a rulebook with two rules for each call: what it says, and what it is."""
    wrapped = "string({}) = 'x'" if binding == "xslt" else "deep-equal(({}), 'x')"
    escaped = {name: escape(call, {'"': "&quot;"}) for name, call in tests.items()}
    asserts = "".join(
        f'<assert id="{name.replace(":", ".")}" test="{wrapped.format(call)}"><value-of select="{call}"/></assert>'
        for name, call in escaped.items()
    )
    path.write_text(
        f'<schema xmlns="{SCHEMATRON}" queryBinding="{binding}"><pattern>'
        f'<rule context="Record">{asserts}</rule></pattern></schema>'
    )
    return path


def _child(folder: Path, commands: Mapping[str, list[str]]) -> dict[str, tuple[str, str]]:
    """Run commands in one process; return what each wrote to the file descriptors 1 and 2."""
    program = """
import json, os, sys
from unittest.mock import patch
from masktron.commands.line import main
for name, words in json.load(sys.stdin).items():
    for stream in (1, 2):
        os.write(stream, f"@@{name}@@".encode())
    with patch.object(sys, "argv", ["masktron", *words]):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(2, f"exit {code or 0}".encode())
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(commands).encode(),
        capture_output=True,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    parts = [re.split("@@(.*?)@@", stream.decode())[1:] for stream in (done.stdout, done.stderr)]
    out, err = (dict(zip(part[::2], part[1::2], strict=True)) for part in parts)
    assert out.keys() == err.keys() == commands.keys()
    return {name: (out[name], err[name]) for name in commands}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("secrets") / "data.xml"
    path.write_text(f"<Data>{RECORD * 3}</Data>")
    return path


def test_no_function_tells_what_it_was_fed(data: Path) -> None:
    folder, commands, counts = data.parent, {}, {}
    for binding in ("xslt2", "xslt", "xslt3") if FULL else ("xslt2",):
        tests = every_call(binding)
        allowed = {name: call for name, call in tests.items() if not is_refused(name)}
        counts[binding] = len(allowed)
        rules = _rulebook(folder / f"{binding}.sch", allowed, binding)
        reports = [word for kind in REPORTS for word in (f"--{kind}", str(folder / f"{binding}.out.{kind}"))]
        # keys of maps look like names that the file does not have
        asked = ["validate", str(data), "-r", str(rules), "--allow-unfired", "*"]
        commands[binding] = [*asked, "--release-safe", *reports]
        if binding == "xslt2":
            commands["told"] = [*asked, "--svrl", str(folder / "told")]
        for name in tests.keys() - allowed.keys():
            rules = _rulebook(folder / f"{binding}-{name}.sch", {name: tests[name]}, binding)
            commands[f"refused {binding} {name}"] = ["validate", str(data), "-r", str(rules), "--release-safe"]
    said = _child(folder, commands)
    for name, (out, err) in said.items():
        # tables have counts and names, also where reports tell
        assert_nothing((out + err).encode(), name)
        if name.startswith("refused"):
            function = name.split()[-1].rpartition("-")[0]
            assert f"{function}()" in err, name
            assert err.endswith("exit 3")
        else:
            assert err.endswith("exit 1"), (name, err)
    assert SECRET.encode() in (folder / "told").read_bytes()
    for binding, number in counts.items():
        rules = json.loads((folder / f"{binding}.out.json").read_text())["rules"]
        assert len(rules) == number
        assert all(rule["fired"] == 3 for rule in rules)
        # what makes an error of a secret is among them
        assert sum(rule["errors"] > 0 for rule in rules) >= {"xslt": 0, "xslt2": 60, "xslt3": 180}[binding]
        for kind in REPORTS:
            assert_nothing((folder / f"{binding}.out.{kind}").read_bytes(), f"{binding} {kind}")
    assert sum(name.startswith("refused") for name in said) > 10 * len(counts)


@pytest.mark.parametrize("command", ["validate", "mask", "check", "explain"])
def test_every_command_refuses_to_trace(command: str, data: Path, tmp_path: Path, run: Runner) -> None:
    rules = write_rules(tmp_path / "r.sch", "trace(V, 'x') = 'x'", binding="xslt2")
    words: dict[str, list[object]] = {
        "mask": [data, "-r", rules, "-o", tmp_path / "o.xml"],
        "explain": [rules, "--data", data],
    }
    outcome = run(command, *words.get(command, [data, "-r", rules]))
    assert outcome.code == 3
    assert code_of(outcome.err) == "forbidden-function"


WRONG_DATA = {
    "less-than": f"<Data><Record><V>{SECRET}<</V></Record></Data>",
    "entity": f"<Data><Record><V>&{SECRET};</V></Record></Data>",
    "end-tag": f"<Data><Record><V></{SECRET}></Record></Data>",
    "prefix": f"<Data><Record><{SECRET}:V/></Record></Data>",
    "attribute": f"<Data><Record {SECRET}='{NUMBER}' {SECRET}=''/></Data>",
    "control": f"<Data><Record><V>{SECRET}\x01</V></Record></Data>",
    "declared": f"<!DOCTYPE Data [<!ENTITY {SECRET} '{NUMBER}'>]><Data><Record><V>&{SECRET};</V></Record></Data>",
    "system": f"<!DOCTYPE Data SYSTEM '{SECRET}.dtd'><Data><Record/></Data>",
    "behind": f"<Data><Record/></Data>{SECRET}",
    "encoding": f"<?xml version='1.0' encoding='{SECRET}'?><Data><Record/></Data>",
    "instruction": f"<Data><Record><?{SECRET} </Record></Data>",
    "comment": f"<Data><!-- {SECRET} -- {NUMBER} --><Record/></Data>",
    "cdata": f"<Data><Record><V><![CDATA[{SECRET}</V></Record></Data>",
    "cut": f"<Data><Record><V>{SECRET}",
    "nothing": SECRET,
    "two": f"<Data><{SECRET}><a/></{SECRET}><x{NUMBER}><a/></x{NUMBER}></Data>",
    "deep": "<a>" * 400 + SECRET + "</a>" * 400,
}
WRONG_RULES = {
    "variable": ('<let name="x" value="xs:integer(/Data/Record[1]/V)"/>', "Record", "V = $x"),
    "context": ("", "Record[xs:integer(V) > 1]", "V = 1"),
    "error": ("", "Record[error(xs:QName('V'), V)]", "V = 1"),
    "across": ("", "Record", "count(//Record[xs:integer(V) = 1]) = 0"),
    "pattern": ("", "Record", "matches('x', concat(V, '('))"),
    "outside": ("", "/Data", "xs:integer(Record[1]/V) = 0"),
    "original": ("", "Record", "V = document('o.xml')//V"),
}


def test_no_error_tells_what_was_read(data: Path, tmp_path: Path) -> None:
    """Files that no reader takes, and rules that engines stop at: neither streams nor reports have a value."""
    commands: dict[str, list[str]] = {}
    plain = write_rules(tmp_path / "r.sch", "V = 1")
    for name, content in WRONG_DATA.items():
        (tmp_path / f"{name}.xml").write_text(content)
        commands[name] = ["validate", str(tmp_path / f"{name}.xml"), "-r", str(plain)]
    for name, (extra, context, test) in WRONG_RULES.items():
        rules = write_rules(tmp_path / f"{name}.sch", test, binding="xslt2", context=context, extra=extra)
        commands[name] = ["validate", str(data), "-r", str(rules)]
    commands["original"] += ["--original", str(tmp_path / "entity.xml")]
    commands["record"] = [*commands["two"], "--record", "Nobody"]
    commands["record-id"] = [
        "validate",
        str(tmp_path / "named.xml"),
        "-r",
        str(plain),
        "--record-id",
        f"{SECRET}s"[1:],
    ]
    (tmp_path / "named.xml").write_text(f"<Data><Record><{SECRET}>1</{SECRET}></Record></Data>")
    for words in commands.values():
        words.append("--release-safe")
        words += [word for kind in REPORTS for word in (f"--{kind}", str(tmp_path / f"out.{kind}"))]
    del commands["record-id"][-2 * len(REPORTS) :]
    said = _child(tmp_path, commands)
    for name, (out, err) in said.items():
        assert_nothing((out + err).encode(), name)
        wanted = 2 if name in ("record", "record-id") else 1 if name in WRONG_RULES and name != "original" else 4
        wanted = 3 if name == "two" else wanted  # which is a document, and no rule fires in it
        assert err.endswith(f"exit {wanted}"), (name, err)
    for kind in REPORTS:
        assert_nothing((tmp_path / f"out.{kind}").read_bytes(), kind)


@pytest.mark.parametrize("name", ["two", "crash"])
def test_an_exception_carries_nothing_either(
    name: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its text nor what it came from, which some tools show."""
    rules = write_rules(tmp_path / "r.sch", "V = 1")
    named = {"record": "Nobody"} if name == "two" else {}
    if name in WRONG_DATA:
        data = tmp_path / "d.xml"
        data.write_text(WRONG_DATA[name])
    else:

        def crash(*_: object, **__: object) -> None:
            raise ValueError(f"could not convert {SECRET!r}")

        monkeypatch.setattr("masktron.jobs.job.verdicts", crash)
    with pytest.raises((MasktronError, RuntimeError)) as caught:
        masktron.validate(data, rules, release_safe=True, **named)
    assert caught.value.__context__ is None
    assert_nothing(repr(caught.value).encode() + str(caught.value).encode(), name)
    with pytest.raises(Exception) as told:
        masktron.validate(data, rules, **named)
    assert SECRET in str(told.value)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kind", [DocumentError, RulebookError, UsageError, InfeasibleError])
def test_no_code_shows_what_it_names(kind: type[MasktronError], several: bool) -> None:
    """As if all that a code names were values of the data: none is in its sentences, nor in what programs read."""
    value: object = (SECRET, SECRET) if several else SECRET
    shown = 0
    for code, templates in texts().items():
        names = sorted(set().union(*(names_in(one.replace("[[", "").replace("]]", "")) for one in templates)))
        place = Place("d.csv", 7, record=6, field=Field(SECRET))
        error = kind(Problem(code, place).naming(**dict.fromkeys(names, value)))

        def stopped(error: MasktronError = error) -> None:
            raise error

        with pytest.raises(Exception) as caught:
            without_values(stopped, wanted=True, rulebook_read=True)
        told = [repr(caught.value)]
        for one in Reader:
            with reading(one):
                told.append(str(caught.value))
        if isinstance(caught.value, MasktronError):
            told.append(json.dumps(caught.value.problem.as_dict()))
        assert SECRET not in " ".join(told), code
        assert SECRET in str(error)
        shown += SECRET in error.what
    assert shown > 200


@pytest.mark.parametrize("name", sorted(WRONG_DATA))
def test_describe_does_not_tell_what_was_read_either(name: str, tmp_path: Path) -> None:
    path = tmp_path / "d.xml"
    path.write_text(WRONG_DATA[name])
    with pytest.raises(MasktronError) as caught:
        masktron.describe(path, release_safe=True)
    assert_nothing(str(caught.value).encode(), name)

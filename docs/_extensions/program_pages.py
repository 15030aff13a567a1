"""Reference pages that are read off the program: commands, settings, methods, measures, schemas, exit codes, Python."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import masktron
from masktron import errors, estimators
from masktron.commands import COMMANDS, Listed
from masktron.commands.help_text import described, named, usage_of
from masktron.commands.offered import Offered, in_panels, offered
from masktron.config import Config, Kind, Role
from masktron.declared import declared_in
from masktron.figures import FIGURES
from masktron.methods import ALL
from masktron.report.tables.methods import methods_dict

HERE = "reference/generated"
SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
_MARKED = re.compile(r"([\\*_<>\[\]|`$])")
_STYLE = re.compile(r"\[/?(?:bold|dim|italic|green|red|yellow|cyan)[^\]]*\]")
_NEED_WORDS = {
    "manifest": "the manifest",
    "class": "`--class FIELD`",
    "earlier": "an earlier release",
    "keys": "quasi-identifiers",
}


def plain(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return _MARKED.sub(r"\\\1", " ".join(_STYLE.sub("", text).split()))


def prose(text: str) -> str:
    """Return the text of a docstring as Markdown: names in backticks are code."""
    parts = re.split(r"(``?[^`]+``?)", " ".join(text.split()))
    return "".join(f"`{part.strip('`')}`" if part.startswith("`") else _MARKED.sub(r"\\\1", part) for part in parts)


def program_pages() -> Iterator[tuple[str, str]]:
    """Name and text of each page."""
    for listed in COMMANDS.values():
        yield f"{HERE}/commands/{listed.name}", command_page(listed)
    yield f"{HERE}/settings", settings_page()
    yield f"{HERE}/methods", methods_page()
    yield f"{HERE}/measures", measures_page()
    yield f"{HERE}/exit-codes", exit_page()
    for path in sorted(SCHEMAS.glob("*.schema.json")):
        name = path.name.removesuffix(".schema.json")
        yield f"{HERE}/schemas/{name}", schema_page(path)
    yield from python_pages()


def command_page(listed: Listed) -> str:
    """Return the page of a command, from what it declares."""
    taken = offered(listed.kind)
    arguments = [one for one in taken if not one.spellings]
    said = "\n\n".join(plain(part) for part in described(listed))
    parts = [f"# masktron {listed.name}\n", f"{said}\n", f"```text\n{usage_of(listed.name, taken)} [OPTIONS]\n```\n"]
    parts.append(f"```bash\n{listed.example}\n```\n")
    if arguments:
        parts.append("## Arguments\n\n" + "\n".join(map(_option, arguments)))
    for title, some in in_panels(taken).items():
        parts.append(f"## {title}\n\n" + "\n".join(map(_option, some)))
    return "\n".join(parts)


def _option(one: Offered) -> str:
    """Return an entry of a list of definitions."""
    spellings = [*one.spellings, *filter(None, [one.said.off])]
    value = "" if one.switch else f" {one.metavar}"
    names = ", ".join(f"`{spelling}{value}`" for spelling in spellings) or f"`{named(one) or one.metavar}`"
    more = ["Needed."] if one.required and one.spellings else []
    more += ["May be given several times."] if one.several else []
    more += [f"Default: {plain(one.shown)}."] if one.shown else []
    return f"{names}\n: {' '.join([plain(one.help), *more]).strip() or '-'}\n"


def settings_page() -> str:
    """Return the page of settings, from the docstring of `Config` and its defaults."""
    defaults = {one.name: one.default for one in fields(Config)}
    told = {
        names[0]: (kind, text) for names, kind, text in numpydoc_entries(inspect.getdoc(Config) or "", "Attributes")
    }
    parts = [
        "# Settings\n",
        "Settings are lines of `masktron.toml`, or arguments in Python, with the names below. Most are options of commands as "
        "well, which win over the file: `key_k` is `--key-k`, and what is given several times is in the singular, as "
        "`--role NAME=identifier`.\n",
        '```toml\nk = 5\ngrouping = "all"\n\n[roles]\nNAME = "identifier"\n\n[limits]\nlinkage = 20\n```\n',
        "How a CSV is written ([all its options](../../formats/text-files.md)), here one from Excel in Europe:\n",
        '```toml\n[format_options]\nencoding = "cp1252"\ndecimal = "comma"\ntexts = "NACE"\n```\n',
        "A few rules ([how to write them](../../writing-rules.md#rules-in-the-settings)); those of `--rules` win:\n",
        '```toml\n[rules]\nincome_sum = "wage + other == income"\nage_range = "age in 16..110"\n```\n',
        "## Roles\n\nWhat a field is for. A field of numbers is `confidential` unless something else is said.\n",
        _members(Role),
        "## Kinds\n\nWhat the values of a field are.\n",
        _members(Kind),
        "## Every setting\n",
    ]
    for name, said in declared_in(Config).items():
        kind, text = told.get(name, ("", said.help))
        default = defaults[name]
        shown = f" Default: `{_toml(default)}`." if isinstance(default, int | float | str) else ""
        parts.append(f"`{name}`\n: {f'*{prose(kind)}*. ' if kind else ''}{prose(text)}{shown}\n")
    return "\n".join(parts)


def _toml(value: object) -> str:
    return json.dumps(value.value if isinstance(value, Role | Kind) else value)


def _members(kind: type) -> str:
    told = member_docs(kind)
    return "\n".join(f"`{one.value}`\n: {prose(told[one.name])}\n" for one in kind)  # type: ignore[attr-defined]


def member_docs(kind: type) -> dict[str, str]:
    """Return what stands below each member of a class in its source."""
    (body,) = ast.parse(inspect.getsource(kind)).body
    if not isinstance(body, ast.ClassDef):
        raise TypeError(f"{kind} is no class")
    told = {}
    for one, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(one, ast.Assign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            told[ast.unparse(one.targets[0])] = str(after.value.value)
    return told


def numpydoc_entries(text: str, section: str) -> Iterator[tuple[list[str], str, str]]:
    """Names, type and text of each entry of a section of a docstring."""
    body = re.split(rf"^{section}\n-+\n", text, flags=re.MULTILINE)[1]
    body = re.split(r"^\w[\w ]*\n-{3,}\n", body, flags=re.MULTILINE)[0]
    for entry in re.split(r"\n(?=\S)", body.strip()):
        head, _, rest = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        yield [name.strip() for name in names.split(",")], kind, rest


def methods_page() -> str:
    """Return the page with the parameters of each method."""
    parts = [
        "# Parameters of methods\n",
        "What `masktron methods NAME` says. [Masking methods](../../methods.md) explains them and helps to choose.\n",
    ]
    for one in methods_dict(ALL, ALL[0])["methods"]:
        parts.append(f"## {one['name']}\n\n{plain(one['title'])}. {plain(one['says'])}\n")
        parts.append(f"Promise: {plain(one['contract']['says'])}.\n")
        rows = [
            (f"`{each['option']}`", plain(str(each["default"])), plain(each["admits"]), plain(each["says"]))
            for each in one["parameters"]
        ]
        parts.append(table(("parameter", "default", "may be", "what it does"), rows))
    return "\n".join(parts)


def measures_page() -> str:
    """Return the page of figures, in the words that `assess` has."""
    heads = {
        "contract": "What masking promised",
        "risk": "Risk: what an intruder may learn",
        "utility": "Utility: what the data are still good for",
    }
    parts = [
        "# Measures\n",
        "Numbers that say something of a masked file. `masktron assess` shows them, `--limit NAME=BOUND` makes one of them "
        "a condition of a release: the most that it may be where lower is better, else the least. Each says "
        "what is usual.\n",
    ]
    for group, head in heads.items():
        parts.append(f"## {head}\n")
        for one in FIGURES:
            if one.group == group:
                unit = {"%": "per cent", "records": "records", "": "a number"}.get(one.unit, one.unit)
                needs = f"; needs {', '.join(_NEED_WORDS[each] for each in one.needs)}" if one.needs else ""
                parts.append(f"### `{one.name}`\n\n{plain(one.meaning)}\n\n*{unit}, {one.better} is better{needs}*\n")
    return "\n".join(parts)


def exit_page() -> str:
    """Return the page of exit codes and errors."""
    told = member_docs(errors.Exit)
    kinds = [
        kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, errors.MasktronError)
    ]
    rows = []
    for one in errors.Exit:
        names = [f"`{kind.__name__}`" for kind in kinds if kind.exit_code == one and kind is not errors.MasktronError]
        rows.append((str(int(one)), prose(told[one.name]), ", ".join(names) or "-"))
    rows.append(
        ("128 + n", "Ended by signal n: 130 interrupted, 143 terminated, 141 nobody reads the output any more.", "-")
    )
    errors_told = [
        f"`{kind.__name__}`\n: {prose((kind.__doc__ or '').partition(chr(10))[0])}\n"
        for kind in kinds
        if kind is not errors.MasktronError
    ]
    return "\n".join(
        [
            "# Exit codes\n",
            "A command ends with a number that scripts can read. All but 0 come with a message that says what is wrong, where, "
            "and what to do. [My run was refused](../../refusals.md) helps with 1 and 5.\n",
            table(("code", "meaning", "error in Python"), rows),
            "After exit code 7, please report the place that the message names. `MASKTRON_DEBUG=1` in the environment shows the "
            "traceback, whose last line may quote a value. After a signal, one line says what had been written before, and which "
            "finished parts stay for `--resume`.\n",
            "## Errors in Python\n\nAll of them are `masktron.errors.MasktronError`, with `what`, `where`, `hint` and "
            "`exit_code`.\n",
            *errors_told,
        ]
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def schema_page(path: Path) -> str:
    """Return the page of a JSON Schema: every key with its type and meaning."""
    schema = json.loads(path.read_text(encoding="utf-8"))
    rows = [
        (f"`{name}`", kind, plain(text))
        for name, kind, text in _keys(schema, schema.get("$defs", {}), "", frozenset())
    ]
    needed = ", ".join(f"`{name}`" for name in schema.get("required", ()))
    says = f"{prose(schema['description'])}\n\n" if "description" in schema else ""
    always = f"Always there: {needed}.\n\n" if needed else ""
    return (
        f"# {plain(schema.get('title', path.name))}\n\n{says}The file is `schemas/{path.name}`, in the package under "
        f"`masktron/resources`. `a[].b` is the key `b` in each entry of the list `a`.\n\n{always}"
        + table(("key", "type", "meaning"), rows)
    )


def _keys(
    part: Mapping[str, Any], defs: Mapping[str, Any], at: str, above: frozenset[str]
) -> Iterator[tuple[str, str, str]]:
    part, above = _resolved(part, defs, above)
    for branch in (part, *part.get("allOf", ()), *part.get("oneOf", ()), *part.get("anyOf", ())):
        for name, one in branch.get("properties", {}).items():
            place = f"{at}.{name}" if at else name
            found, below = _resolved(one, defs, above)
            yield place, _kind(found, defs), str(one.get("description", found.get("description", "")))
            yield from _inside(found, defs, place, below)


def _inside(
    part: Mapping[str, Any], defs: Mapping[str, Any], place: str, above: frozenset[str]
) -> Iterator[tuple[str, str, str]]:
    yield from _keys(part, defs, place, above)
    for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(part.get(key), Mapping):
            found, below = _resolved(part[key], defs, above)
            yield from _inside(found, defs, place + mark, below)


def _resolved(
    part: Mapping[str, Any], defs: Mapping[str, Any], above: frozenset[str]
) -> tuple[Mapping[str, Any], frozenset[str]]:
    name = str(part.get("$ref", "")).rpartition("/")[2]
    if not name:
        return part, above
    if name in above or name not in defs:
        return {"type": name}, above
    return {**defs[name], **{key: one for key, one in part.items() if key != "$ref"}}, above | {name}


def _kind(part: Mapping[str, Any], defs: Mapping[str, Any]) -> str:
    if "const" in part:
        return f"`{json.dumps(part['const'])}`"
    if "enum" in part:
        return " or ".join(f"`{json.dumps(one)}`" for one in part["enum"])
    for key in ("oneOf", "anyOf"):
        if key in part:
            kinds = (_kind(_resolved(one, defs, frozenset())[0], defs) for one in part[key])
            return " or ".join(dict.fromkeys(kinds))
    kinds = part.get("type", "anything")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds == ["array"] and isinstance(part.get("items"), Mapping):
        return f"list of {_kind(_resolved(part['items'], defs, frozenset())[0], defs)}"
    return " or ".join(kinds)


def python_pages() -> Iterator[tuple[str, str]]:
    """Pages of the interface, from docstrings."""
    public = [name for name in masktron.__all__ if not name.startswith("__")]
    functions = [name for name in public if inspect.isfunction(getattr(masktron, name))]
    for name in functions:
        yield f"{HERE}/python/{name}", f"# masktron.{name}\n\n" + _auto("function", f"masktron.{name}")
    results = [name for name in public if name.endswith("Result")]
    for name in results:
        lines = [":members:", ":inherited-members:", ":exclude-members: JOB, KEYS"]
        yield f"{HERE}/python/{name}", f"# {name}\n\n" + _auto("class", f"masktron.{name}", *lines)
    made = "\n".join(_auto("class", f"masktron.estimators.{kind.__name__}") for kind in estimators.ALL)
    yield (
        f"{HERE}/python/estimators",
        "# masktron.estimators\n\nEach method as a transformer of scikit-learn, for arrays and without edit rules.\n\n"
        + _auto("class", "masktron.estimators.Masker", ":members: fit, transform, fit_transform")
        + "\n"
        + made,
    )


def _auto(kind: str, name: str, *options: str) -> str:
    lines = "".join(f"   {line}\n" for line in options)
    return f"```{{eval-rst}}\n.. auto{kind}:: {name}\n{lines}```\n"

"""Settings that are there keep their comments, whatever their spelling, and say what they are to say."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from masktron.config import Config, config_from
from masktron.jobs.search.grid import settings_of
from masktron.jobs.search.settings_text import changed, write_settings
from masktron.results import TuneCandidate
from masktron.settings_file import load_config
from masktron.toml_text import TomlText

NASTY = ("", " k = 9", ' "', " '''", ' """', " [params]", " ]} = {[", " \\", " é\u2028\x85")
"""What a comment may hold that looks like something else."""
SPELLINGS = {
    "k": ("4", "0x4", "+4"),
    "method": ('"noise"', "'noise'", '"""noise"""', "'''\nnoise'''", '"nois\\u0065"', '"""\\\n  noise"""'),
    "grouping": ('"all"', "'rules'"),
    "aggregator": ('"median"', "'median'"),
    "nominal": (
        '["G", "a # b"]',
        '["a\\" # b"]',
        "[\n  'G',COMMENT\n  'x]', COMMENT\nCOMMENT\n]",
        '["""q"""", "# no [params]"]',
    ),
    "invalid": ('"exclude"',),
}
"""Settings of the first level, and ways to write them; COMMENT is a place for one."""
PARAMS = {
    "class": ("['a',COMMENT\n 'b # c'COMMENT\nCOMMENT\n]", "[]"),
    "c": ("0.25", "2.5e-1"),
    "exact": ("true", "false"),
    "method": ('"x = 1 # y"', "'''[params]\n# no comment'''"),
}
TABLES = (
    '[roles]COMMENT\nID = \'record-id\'COMMENT\n"annual # income" = "confidential"COMMENT\n',
    "[missing]COMMENT\nC = [\n  '-9',COMMENT\n  '# no comment'\n]COMMENT\n",
    "[tune]COMMENT\nk = [3,COMMENT\n 9]COMMENT\n[tune.params.noise]COMMENT\nc = [0.1, 0.3]COMMENT\n",
    "[limits]\nCOMMENT\nlinkage = 12.5COMMENT\n\n",
)


@dataclass
class Written:
    """A text under way, with the comments in it, each of which is there once."""

    draw: st.DrawFn
    comments: list[str]

    def filled(self, text: str) -> str:
        """Put comments into some of their places."""
        parts = text.split("COMMENT")
        return "".join(part + self.comment() for part in parts[:-1]) + parts[-1]

    def comment(self) -> str:
        if not self.draw(st.booleans()):
            return ""
        self.comments.append(f"# note {len(self.comments)}.{self.draw(st.sampled_from(NASTY))}")
        return f"{self.draw(st.sampled_from(['', ' ', chr(9)]))}{self.comments[-1]}"

    def line(self, key: str, values: tuple[str, ...]) -> str:
        own = self.draw(st.sampled_from([key, f'"{key}"', f"'{key}'"])) if "." not in key else key
        equals = self.draw(st.sampled_from(["=", " = ", "  =  "]))
        above = "COMMENT\n" if self.draw(st.booleans()) else ""
        indent = self.draw(st.sampled_from(["", "  "]))
        return self.filled(f"{above}{indent}{own}{equals}{self.draw(st.sampled_from(values))}COMMENT\n")


@st.composite
def settings_texts(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A file of settings with comments anywhere, and those comments."""
    made = Written(draw, [])
    lines = [
        made.line(key, SPELLINGS[key]) for key in draw(st.permutations(sorted(SPELLINGS))) if draw(st.booleans())
    ]
    own = {key: PARAMS[key] for key in draw(st.permutations(sorted(PARAMS))) if draw(st.booleans())}
    tables = [made.filled(table) for table in draw(st.permutations(TABLES)) if draw(st.booleans())]
    match draw(st.sampled_from(["none", "line", "dotted", "table"])):
        case "line":
            inside = ", ".join(f"{key} = {values[0]}" for key, values in own.items() if key != "method")
            lines.insert(0, made.line("params", (f"{{ {inside} }}",)))
        case "dotted":
            lines += [made.line(f"params.{key}", values) for key, values in own.items()]
        case "table":
            body = "".join(made.line(key, values) for key, values in own.items())
            tables.insert(draw(st.integers(0, len(tables))), f"{made.filled('[params]COMMENT')}\n{body}")
    text = made.filled("COMMENT\n") + "".join([*lines, *tables]) + made.comment()
    return text, made.comments


CANDIDATES = st.builds(
    TuneCandidate,
    method=st.sampled_from(["mdav", "noise"]),
    params=st.dictionaries(
        st.sampled_from(["c", "exact", "class", "a b"]), st.sampled_from([0.25, True, "#", (1, 2)])
    ),
    k=st.sampled_from([3, 4, 20]),
    grouping=st.sampled_from(["rules", "all"]),
    aggregator=st.sampled_from([None, "median"]),
)


@examples(30, full=3000)
@given(settings_texts(), CANDIDATES)
def test_every_comment_stays_and_the_rest_says_what_it_is_to_say(
    written: tuple[str, list[str]], candidate: TuneCandidate
) -> None:
    text, comments = written
    former = tomllib.loads(text)
    config = config_from({name: value for name, value in former.items() if name != "tune"})
    made = changed(text, settings_of(candidate, config), Path("masktron.toml"))
    now = tomllib.loads(made)
    own = {"k", "method", "grouping", "aggregator", "params"}
    assert _without(now, own) == _without(former, own)
    said = config_from({name: value for name, value in now.items() if name != "tune"})
    assert said == settings_of(candidate, config)
    # as all values are what they have to be, no comment is in one of them
    for comment in comments:
        assert sum(line.rstrip().endswith(comment.rstrip()) for line in made.split("\n")) == 1
    assert made.count("# note") == len(comments)
    again = changed(made, settings_of(candidate, config), Path("masktron.toml"))
    assert again == made


def _without(table: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in names}


@given(settings_texts())
def test_a_text_of_which_nothing_is_changed_stays_as_it_is(written: tuple[str, list[str]]) -> None:
    assert str(TomlText(written[0])).removesuffix("\n") == written[0].removesuffix("\n")


MDAV = TuneCandidate(method="mdav", params={}, k=7, grouping="rules")


def test_parameters_are_changed_where_they_stand() -> None:
    end = "# who\n[roles]\nID = 'record-id'\n"
    there = f"# first\nmethod = 'noise' # drawn\n\n# of noise\n[params] # how\nc = 0.1 # little\n\n{end}"
    config = config_from(tomllib.loads(there))
    noise = replace(MDAV, method="noise", params={"c": 0.5, "exact": True})
    top = '# first\nmethod = "mdav" # drawn\nk = 7\n\n'
    drawn = top.replace('"mdav"', "'noise'")
    assert changed(there, settings_of(noise, config), Path("m.toml")) == (
        f"{drawn}# of noise\n[params] # how\nc = 0.5 # little\nexact = true\n\n{end}"
    )
    without = changed(there, settings_of(MDAV, config), Path("m.toml"))
    assert without == f"{top}# of noise\n# how\n# little\n\n{end}"
    drawn = top.replace("mdav", "noise")
    assert changed(without, settings_of(noise, config), Path("m.toml")) == (
        f"{drawn}# of noise\n# how\n# little\n\n[params]\nc = 0.5\nexact = true\n\n{end}"
    )


@pytest.mark.parametrize(
    "value", [r'"a\" # b"', r"'\'", '"""q""""', '"""" # b"""', "'''a\n# b'''", r'"""\""" # b"""', '"[", "{"']
)
def test_strings_end_where_toml_ends_them(value: str) -> None:
    before = f"nominal = [{value}] # note\nk = 3\n"
    assert tomllib.loads(before)["k"] == 3
    text = TomlText(before)
    text.put(("k",), "9")
    assert str(text) == f"nominal = [{value}] # note\nk = 9\n"


def test_comments_within_a_value_stand_before_it_when_it_changes() -> None:
    there = "[params]\nclass = ['a', # one\n  'b' # two\n] # three\n"
    text = TomlText(there)
    text.put(("params", "class"), '["c"]')
    assert str(text) == '[params]\n# one\n# two\nclass = ["c"] # three\n'
    text = TomlText(there)
    text.remove(("params", "class"))
    assert str(text) == "[params]\n# one\n# two\n# three\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_ends_of_lines_stay(tmp_path: Path, newline: str) -> None:
    path = tmp_path / "m.toml"
    path.write_bytes(f"# ours{newline}k = 3 # few{newline}".encode())
    write_settings(path, settings_of(MDAV, Config(k=3)))
    assert path.read_bytes() == f"# ours{newline}k = 7 # few{newline}".encode()
    assert load_config(path).k == 7


def test_limits_of_the_command_are_written_where_limits_stand() -> None:
    text = 'k = 5\n\n[roles]\nId = "record-id"  # goes\n\n[limits]\ndisclosure_risk = 25  # May\nlinkage=30 # kept\n'
    limits = {"disclosure_risk": 20.0, "linkage": 30.0, "pil": 12.5}
    made = changed(text, config_from({**tomllib.loads(text), "limits": limits}), Path("masktron.toml"))
    assert made == text.replace("= 25  #", "= 20  #") + "pil = 12.5\n"
    without = 'k = 5  # board\n[roles]\nId = "record-id"\n'
    made = changed(without, config_from({**tomllib.loads(without), "limits": limits}), Path("masktron.toml"))
    assert tomllib.loads(made) == {"k": 5, "roles": {"Id": "record-id"}, "limits": limits}
    assert "# board" in made


def test_levels_of_nested_tables_are_written_as_they_are_read(tmp_path: Path) -> None:
    levels: Any = {
        "Household": {"key": ["REGION", "HID"]},
        "Person": {"data": tmp_path / "persons.xlsx", "format_options": {"sheet": "2"}, "key": "PID"},
        "Spell": {"data": "sqlite:spells.sqlite?table=s", "parent": "Person", "parent_key": "P"},
    }
    path = tmp_path / "tuned" / "masktron.toml"
    path.parent.mkdir()
    config = Config(levels=levels)
    write_settings(path, config)
    found = load_config(path).levels
    assert (path.parent / "../persons.xlsx").resolve() == (found["Person"].data or Path()).resolve()
    assert found["Person"].format_options == {"sheet": "2"}
    assert found["Household"] == config.levels["Household"]
    assert found["Spell"] == config.levels["Spell"]

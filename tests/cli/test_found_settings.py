"""A `masktron.toml` that was found by itself does less than one that was named; the command says how to go on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import masktron
from cli_runner import Runner, numbers, write_data, write_rules
from masktron.config import Config
from masktron.errors import UsageError
from masktron.settings_file import found_config, load_config


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder that another office sent, beside a file that is not of it."""
    own = tmp_path / "sent"
    own.mkdir()
    write_data(own / "survey.xml", [{"Id": at, **row} for at, row in enumerate(numbers())])
    write_rules(own / "rules.sch", "A + B = T", "A &lt; 0 or A >= 0".replace("&lt;", "<"))
    (tmp_path / "private.csv").write_text("value,label\n1,low\n")
    monkeypatch.chdir(own)
    return own


MASK = ("mask", "survey.xml", "--rules", "rules.sch", "--out", "out.xml", "--role", "Id=identifier")
REFUSED = {
    "executor": ('k = 3\nexecutor = "dask"\n', 2),
    "register": ('k = 3\n[register]\npath = "releases.jsonl"\nsalt = "/etc/hostname"\n', 2),
    "levels.Person.out": (
        '[levels.Household]\nkey = "H"\n[levels.Person]\ndata = "p.csv"\nout = "/etc/passwd"\n', 5,
    ),
    "documents.codes.xml": ('# codes\n[documents]\n"codes.xml" = "../private.csv"\n', 3),
    "metadata": ('metadata = "/etc/hostname"\n', 1),
    "levels.Person.data": ('[levels.Household]\nkey = "H"\n[levels.Person]\ndata = "sqlite:../x.db?table=t"\n', 4),
    "format_options.query": ('[format_options]\nquery = "select 1"\n', 2),
    "levels.Person.format_options.query": (
        '[levels.Household]\nkey = "H"\n[levels.Person]\ndata = "p.csv"\nformat_options = {query = "select 1"}\n', 5,
    ),
    "recode.Id": ('k = 3\n[recode]\nId = "../private.csv:1"\n', 3),
    "pram.Id": ('[pram]\nId = "link.csv"\n', 2),
}  # fmt: skip


@pytest.mark.parametrize("setting", REFUSED)
def test_what_only_a_named_file_may_say_is_refused_with_its_line(folder: Path, run: Runner, setting: str) -> None:
    text, line = REFUSED[setting]
    (folder / "link.csv").symlink_to(folder.parent / "private.csv")
    (folder / "masktron.toml").write_text(text)
    for command in (MASK, ("validate", "survey.xml", "--rules", "rules.sch"), ("describe", "survey.xml")):
        refused = run(*command)
        assert refused.code == 2
        assert f"masktron.toml:{line}: {setting}: " in refused.err
        assert "name it: --config masktron.toml" in refused.err
    assert sorted(path.name for path in folder.iterdir()) == ["link.csv", "masktron.toml", "rules.sch", "survey.xml"]
    assert isinstance(load_config(folder / "masktron.toml"), Config), "in Python, the file was named"


def test_a_named_file_and_the_command_line_may_say_it(folder: Path, run: Runner) -> None:
    (folder / "masktron.toml").write_text('k = 3\n[register]\npath = "r.jsonl"\nsalt = "s"\n')
    assert run(*MASK, "--config", "masktron.toml").code == 0
    assert {"r.jsonl", "s"} <= {path.name for path in folder.iterdir()}
    (folder / "masktron.toml").write_text("k = 4\n")
    again = (*MASK, "--again", "other k", "--register", "r.jsonl")
    assert run(*again).code != 0, "the salt is not beside the register"
    assert run(*again, "--salt", "s").code == 0
    assert run(*MASK, "--salt", "s").code == 2


def test_what_lies_in_the_folder_is_read(folder: Path, run: Runner) -> None:
    (folder / "codes").mkdir()
    (folder / "codes" / "ids.csv").write_text("".join(f"{at},{'ab'[at % 2]}\n" for at in range(40)))
    (folder / "masktron.toml").write_text('[recode]\nId = "codes/ids.csv"\n')
    found = run("keys", "survey.xml", "--rules", "rules.sch")
    assert found.code == 0, found.err


LOOSE = {
    "allow": 'allow = ["R2"]\n',
    "allow_unfired": 'allow_unfired = ["R2"]\n',
    "allow_lost": 'allow_lost = ["R2"]\n',
    "max_failures": '[max_failures]\nR2 = "5"\n',
    "max_observed_share": "max_observed_share = 50\n",
    "invalid": 'invalid = "exclude"\n',
    "rare_units": 'rare_units = "exclude"\n',
    "order": 'order = "keep"\n',
    "format_options": '[format_options]\ntable = "half"\n',
    "documents": '[documents]\n"codes.xml" = "survey.xml"\n',
    "roles": '[roles]\nId = "untouched"\nA = "confidential"\n',
    "keys": "key_k = 2\n[keys]\nsubsets = 1\n",
}


@pytest.mark.few(4)
@pytest.mark.parametrize("setting", LOOSE)
def test_what_relaxes_a_judgement_comes_first(folder: Path, run: Runner, setting: str) -> None:
    (folder / "masktron.toml").write_text(LOOSE[setting])
    told = run("explain", "rules.sch", "--json", "out.json")
    assert told.code == 0, told.err
    assert told.out.startswith(f"note: masktron.toml in this folder relaxes {setting} (")
    assert json.loads(Path("out.json").read_text())["notes"][0].startswith("masktron.toml in this folder relaxes")
    named = run("explain", "rules.sch", "--config", "masktron.toml")
    assert (named.code, "relaxes" in named.out) == (0, False)
    judged = found_config(Path("masktron.toml"), judge="check")
    assert getattr(judged, setting) == ({"A": "confidential"} if setting == "roles" else getattr(Config(), setting))


def test_all_relaxing_settings_are_tried_here() -> None:
    from masktron.trust import trust_of

    assert {name for name, trust in trust_of(Config).items() if trust.weakens is not None} == {*LOOSE, "phase"}


def test_stricter_settings_are_no_news(folder: Path, run: Runner) -> None:
    (folder / "masktron.toml").write_text(
        'max_observed_share = 0.5\nkey_k = 3\nphase = "#ALL"\n[limits]\nlinkage = 20\n'
    )
    assert found_config(folder / "masktron.toml").found == ""


@pytest.mark.few(1)
@pytest.mark.parametrize("command", ["mask", "validate"])
def test_the_result_of_a_run_names_it_first(folder: Path, run: Runner, command: str) -> None:
    (folder / "masktron.toml").write_text('k = 3\nallow_unfired = ["R1"]\n')
    words = MASK if command == "mask" else ("validate", "survey.xml", "--rules", "rules.sch")
    told = run(*words, "--json", "told.json", "--html", "told.html")
    assert told.code == 0, told.err
    note = "masktron.toml in this folder relaxes allow_unfired (R1), for commands that use these settings"
    assert told.out.startswith(f"note: {note}\n")
    assert told.out.count("relaxes allow_unfired") == 1
    kept = [json.loads(Path("told.json").read_text())]
    kept += [json.loads(Path("out.manifest.json").read_text())["result"]] if command == "mask" else []
    assert [(one["notes"][0], one["notes"].count(note)) for one in kept] == [(note, 1)] * len(kept)
    assert note in Path("told.html").read_text()


def test_check_ignores_it_and_says_so(folder: Path, run: Runner) -> None:
    write_rules(folder / "strict.sch", "A > 99999")
    (folder / "masktron.toml").write_text('[max_failures]\n"*" = "100%"\n')
    refused = run("check", "survey.xml", "--rules", "strict.sch", "--json", "told.json")
    assert refused.code == 1
    assert refused.out.startswith("note: masktron.toml in this folder relaxes max_failures (*); this was ignored")
    assert "--config masktron.toml" in refused.out.splitlines()[0]
    assert "was ignored" in json.loads(Path("told.json").read_text())["notes"][0]
    assert run("check", "survey.xml", "--rules", "strict.sch", "--config", "masktron.toml").code == 0


def test_check_is_silent_about_what_it_never_takes(folder: Path, run: Runner) -> None:
    (folder / "masktron.toml").write_text(LOOSE["keys"] + LOOSE["allow_lost"] + LOOSE["allow"])
    told = run("check", "survey.xml", "--rules", "rules.sch")
    assert "relaxes" not in told.out + told.err
    (folder / "masktron.toml").write_text(LOOSE["allow"] + LOOSE["allow_unfired"])
    told = run("check", "survey.xml", "--rules", "rules.sch")
    assert told.out.startswith("note: masktron.toml in this folder relaxes allow_unfired (R2); this was ignored")


def test_tune_reads_nothing_outside_the_folder_either(folder: Path, run: Runner) -> None:
    (folder / "masktron.toml").write_text(
        'k = 3\n[tune]\nmethods = ["mdav"]\n[tune.recode]\nId = ["../private.csv"]\n'
    )
    refused = run("tune", "survey.xml", "--rules", "rules.sch", "--out", "tuned")
    refused.refuses(2, "untrusted-setting", setting="tune.recode.Id")


def test_python_finds_no_file_by_itself(folder: Path) -> None:
    (folder / "masktron.toml").write_text('scheduler = "tcp://attacker:8786"\nexecutor = "dask"\nk = 30\n')
    result = masktron.mask("survey.xml", "rules.sch", "out.xml", k=3, roles={"Id": "identifier"})
    assert (result.k, result.valid) == (3, True)
    with pytest.raises(UsageError, match="executor"):
        found_config(folder / "masktron.toml")


def test_no_output_takes_the_place_of_a_file_that_settings_name(folder: Path, run: Runner) -> None:
    (folder / "meta.json").write_text('{"fields": [{"name": "A"}]}')
    (folder / "m.toml").write_text('metadata = "meta.json"\n')
    told = run("describe", "survey.xml", "--config", "m.toml", "--json", "meta.json")
    told.refuses(2, "would-overwrite", taken="the metadata")
    (folder / "ids.csv").write_text("".join(f"{at},{'ab'[at % 2]}\n" for at in range(40)))
    told = run("keys", "survey.xml", "--rules", "rules.sch", "--recode", "Id=ids.csv", "--json", "ids.csv")
    told.refuses(2, "would-overwrite", taken="the hierarchy of Id")


def test_a_table_of_a_level_that_hides_records_is_told_and_ignored_by_judges(folder: Path) -> None:
    (folder / "p.csv").write_text("id,A\n1,2\n")
    (folder / "masktron.toml").write_text(
        '[levels.H]\nkey = "id"\n[levels.P]\ndata = "p.csv"\nformat_options = {table = "half"}\n'
    )
    assert "relaxes levels (P)" in found_config(folder / "masktron.toml").found
    judged = found_config(folder / "masktron.toml", judge="check")
    assert judged.levels["P"].format_options == {}
    assert judged.levels["P"].data == folder / "p.csv"

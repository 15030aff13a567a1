"""A step before masking is one declaration: a made-up kind is found wherever steps are; a forgotten place fails."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from masktron.jobs import recoded, steps
from masktron.step_kinds import ALL
from masktron.step_kinds.base import Treatment
from masktron.verify import declared_steps
from package_trees import PACKAGE
from paths import RULES, SCHEMAS

KIND = '''
from collections.abc import Iterator
from dataclasses import dataclass, replace

from masktron.step_kinds.base import Treatment


@dataclass(frozen=True, slots=True)
class Capitalised(Treatment):
    """A field that was written in capitals."""

    kind = "capitals"
    asked_by = ("capitals",)
    order = "write in capitals"
    outcome = "written in capitals"
    named_as = "written in capitals"
    broken = "with names in capitals"
    helps = "leave {fields:and} out of [[--capitals]]"
    computed = True

    field: str

    @classmethod
    def fields_of(cls, config):
        return tuple(config.capitals)

    @classmethod
    def renamed(cls, said, names):
        return tuple(one for name in said for one in names(name))

    @property
    def changed(self):
        return (self.field,)

    def told(self, *, outcome):
        yield self.field, "in capitals"

    def wide(self, names):
        return (replace(self, field=name) for name in names(self.changed))

    def require_sense(self):
        if not self.field:
            raise ValueError("capitals of no field")

    @classmethod
    def compared(cls, done, config, *, nested):
        return {*config.get("capitals", ())}, {one.field for one in done}
'''
TAKING = """
from masktron.sources.column import Column
from masktron.step_kinds import Capitalised


def take(levels, *_):
    for name in levels.given.capitals:
        path = levels.level_of([name], "capitals")
        run, done = levels.at(path, capitals=(name,)), Capitalised(name)
        run.require_written("capitals", [name])
        levels = levels.after(path, run.after({name: capitals(run.records, done)}, done))
    return levels


def capitals(records, done):
    column = records.columns[done.field]
    texts = [None if one is None else str(one).upper() for one in column.lexicon.objects()]
    return Column.of_texts(column.variable, texts, column.codes, column.known.missing)
"""
VERIFYING = """
from masktron.sources.column import Column
from masktron.verify.findings import Findings


def verify(step, release):
    return Findings()


def capitals(step, before):
    column = before.columns[step.field]
    texts = [None if one is None else str(one).upper() for one in column.lexicon.objects()]
    return Column.of_texts(column.variable, texts, column.codes, column.known.missing)
"""
SETTING = (
    '    capitals: Names = setting("Made up for a test.", like=TREATED, default=(), commands="mask explain rerun")\n'
)
PLACES = {
    "config.py": [("    recoded_unnamed: frozenset[str] = field", SETTING)],
    "step_kinds/__init__.py": [
        ("ALL: tuple", "from masktron.step_kinds.capitals import Capitalised\n\n"),
        ("Recoded, Reweighted, Postr", "Capitalised, "),
    ],
    "jobs/steps.py": [
        ("def chain_of", "from masktron.jobs import capitals\nfrom masktron.step_kinds import Capitalised\n\n\n"),
        ("    Recoded: _recode_fields,", "    Capitalised: capitals.take,\n"),
    ],
    "jobs/recoded.py": [
        ("COMPUTED: ", "from masktron.jobs import capitals\nfrom masktron.step_kinds import Capitalised\n\n"),
        ("    Recoded: _recoded_again,", "    Capitalised: capitals.capitals,\n"),
    ],
    "verify/declared_steps.py": [
        ("VERIFIERS: ", "from masktron.step_kinds import Capitalised\nfrom masktron.verify import capitals\n\n"),
        ("    Recoded: recoding.verify,", "    Capitalised: capitals.verify,\n"),
        ("    Recoded: recoding.recoded,", "    Capitalised: capitals.capitals,\n"),
    ],
}
"""Where a kind is entered, each before what stands there: the setting, the tuple, and what takes and verifies it."""

SCRIPT = r"""
import json, sys
from contextlib import suppress
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import masktron
from masktron.commands.line import main
from masktron.errors import InfeasibleError, UsageError
from masktron.settings_file import config_from
from masktron.web.pages.key_facts import treated_context

RULE = '<assert id="R1" test="A &gt;= 0">A</assert>'
SCHEMA = '<schema xmlns="http://purl.oclc.org/dsdl/schematron">{}</schema>'.format(
    '<pattern><rule context="{}">{}</rule></pattern>'
)
Path("r.sch").write_text(SCHEMA.format("Record", RULE))
rows = [("nsw"[at % 3], f"{10 + at * 7 % 41}.5", f"{3 + at * 5 % 61}.25") for at in range(60)]
Path("d.csv").write_text("REGION,A,B\n" + "".join(f"{region},{a},{b}\n" for region, a, b in rows))
own = {"k": 3, "order": "keep", "roles": {"REGION": "quasi-identifier"}, "capitals": ["REGION"]}

def regions(path):
    return [line.split(",")[0] for line in Path(path).read_text().split()[1:]]

# a setting that makes its fields keys, and refuses those that are masked
assert config_from({"capitals": ["REGION"]}).roles == {"REGION": "quasi-identifier"}
assert config_from({"capitals": ["REGION"]}).treats_keys and not config_from({"capitals": ["REGION"]}).draws_keys
try:
    config_from({"capitals": ["A"], "roles": {"A": "confidential"}})
    raise AssertionError
except UsageError as error:
    assert "capitals" in str(error) and "so it cannot be written in capitals" in str(error), error

# explain, mask, manifest
steps = masktron.explain("r.sch", "d.csv", config=config_from(own)).steps
assert [(one.kind, one.fields) for one in steps] == [("capitals", ("REGION",)), ("masking", ("A", "B"))], steps
sys.argv = ["masktron", "explain", "d.csv", "-r", "r.sch", "--capitals", "REGION"]
with suppress(SystemExit):
    main()
result = masktron.mask("d.csv", "r.sch", "m.csv", **own)
assert [(one.kind, one.field, one.how) for one in result.treatments] == [("capitals", "REGION", "in capitals")]
assert regions("m.csv") == [region.upper() for region, *_ in rows]
manifest = json.loads(Path("m.manifest.json").read_text())
assert manifest["treatments"] == [{"kind": "capitals", "field": "REGION"}]

# check finds what does not follow, and settings that ask for something else
def check(name="m", manifest="m"):
    return masktron.check(f"{name}.csv", "r.sch", manifest=f"{manifest}.manifest.json", original="d.csv")

found = check()
assert found.complies, found.problems
assert [(one.kind, one.how) for one in found.treatments] == [("capitals", "in capitals")]
text = Path("m.csv").read_text()
Path("forged.csv").write_text(text.replace("\nS", "\nN", 1))
assert any("REGION" in str(one) for one in check("forged").problems)
Path("other.manifest.json").write_text(json.dumps({**manifest, "config": {**manifest["config"], "capitals": []}}))
try:
    check(manifest="other")
    raise AssertionError
except UsageError as error:
    assert "'capitals'" in str(error), error

# pages
masktron.write_report("m.manifest.json", html_public="public.html")
assert "Written as they were, in every record: REGION" not in Path("public.html").read_text()
treated = treated_context(result.as_dict())["treated"]["treatments"]
assert [(one["words"], one["drawn"]) for one in treated] == [("written in capitals", False)]

# the same again on the next file
again = masktron.rerun("m.manifest.json", "d.csv", "n.csv")
assert again.same_bytes and regions("n.csv") == regions("m.csv")

# a search masks the records that the step leaves
found = masktron.tune("d.csv", "r.sch", ask={"methods": ["mdav"], "k": [3, 4]}, config=config_from(own))
assert found.candidates and all(one.state == "measured" for one in found.candidates), found.candidates

# a rule across records that it breaks
count = sum(region == "n" for region, *_ in rows)
across = f"<assert id='R2' test=\"count(//Record[REGION = 'n']) = {count}\">n</assert>"
Path("all.sch").write_text(SCHEMA.format("/*", across))
try:
    masktron.mask("d.csv", "all.sch", "x.csv", **own)
    raise AssertionError
except InfeasibleError as error:
    assert error.problem.code == "steps-break-rules", error
    assert "with names in capitals" in str(error) and "leave REGION out of capitals=" in str(error), error

# a level of a nested file
people = [f"<P><SEX>{'mf'[at % 2]}</SEX><A>{10 + at * 7 % 41}.5</A><B>{at * 5 % 61}.25</B></P>" for at in range(60)]
Path("d.xml").write_text(f"<S>{''.join(f'<H><X>{at}</X>{one}</H>' for at, one in enumerate(people))}</S>")
Path("p.sch").write_text(SCHEMA.format("P", RULE))
nested = {"k": 3, "capitals": ["SEX"], "roles": {"SEX": "quasi-identifier", "X": "identifier"}}
result = masktron.mask("d.xml", "p.sch", "h.xml", **nested)
assert [(one.kind, one.field) for one in result.treatments] == [("capitals", "SEX")], result.treatments
assert Path("h.xml").read_text().count("<SEX>M</SEX>") == 30
found = masktron.check("h.xml", "p.sch", manifest="h.manifest.json", original="d.xml")
assert found.complies, found.problems
"""


def test_a_new_kind_of_step_is_found_everywhere(tmp_path: Path) -> None:
    package, folder = tmp_path / "pipeline" / "masktron", tmp_path / "run"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("*.pyc"))
    for resources in (RULES, SCHEMAS):
        (tmp_path / resources.name).symlink_to(resources)
    folder.mkdir()
    for place, text in (("step_kinds", KIND), ("jobs", TAKING), ("verify", VERIFYING)):
        (package / place / "capitals.py").write_text(f"from __future__ import annotations\n{text}", encoding="utf-8")
    for name, entries in PLACES.items():
        text = (package / name).read_text(encoding="utf-8")
        for place, entry in entries:
            assert text.count(place) == 1, (name, place)
            text = text.replace(place, entry + place)
        (package / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-c", SCRIPT, str(package.parent)]
    environment = {"PATH": "", "HOME": str(tmp_path), "COLUMNS": "200"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "steps: write in capitals REGION; mask " in done.stdout


def test_each_kind_is_taken_and_verified() -> None:
    computed = {kind for kind in ALL if kind.computed}
    assert steps.TAKEN.keys() == declared_steps.VERIFIERS.keys() == {*ALL}
    assert recoded.COMPUTED.keys() == declared_steps.COMPUTED.keys() == computed


def test_what_a_kind_does_not_declare_is_named() -> None:
    with pytest.raises(TypeError, match="Forgetful does not declare order, outcome, named_as, broken, helps"):

        class Forgetful(Treatment):
            kind = "forgetful"
            asked_by = ("forgetful",)

    @dataclass(frozen=True)
    class Silent(Treatment):
        kind = order = outcome = named_as = broken = helps = "silent"
        asked_by = ("silent",)

    with pytest.raises(TypeError, match=r"abstract methods .*changed.*told"):
        Silent()  # type: ignore[abstract]

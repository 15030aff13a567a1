"""A setting is one declaration: a made-up one is found wherever settings are, and nowhere by hand."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from package_trees import PACKAGE
from paths import DOCS

DECLARED = """
    made_up: int | None = setting("Made up for a test.", HOW, default=None, least=2, commands="mask rerun")
"""

SCRIPT = r"""
import importlib.util, inspect, json, sys
from pathlib import Path
import masktron
from masktron.web.pages.form_values import further_controls

docs = Path(sys.argv[1])
Path("masktron.toml").write_text("k = 3\nmade_up = 4\n")
Path("d.csv").write_text("A,B\n" + "".join(f"{i}.5,{7 * i % 11}.25\n" for i in range(30)))
Path("r.sch").write_text(
    '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">'
    '<assert id="R1" test="A &gt;= 0">A</assert></rule></pattern></schema>'
)
assert masktron.load_config("masktron.toml").made_up == 4
assert "made_up" in inspect.signature(masktron.mask).parameters
assert "Made up for a test." in masktron.mask.__doc__
try:
    masktron.Config(made_up=1)
except masktron.UsageError as error:
    assert str(error) == "made_up must be at least 2, not 1", error
spec = importlib.util.spec_from_file_location("program_pages", docs / "_extensions" / "program_pages.py")
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)
assert "`made_up`" in pages.settings_page()
assert "made_up" in [one["name"] for one in further_controls(masktron.Config(), ())]
masktron.mask("d.csv", "r.sch", "m.csv", k=3, made_up=5, order="keep")
assert json.loads(Path("m.manifest.json").read_text())["config"]["made_up"] == 5
again = masktron.rerun("m.manifest.json", "d.csv", "n.csv")
assert again.same_bytes
assert json.loads(Path("n.manifest.json").read_text())["config"]["made_up"] == 5
masktron.rerun("m.manifest.json", "d.csv", "o.csv", made_up=6)
assert json.loads(Path("o.manifest.json").read_text())["config"]["made_up"] == 6
"""


@pytest.mark.full
def test_a_new_setting_is_found_everywhere(tmp_path: Path) -> None:
    package = tmp_path / "package" / "masktron"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    config = package / "config.py"
    text = config.read_text(encoding="utf-8")
    place = "    seed: MaybeInteger = setting(\n"
    assert place in text
    config.write_text(text.replace(place, DECLARED.strip("\n") + "\n" + place), encoding="utf-8")
    folder = tmp_path / "run"
    folder.mkdir()
    environment = {"PYTHONPATH": str(package.parent), "PATH": "", "HOME": str(tmp_path), "COLUMNS": "200"}

    def run(*words: str) -> str:
        command = [sys.executable, "-W", "error", *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("-c", SCRIPT, str(DOCS))
    assert re.search(r"--made-up N +Made up for a test\.", run("-m", "masktron", "mask", "--help"))
    run("-m", "masktron", "mask", "d.csv", "-r", "r.sch", "-o", "p.csv", "--made-up", "7")
    assert '"made_up": 7' in (folder / "p.manifest.json").read_text()


def test_no_list_of_settings_is_kept_by_hand() -> None:
    """Names of settings that nothing else is called stand in their declaration and where they are used."""
    for name, most in (("max_observed_share", 5), ("group_size_vars", 3), ("rule_timeout", 12)):
        modules = [path for path in PACKAGE.rglob("*.py") if name in path.read_text(encoding="utf-8")]
        assert len(modules) <= most, modules

"""A stage imports only what stands before it; the kernels import nothing of ours; help stays light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from masktron.kernels import kept
from masktron.sources.xml.wellformed import SMALLEST
from package_trees import PACKAGE, tree_of

ORDER = [
    {"counts", "shell_words"},
    {"problems"},
    {"errors"},
    {"addresses"},
    {"declared"},
    {"trust"},
    {
        "arrays",
        "files",
        "figures",
        "memory",
        "processes",
        "progress",
        "resources",
        "serialised",
    }
    | {"standard_streams", "streams", "thresholds", "toml_text", "versions"},
    {"former_names"},
    {
        "child_process",
        "extras",
        "release_secret",
        "supervisor",
        "rulebook_text",
    },
    {"setting_values"},
    {"level_settings", "perturbation_settings", "recoding_settings"},
    {"constraints", "contracts", "kernels", "scratch"},
    {"recodings"},
    {"step_kinds"},
    {"config"},
    {"hierarchies"},
    {"executor", "large_arrays"},
    {"sources", "engines"},
    {"rulebook"},
    {"rules_given"},
    {"settings_file"},
    {"reading"},
    {"unrolling"},
    {"classify"},
    {"translation"},
    {"judge"},
    {"roles"},
    {"likely_roles"},
    {"codes"},
    {"aggregators", "partitions", "synthesis"},
    {"grouping", "methods"},
    {"estimators"},
    {"plan"},
    {"settle"},
    {"measures"},
    {"treatments"},
    {"masking"},
    {"preflight"},
    {"proposals"},
    {"results"},
    {"write"},
    {"verify"},
    {"report"},
    {"jobs"},
    {"stopping"},
    {"web"},
    {"commands"},
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or not path.stem.startswith("__"))


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported(path: Path) -> set[str]:
    """Parts of masktron that a module imports when it is loaded or run, not for types alone."""
    names: set[str] = set()
    nodes: list[ast.AST] = [tree_of(path)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.name if isinstance(node, ast.Import) else node.module or "" for alias in node.names}
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            nodes += node.orelse
        elif not isinstance(node, ast.expr):  # no expression imports anything
            nodes += ast.iter_child_nodes(node)
    return {name.split(".")[1] for name in names if name.startswith("masktron.")}


def test_every_part_has_its_place() -> None:
    assert {part_of(path) for path in MODULES} == set(RANK)


@pytest.mark.parametrize("own", sorted(RANK))
def test_a_stage_imports_only_what_stands_before_it(own: str) -> None:
    modules = [path for path in MODULES if part_of(path) == own]
    later = {
        (str(path.relative_to(PACKAGE)), name)
        for path in modules
        for name in imported(path)
        if name != own and RANK[name] >= RANK[own]
    }
    assert modules
    assert not later


OF_VERIFIERS = {
    "arrays", "classify", "config", "constraints", "contracts", "counts", "errors", "judge", "problems",
    "recoding_settings", "recodings", "rulebook", "sources", "step_kinds", "verify", "write",
}  # fmt: skip
"""What those may know who verify released files: nothing that makes one, for an error there would verify itself."""


def shared_with_what_treats(tree: ast.Module) -> set[str]:
    """Return what a verifier must not import, for types neither, and what it must not ask a recoding for."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
            part = module.removeprefix("masktron.").partition(".")[0]
            found |= {module} if module.startswith("masktron.") and part not in OF_VERIFIERS else set()
            if part == "recodings":
                found |= {name.name for name in node.names if not name.name[0].isupper()}
        elif isinstance(node, ast.Attribute) and node.attr in ("label_of", "classes", "between", "class_values"):
            found.add(node.attr)
    return found


def test_verifiers_share_nothing_with_what_treats() -> None:
    verifiers = [path for path in MODULES if part_of(path) == "verify"]
    assert verifiers
    assert {path.stem: found for path in verifiers if (found := shared_with_what_treats(tree_of(path)))} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from masktron.jobs.recoded import recoding_of", {"masktron.jobs.recoded"}),
        ("if TYPE_CHECKING:\n    from masktron.treatments.pram import PramLaw", {"masktron.treatments.pram"}),
        ("import masktron.translation", {"masktron.translation"}),
        ("from masktron.recodings import Tails, decimal_text", {"decimal_text"}),
        ("recoding.label_of(text)", {"label_of"}),
        ("from masktron.step_kinds import Recoded\nfrom masktron.recodings import Tails", set()),
    ],
)
def test_what_verifiers_share_is_seen(text: str, found: set[str]) -> None:
    assert shared_with_what_treats(ast.parse(text)) == found


def test_one_module_knows_the_rule_language() -> None:
    """A rulebook is what the rest knows; who reads it is entered once."""
    knowing = {
        str(path.relative_to(PACKAGE))
        for path in MODULES
        if "masktron.rulebook.schematron" in path.read_text(encoding="utf-8")
        and "schematron" not in path.relative_to(PACKAGE).parts
    }
    assert knowing == {"jobs/rulebooks.py"}


def test_tokens_of_expressions_stay_beside_their_tree() -> None:
    """No other module sees a token, ours or elementpath's: it reads the tree, or asks `words` about a text."""
    own = re.compile(r"expressions\.lexer\b|expressions import [^\n]*\blexer\b|(?:import|from) elementpath\b")
    knowing = {
        str(path.relative_to(PACKAGE))
        for path in MODULES
        if own.search(path.read_text(encoding="utf-8")) and "expressions" not in path.relative_to(PACKAGE).parts[:2]
    }
    assert knowing == set()


def test_results_know_reports_in_one_place() -> None:
    """A result is put into words by name, when somebody prints it: imports alone would not show that."""
    naming = [path.stem for path in MODULES if part_of(path) == "results" and "import_module" in path.read_text()]
    assert naming == ["result"]


DATA_IN_XML = {
    "commands.running": "libxml2 begins to read a large file before anything else is loaded",
    "judge.deferral": "records of a batch as documents for the engine that decides",
    "judge.domains": "values that a rule takes from a document",
    "judge.programs": "documents as libxml2 and Saxon read them",
    "judge.exact": "the engine that decides, on files of any shape",
    "judge.second_opinions": "engines that are not ours, each with its own parser",
    "judge.slice_tasks": "engines that are not ours, on slices of the bytes",
    "judge.findings": "columns of nodes that engines name",
    "judge.recommended": "documents of numbers as XPath 1.0 reads them",
    "judge.recount.aggregates": "aggregates that engines compute again, from slices of the bytes",
    "judge.recount.recount": "aggregates that engines compute again, from slices of the bytes",
    "judge.recount.sample": "aggregates that engines compute again, from slices of the bytes",
    "judge.recount.field_values": "aggregates that engines compute again, from slices of the bytes",
    "judge.report_reader": "nodes that engines name",
    "judge.tiered": "the original beside a file, as rules across records read it",
    "jobs.documents": "documents that rules read are XML, whatever the data are",
    "jobs.cell_rules": "records with other cells, in memory, as documents for the engine that decides",
    "masking.judging": "masked records, in memory, as documents for the engine that decides",
    "masking.totals.file_conditions": "numbers outside the records, where rules look for them",
    "rulebook.schematron.inclusions": "a rulebook",
    "verify.record_rules": "records with other values, in memory, as documents for the engine that decides",
}
"""Who reads XML beside the sources, and what: engines have their own way from the bytes to what they judge."""
PARSERS = {
    "classify.truth": "an XPath engine, without a document",
    "judge": "engines and their documents",
    "jobs.doctor": "asks the engines how they are",
    "jobs.documents": "documents that rules read are XML, whatever the data are",
    "masking.totals.file_conditions": "numbers outside the records, where rules look for them",
    "proposals.written_rulebook": "makes a rulebook, and reads none",
    "rulebook": "rulebooks are XML",
    "rulebook_text.spans": "rulebooks are XML",
}
"""Modules and packages that use lxml or expat, and what for."""
OPENED = {
    "addresses": "where the system keeps the arguments of this process",
    "engines.saxon_engine": "a device",
    "child_process": "a device",
    "judge.deferral": "counts columns in the document of the engine that decides",
    "executor.run_parts": "parts of runs",
    "files": "texts of the user, and hashes",
    "commands.explain": "whether XML is rules or microdata",
    "commands.rules": "proposals, as JSON",
    "settings_file": "settings",
    "rules_given": "rules in plain text",
    "release_secret": "a secret",
    "report.progress_lines": "how far a run is, for another program",
    "resources": "templates and style sheets that come with the package",
    "jobs.combine": "estimates",
    "jobs.documents": "documents of rules, whose hash is that of the bytes that are read",
    "jobs.rules": "rulebooks",
    "jobs.report": "results that commands wrote",
    "jobs.search.outcomes": "results of former runs, and the code of masktron, whose hash says whether they count",
    "jobs.search.settings_text": "settings",
    "hierarchies": "hierarchies of values",
    "jobs.post_randomised": "transition matrices",
    "jobs.translated_rules": "a rulebook that a former run has translated",
    "memory": "what the system says of memory",
    "scratch": "temporary files",
    "settle.solver": "a device",
    "supervisor": "a channel to another process",
    "web.access.peers": "the table of sockets of the system",
    "web.runs.run_process": "what a command prints, and its lock",
    "web.runs.run_queue": "what the process above a command prints",
    "web.handlers.run_files": "masked files, which are sent as they were looked at",
    "web.runs.checked_files": "masked files, for their SHA-256",
    "web.runs.one_run": "results of commands, as JSON; locks",
    "web.pages.release_step": "files that are offered, for their SHA-256",
    "web.pages.run_view": "files that are offered, for their SHA-256",
    "web.pages.step_runs": "files that are offered, for their SHA-256",
    "web.server": "the page that opens a browser, and the lock",
    "web.store.disk": "small files of projects",
    "web.store.projects": "the sample",
    "write.atomic": "folders of outputs",
    "write.manifest": "manifests",
    "jobs.register.register_file": "the register of releases",
    "standard_streams": "the null device",
}
"""Who opens files beside the sources, and which."""


def opens_data(tree: ast.Module) -> set[str]:
    """Ways by which a module could read data itself: imports of XML readers and parsers, also for types; `open`."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            for name in (f"{module}.{alias.name}".removeprefix(".") for alias in node.names):
                found |= {"data"} if name.startswith("masktron.sources.xml.") else set()
                found |= {"parser"} if name.split(".")[0] == "lxml" or name.startswith("xml.parsers") else set()
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            found |= {"open"} if called in ("open", "read_bytes", "read_text") else set()
    return found


def test_only_sources_and_engines_read_data() -> None:
    found: dict[str, set[str]] = {"data": set(), "parser": set(), "open": set()}
    for path in MODULES:
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        if part_of(path) != "sources":
            for way in opens_data(tree_of(path)):
                found[way].add(name)
    assert found["data"] == set(DATA_IN_XML)
    assert {name for name in found["parser"] if not {name, name.split(".")[0]} & set(PARSERS)} == set()
    assert found["open"] == set(OPENED)


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        ("from masktron.sources.xml.plain import survey_file", {"data"}),
        ("if TYPE_CHECKING:\n    from masktron.sources.xml import plain", {"data"}),
        ("def f():\n    from lxml import etree", {"parser"}),
        ("from xml.parsers import expat", {"parser"}),
        ("import lxml.etree", {"parser"}),
        ("with path.open() as stream: pass", {"open"}),
        ("text = open(path).read()", {"open"}),
        ("from masktron.sources.opening import open_source\nopen_source(path).records()", set()),
    ],
)
def test_ways_to_read_data_are_seen(text: str, ways: set[str]) -> None:
    assert opens_data(ast.parse(text)) == ways


def test_nobody_imports_the_source_root() -> None:
    assert not (PACKAGE.parent / "__init__.py").exists()


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from masktron.commands.line import APP; "
        "assert CliRunner().invoke(APP, ['--help']).exit_code == 0; "
        "print([m for m in ('numpy', 'lxml', 'saxonche', 'pandas', 'scipy', 'pyschematron') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_kernel_is_known_by_the_source_of_every_compiled_function_that_it_calls() -> None:
    """What is kept of it is compiled anew when one of them changes: `masktron.kernels.kept.source_of`."""
    foreign = []
    for path in sorted((PACKAGE / "kernels").glob("*.py")):
        module = import_module(f"masktron.kernels.{path.stem}")
        compiled = {name: value.py_func for name, value in vars(module).items() if hasattr(value, "py_func")}
        known = kept._sources(module.__name__)
        foreign += [f"{path.stem}: {name}" for name, function in compiled.items() if function.__module__ not in known]
    assert foreign == []


def test_validate_of_a_large_file_loads_no_science(tmp_path: Path) -> None:
    data, rules = tmp_path / "data.xml", tmp_path / "rules.sch"
    row = "<Record><A>1</A><B>2</B></Record>\n"
    data.write_text(f"<Data>\n{row * 150_000}</Data>")
    assert data.stat().st_size > SMALLEST
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">'
        '<assert id="R1" test="A + 1 = B"/></rule></pattern></schema>'
    )
    code = (
        "import sys; from masktron.commands.line import main; sys.argv[0] = 'masktron'\n"
        "try: main()\n"
        "except SystemExit as stop: code = stop.code\n"
        "heavy = ('scipy.optimize', 'scipy.sparse', 'pandas', 'sklearn', 'saxonche', 'masktron.settle', 'lark')\n"
        "print(code, 'numba' in sys.modules, [m for m in heavy if m in sys.modules])\n"
    )
    argv = [sys.executable, "-c", code, "validate", str(data), "--rules", str(rules)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 True []"
    assert "masktron's columns" in done.stdout


def test_files_alone_tells_whether_two_names_are_of_one_file() -> None:
    """A data frame and the address of a table stand where paths do: the disk knows neither."""
    asking = {
        str(path.relative_to(PACKAGE))
        for path in MODULES
        if "samefile" in path.read_text(encoding="utf-8")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr == "samefile"
    }
    assert asking == {"files.py"}


DOORS = {"judge"}
"""Packages of which others import what their `__init__` names, and nothing else."""


def around_doors(source: str) -> list[str]:
    """Return the modules of such packages that a text imports from, or imports."""
    modules = [
        name
        for node in ast.walk(ast.parse(source))
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [one.name for one in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    ]
    return [name for name in modules if any(name.startswith(f"masktron.{door}.") for door in DOORS)]


def test_others_come_through_the_door() -> None:
    assert around_doors("from masktron.judge.tiered import evaluate") == ["masktron.judge.tiered"]
    assert not around_doors("from masktron.judge import verdicts")
    found = {
        str(path.relative_to(PACKAGE)): wrong
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in DOORS and (wrong := around_doors(path.read_text()))
    }
    assert not found


@pytest.mark.parametrize("door", sorted(DOORS))
def test_a_door_names_what_there_is(door: str) -> None:
    package = import_module(f"masktron.{door}")
    assert all(hasattr(package, name) for name in package._PLACES)
    with pytest.raises(AttributeError):
        package.__getattr__("nothing_of_the_kind")

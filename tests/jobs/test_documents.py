"""Rules that read other documents: each is given by name or is the original, and no rule is judged without it."""

from __future__ import annotations

import ast
import json
from hashlib import sha256
from pathlib import Path

import pytest

import masktron
from cli_runner import SCHEMATRON, Runner, numbers, write_data, write_rules
from cutting import cut_from
from examples import parts, spread
from masktron.errors import DocumentError, Exit, UsageError
from masktron.jobs import revalidate
from masktron.jobs.documents import Given, bound
from masktron.judge.exact import evaluate
from masktron.judge.request import EvaluationRequest
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.xml.plain import detect_layout
from refusals import code_of, refused

CODES = "<nace xmlns='urn:nace'><s code='1'/><s code='2'/><s code='3'/></nace>"
HEAD = '<ns prefix="n" uri="urn:nace"/><let name="codes" value="document(\'nace.xml\')/n:nace/n:s"/>'
ROWS: list[dict[str, object]] = [{"C": i % 3 + 1, "A": 10 + i} for i in range(24)]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is read as a large one, by all engines, and its rules across records are recounted."""
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 0)
    cut_from(monkeypatch, 0)
    monkeypatch.setattr(revalidate, "WHOLE", 0)


@pytest.fixture
def codes(tmp_path: Path) -> Path:
    path = tmp_path / "codes-2026.xml"
    path.write_text(CODES)
    return path


def survey(folder: Path, *more: dict[str, object], name: str = "survey.xml") -> Path:
    return write_data(folder / name, [*ROWS, *more])


@pytest.mark.parametrize(
    "address", parts(["http://example.org/nace.xml", "nace.xml", "../survey.xml", "/etc/nace.xml"], 1)
)
def test_a_rule_without_its_document_is_never_valid(tmp_path: Path, address: str, run: Runner) -> None:
    data = survey(tmp_path)
    rules = write_rules(tmp_path / "r.sch", "A > 0", f"A = document('{address}')//A")
    for code, words in (
        (2, ("validate", data, "-r", rules)),
        (2, ("explain", rules, "--data", data)),
        (2, ("mask", data, "-r", rules, "-o", tmp_path / "m.xml", "--numeric", "C")),
        (1, ("check", data, "-r", rules)),
        (1, ("check", data, "-r", rules, "--original", survey(tmp_path, name="o.xml"))),
    ):
        outcome = run(*words)
        assert outcome.code == code, outcome
        said = outcome.out if words[0] == "check" else outcome.err
        assert "R2" in said
        assert address in said
        assert "--document" in said
        assert "0 violations; complies" not in said
    assert not (tmp_path / "m.xml").exists()
    assert run("explain", rules).code == 0, "nothing is read without data"
    assert f"{rules}:1:" in run("validate", data, "-r", rules).err


@pytest.mark.parametrize("name", spread(["original.xml", "microdata.xml", "survey.xml", "o.xml"], every=2))
def test_the_original_is_known_by_some_names(tmp_path: Path, name: str) -> None:
    data = survey(tmp_path)
    rules = write_rules(tmp_path / "r.sch", f"A = document('{name}')//A")
    other = write_data(tmp_path / "other.xml", [{"A": 1}])
    assert masktron.validate(data, rules, original=data).violations == 0
    assert masktron.validate(data, rules, original=other).violations == 24, "--original says what the one name means"
    if name == "o.xml":
        with refused(UsageError, "document-not-given"):
            masktron.explain(rules, data)
        assert masktron.explain(rules, data, documents={name: data}).rules[0].failed == 0
        assert masktron.explain(rules, data, documents={name: other}).rules[0].failed == 24
        masked = masktron.mask(data, rules, tmp_path / "m.xml", k=3, numeric=["C"], documents={name: data})
        checked = masktron.check(tmp_path / "m.xml", rules, original=data, manifest=tmp_path / "m.manifest.json")
        assert masked.valid
        assert checked.complies, "the manifest knows that the name stood for the original"
    else:
        assert masktron.explain(rules, data).rules[0].failed == 0
        assert masktron.check(data, rules, original=other).violations == (24 if name != "survey.xml" else 0)


@pytest.mark.few(1)
@pytest.mark.parametrize("binding", ["", "xslt2", "xslt3"])
@pytest.mark.usefixtures("large")
def test_all_engines_read_the_same_documents(tmp_path: Path, codes: Path, binding: str) -> None:
    data = survey(tmp_path, {"C": 4, "A": 33}, {"C": 2, "A": 99}, {"C": 5, "A": 1})
    original = survey(tmp_path, name="o.xml")
    other = tmp_path / "more.xml"
    other.write_text("<R><A>33</A><A>99</A></R>")
    tests = (
        "C = $codes/@code",
        "A = document('original.xml')//A or A = document('more.xml')/R/A",
        "count(//Record[A = document('more.xml')/R/A]) = 3",
        "not(A = document('more.xml')/R/A) or C = document('nace.xml')//@code",
        "C = current()/C and count(//Record) = count(document('original.xml')//Record) + 3",
    )
    rules = write_rules(tmp_path / "r.sch", *tests, binding=binding, extra=HEAD)
    files = {"nace.xml": codes, "more.xml": other}
    result = masktron.validate(data, rules, original=original, documents=files)
    assert [rule.failed + rule.errors for rule in result.rules] == [2, 1, 0, 1, 0]
    assert [rule.fired for rule in result.rules] == [27] * 5
    book = bound(read_rules(rules), Given(files, original))
    layout = detect_layout(data, record="Record")
    found = [evaluate(EvaluationRequest(data, book, layout, original=original)).failed.tolist()]
    found += [evaluate(EvaluationRequest(data, book, layout, original=original, engine="saxon")).failed.tolist()]
    assert found == [[2, 1, 0, 1, 0]] * 2
    checked = masktron.check(data, rules, original=original, documents=files)
    assert [rule.failed for rule in checked.rules] == [2, 1, 0, 1, 0]
    assert not [line for line in checked.problems if "does not agree" in line]
    others = [line for line in checked.checked if "for 5 of 5 rules" in line]
    assert len(others) >= (1 if binding else 2), "engines that are not ours say the same of all rules"


@pytest.mark.parametrize("binding", ["", "xslt2"])
def test_mask_keeps_to_a_document_and_the_manifest_names_it(tmp_path: Path, codes: Path, binding: str) -> None:
    data, out, manifest = survey(tmp_path), tmp_path / "m.xml", tmp_path / "m.manifest.json"
    tests = ("C = $codes/@code", "A = document('original.xml')//A")
    rules = write_rules(tmp_path / "r.sch", *tests, binding=binding, extra=HEAD)
    result = masktron.mask(data, rules, out, k=3, numeric=["C"], documents={"nace.xml": codes})
    assert result.valid
    assert all(engine.agrees for engine in result.engines)
    content = json.loads(manifest.read_text())
    digests = {"nace.xml": sha256(codes.read_bytes()).hexdigest(), "original.xml": content["original"]["sha256"]}
    assert content["documents"] == digests
    assert str(tmp_path) not in json.dumps(content["config"])
    given = {"original": data, "manifest": manifest}
    assert masktron.check(out, rules, documents={"nace.xml": codes}, **given).complies  # type: ignore[arg-type]
    lacking = masktron.check(out, rules, **given)  # type: ignore[arg-type]
    assert lacking.exit_code == Exit.VIOLATION
    assert [line for line in lacking.problems if "R1" in line and "without the document 'nace.xml'" in line]
    codes.write_text(CODES + " ")
    changed = masktron.check(out, rules, documents={"nace.xml": codes}, **given)  # type: ignore[arg-type]
    assert [line for line in changed.problems if "'nace.xml' is not the one that the manifest describes" in line]


def test_check_names_the_option_that_works_where_the_original_has_another_name(tmp_path: Path) -> None:
    data = write_data(tmp_path / "surv 1.xml", numbers(12))
    rules = write_rules(tmp_path / "r.sch", "A = document('base.xml')//A", "A + B = T")
    bare = masktron.check(data, rules, original=data)
    (said,) = (line for line in bare.problems if line.startswith("rule R1: "))
    argument, _, given = said.partition("if it is the original: ")[2].partition("; else")[0].partition("=")
    assert argument == "documents"
    ((name, path),) = ast.literal_eval(given).items()
    assert (name, path) == ("base.xml", str(data))
    checked = masktron.check(data, rules, original=data, documents={name: path})
    assert not [line for line in checked.problems if "rule R1" in line]
    assert [rule.fired for rule in checked.rules] == [12, 12]
    # without an original, the file has to have the name of the document
    (said,) = (line for line in masktron.check(data, rules).problems if line.startswith("rule R1: "))
    assert said.endswith('or original="base.xml" if that is it')
    base = tmp_path / "base.xml"
    base.write_bytes(data.read_bytes())
    checked = masktron.check(data, rules, original=base)
    assert not [line for line in checked.problems if "rule R1" in line]
    assert [rule.fired for rule in checked.rules] == [12, 12]


def test_random_numbers_are_bound_to_what_a_document_holds(tmp_path: Path, codes: Path) -> None:
    data = write_data(tmp_path / "d.xml", [{**row, "C": int(str(row["A"])) % 3 + 1} for row in numbers(60)])
    rules = write_rules(tmp_path / "r.sch", "C = $codes/@code", extra=HEAD)
    again, other = tmp_path / "again.xml", tmp_path / "other.xml"
    again.write_bytes(codes.read_bytes())
    other.write_text(CODES.replace("</nace>", "<s code='99'/></nace>"))
    made = []
    for number, document in enumerate((codes, again, other)):
        out = tmp_path / f"m{number}.xml"
        masktron.mask(
            data, rules, out, k=3, roles={"C": "untouched"}, secret=bytes(range(32)), documents={"nace.xml": document}
        )
        made.append(out.read_bytes())
    assert made[0] == made[1]
    assert made[0] != made[2], "two releases with one key and other code lists have unrelated random numbers"


def test_documents_are_given_once_and_used(tmp_path: Path, codes: Path, run: Runner) -> None:
    data = survey(tmp_path)
    rules = write_rules(tmp_path / "r.sch", "C = $codes/@code", extra=HEAD)
    plain = write_rules(tmp_path / "p.sch", "A > 0")
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "half.xml").write_text("<a><b></a>")
    for code, words, says in (
        (2, ("-r", rules, "--document", f"nace.xml={codes}", "--document", "nace.xml=x.csv"), "given-twice"),
        (2, ("-r", rules, "--document", f"nase.xml={codes}"), "unknown-name"),
        (2, ("-r", plain, "--document", f"nace.xml={codes}"), "unknown-name"),
        (2, ("-r", rules, "--document", "nace.xml"), "bad-value"),
        (4, ("-r", rules, "--document", "nace.xml=http://example.org/nace.xml"), "document-unreadable"),
        (4, ("-r", rules, "--document", f"nace.xml={tmp_path / 'none.xml'}"), "document-unreadable"),
        (4, ("-r", rules, "--document", f"nace.xml={tmp_path / 'x.csv'}"), "document-unreadable"),
        (4, ("-r", rules, "--document", f"nace.xml={tmp_path / 'half.xml'}"), "document-unreadable"),
        (4, ("-r", rules, "--document", f"nace.xml={tmp_path}"), "document-unreadable"),
    ):
        for command in ("validate", "check"):
            outcome = run(command, data, *words)
            assert (outcome.code, code_of(outcome.err)) == (code, says), outcome
        assert "nace.xml" in outcome.err or "nase.xml" in outcome.err
    assert run("validate", data, "-r", rules, "--document", f"nace.xml={codes}").code == 0
    said = run("mask", data, "-r", rules, "-o", codes, "--document", f"nace.xml={codes}")
    said.refuses(2, "would-overwrite", taken="the document 'nace.xml'")
    with refused(UsageError, "would-overwrite", taken="the document 'nace.xml'"):
        masktron.mask(data, rules, codes, documents={"nace.xml": codes})
    assert "no rule reads the original" in " ".join(masktron.validate(data, plain, original=data).notes)


def test_settings_give_documents_from_their_folder(tmp_path: Path, codes: Path, run: Runner) -> None:
    data = survey(tmp_path)
    rules = write_rules(tmp_path / "r.sch", "C = $codes/@code", extra=HEAD)
    settings = tmp_path / "s.toml"
    settings.write_text(f'[documents]\n"nace.xml" = "{codes.name}"\n')
    for command in ("validate", "check"):
        assert run(command, data, "-r", rules, "--config", settings).code == 0
    assert run("explain", rules, "--data", data, "--config", settings).code == 0
    settings.write_text("documents = 5\n")
    assert "documents must be a table" in run("validate", data, "-r", rules, "--config", settings).err
    with refused(UsageError, "bad-value"):
        masktron.validate(data, rules, documents={"nace.xml": 5})  # type: ignore[dict-item]


TWO_PHASES = f"""<schema xmlns="{SCHEMATRON}">
<phase id="one"><active pattern="a"/></phase><phase id="two"><active pattern="b"/></phase>
<pattern id="a"><rule context="Record"><assert id="list" test="C = document('nace.xml')//@code">m</assert></rule>
</pattern>
<pattern id="b"><rule context="Record"><assert id="plain" test="A &gt; 0">m</assert>
  <assert id="before" test="A = document('original.xml')//A">m</assert></rule></pattern>
</schema>"""


def test_settings_serve_every_phase_and_options_are_refused_by_the_names_of_all(
    tmp_path: Path, codes: Path, run: Runner
) -> None:
    data = survey(tmp_path)
    rules = tmp_path / "phases.sch"
    rules.write_text(TWO_PHASES)
    settings = tmp_path / "s.toml"
    settings.write_text(f'[documents]\n"nace.xml" = "{codes}"\n"other.xml" = "none.xml"\n')
    given = ("--original", data, "--phase", "two")
    for command in ("validate", "check"):
        for words in (("--config", settings), ("--document", f"nace.xml={codes}")):
            outcome = run(command, data, "-r", rules, *words, *given)
            assert (outcome.err, "2 of 2 rules tested" in outcome.out) == ("", True)
        outcome = run(command, data, "-r", rules, "--document", f"original.xmk={codes}", *given)
        assert (outcome.code, code_of(outcome.err), "original.xml" in outcome.err) == (2, "unknown-name", False)
        # an option is refused, although the settings have the same name
        outcome = run(command, data, "-r", rules, "--config", settings, "--document", f"other.xml={codes}", *given)
        assert (outcome.code, code_of(outcome.err), "other.xml" in outcome.err) == (2, "unknown-name", True)
    assert "reads the document 'nace.xml': its file was not used" in " ".join(
        run("validate", data, "-r", rules, "--config", settings, *given).out.split()
    )
    config = masktron.load_config(settings)
    assert masktron.mask(data, rules, tmp_path / "out.xml", config=config, phase="two", nominal=["C"]).output


def test_the_original_that_nobody_gave_is_asked_for_by_its_option(tmp_path: Path, run: Runner) -> None:
    data = survey(tmp_path)
    rules = tmp_path / "phases.sch"
    rules.write_text(TWO_PHASES)
    outcome = run("validate", data, "-r", rules, "--phase", "two")
    outcome.refuses(2, "needs-setting")
    assert "--original FILE" in outcome.err and "--document" not in outcome.err
    outcome = run("check", data, "-r", rules, "--phase", "two")
    assert "without the original, 'original.xml'; give it: --original FILE" in " ".join(outcome.out.split())
    assert "--document" not in outcome.out


@pytest.mark.parametrize(("named", "says"), [("", "/*.xml"), ("*.xml", "without quotation marks")])
def test_a_folder_and_a_quoted_pattern_are_told_how_to_name_files(
    tmp_path: Path, run: Runner, named: str, says: str
) -> None:
    outcome = run("validate", tmp_path / named, "-r", write_rules(tmp_path / "r.sch", "A = 1"))
    assert (outcome.code, says in outcome.err) == (4, True), outcome


@pytest.mark.parametrize("command", ["validate", "check", "explain", "mask"])
def test_data_that_are_no_xml_are_told_before_documents(tmp_path: Path, run: Runner, command: str) -> None:
    rules = write_rules(tmp_path / "r.sch", "C = $codes/@code", extra=HEAD)
    (tmp_path / "d.dat").write_text("A,B\n1,2\n")
    for name, says in (("none.xml", "does not exist"), ("d.dat", "this is CSV, not XML")):
        data = tmp_path / name
        files = (rules, "--data", data) if command == "explain" else (data, "-r", rules)
        outcome = run(command, *files, *(("-o", tmp_path / "o.xml") if command == "mask" else ()))
        assert (outcome.code, says in outcome.err, "nace.xml" in outcome.err) == (4, True, False), outcome


def test_a_document_is_read_once_and_for_all(tmp_path: Path, codes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = survey(tmp_path)
    rules = write_rules(tmp_path / "r.sch", "C = $codes/@code", extra=HEAD)
    book = bound(read_rules(rules), Given({"nace.xml": codes}))
    codes.unlink()
    layout = detect_layout(data, record="Record")
    assert evaluate(EvaluationRequest(data, book, layout)).failed.tolist() == [0]
    with refused(DocumentError, "document-unreadable"):
        masktron.validate(data, rules, documents={"nace.xml": codes})


# files without records, and rulebooks without rules


def test_a_file_without_records_is_not_valid(tmp_path: Path, run: Runner) -> None:
    data, full = tmp_path / "e.xml", survey(tmp_path)
    data.write_text("<Data></Data>")
    rules = write_rules(tmp_path / "r.sch", "A > 0")
    out = tmp_path / "m.xml"
    for words in (
        ("validate", data, "-r", rules, "--csv", tmp_path / "f.csv"),
        ("validate", data, "-r", rules, "--release-safe"),
        ("check", data, "-r", rules),
        ("mask", data, "-r", rules, "-o", out),
        ("explain", rules, "--data", data),
        ("assess", data, "--original", full, "--record", "Record"),
    ):
        outcome = run(*words)
        assert outcome.code == 4, outcome
        assert code_of(outcome.err) == "no-records"
        assert "valid" not in outcome.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.xml", "r.sch", "survey.xml"]
    for command in ("validate", "check"):
        assert run(command, data, "-r", rules, "--allow-empty").code == 0
    assert masktron.validate(data, rules, allow_empty=True).valid
    assert masktron.check(data, rules, allow_empty=True).complies
    against = masktron.check(data, rules, original=full, allow_empty=True)
    assert "0 records for 24 of the original" in against.problems
    with refused(DocumentError, "no-records"):
        masktron.validate(data, rules)
    with refused(UsageError, "bad-value", expected="true or false", name="allow_empty"):
        masktron.validate(data, rules, allow_empty=1)  # type: ignore[arg-type]


def test_a_check_without_rules_proves_nothing(tmp_path: Path, run: Runner) -> None:
    data = survey(tmp_path)
    rules = write_rules(tmp_path / "r.sch", "A = document('o.xml')//A")
    outcome = run("check", data, "-r", rules, "--allow-unfired", "R1")
    assert outcome.code == 1
    assert "no rule was evaluated" in outcome.out


# soft and hard


def test_explain_says_which_attribute_makes_a_rule_soft(tmp_path: Path, run: Runner) -> None:
    marks = ['role="info"', 'flag=" Hint "', 'role="advisory"', "", 'role="error" flag="warning"']
    body = "".join(f'<assert id="a{n}" test="A" {mark}>m</assert>' for n, mark in enumerate(marks))
    rules = tmp_path / "r.sch"
    rules.write_text(write_rules(rules, "A").read_text().replace("</rule>", f"{body}</rule>"))
    found = {rule.id: (rule.soft, rule.marks) for rule in masktron.explain(rules).rules}
    assert found == {
        "R1": (False, ()),
        "a0": (True, ('role="info"',)),
        "a1": (True, ('flag=" Hint "',)),
        "a2": (False, ('role="advisory"',)),
        "a3": (False, ()),
        "a4": (True, ('flag="warning"',)),
    }
    said = run("explain", rules).out
    assert 'soft, for role="info" (a failure is reported and decides nothing): a0' in said
    assert 'hard, as role="advisory" is none of the words that make a rule soft: a2' in said
    assert "hard, as they have no role, flag or severity: R1, a3" in said


def test_a_document_that_is_the_file_itself_is_told(tmp_path: Path) -> None:
    """Such a rule holds whatever the values are: a note of `validate`, a problem of `check`."""
    data = survey(tmp_path)
    copy, link, other = tmp_path / "copy.xml", tmp_path / "link.xml", survey(tmp_path, {"C": 1, "A": 7}, name="o.xml")
    copy.write_bytes(data.read_bytes())
    link.symlink_to(data)
    rules = write_rules(tmp_path / "r.sch", "A = document('base.xml')//A")
    for path in (data, copy, link):
        for result in (
            masktron.validate(data, rules, documents={"base.xml": path}),
            masktron.validate(data, rules, original=path),
        ):
            assert result.exit_code == Exit.COMPLIES
            assert any("'base.xml' of the rules is the file itself" in note for note in result.notes)
        checked = masktron.check(data, rules, documents={"base.xml": path})
        assert not checked.complies
        assert any("is the file itself" in problem for problem in checked.problems)
    assert not [n for n in masktron.validate(data, rules, original=other).notes if "itself" in n]
    assert masktron.check(data, rules, documents={"base.xml": other}).complies

"""What `check` finds, and what it says it cannot find: nothing passes in silence, nothing crashes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import masktron
from cli_runner import SCHEMATRON, Runner, numbers, write_data, write_rules
from masktron.errors import DocumentError, Exit, UsageError
from refusals import refused


class Masked:
    """A masked file with all that belongs to it, to be spoiled."""

    def __init__(self, folder: Path) -> None:
        rows = [{"Id": at, **row, "NAME": f"n{at}"} for at, row in enumerate(numbers())]
        self.data = write_data(folder / "data.xml", rows)
        self.rules = write_rules(folder / "rules.sch", "A + B = T", "A >= 0", "string-length(NAME) > 0")
        self.out = folder / "masked.xml"
        self.manifest = folder / "masked.manifest.json"
        if not self.out.exists():
            masktron.mask(self.data, self.rules, self.out, k=4, roles={"Id": "record-id", "NAME": "identifier"})

    def check(self, *, original: bool = True, manifest: bool = True) -> masktron.CheckResult:
        return masktron.check(
            self.out,
            self.rules,
            original=self.data if original else None,
            manifest=self.manifest if manifest else None,
        )

    def change(self, old: str, new: str, count: int = 1) -> None:
        text = self.out.read_text()
        assert old in text
        self.out.write_text(text.replace(old, new, count))

    def contract(self, change: Callable[[dict[str, Any]], object]) -> None:
        content = json.loads(self.manifest.read_text())
        change(content)
        self.manifest.write_text(json.dumps(content))

    def sign(self) -> None:
        """Make the manifest agree with a changed file, as somebody would who tampers with both."""
        digest = hashlib.sha256(self.out.read_bytes()).hexdigest()
        self.contract(lambda content: content["output"].update(sha256=digest))


@pytest.fixture(scope="module")
def masked_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("masked")
    Masked(folder)
    return folder


@pytest.fixture
def case(masked_once: Path, tmp_path: Path) -> Masked:
    """A copy of the one masked file, which each test spoils for itself."""
    shutil.copytree(masked_once, tmp_path, dirs_exist_ok=True)
    return Masked(tmp_path)


def has(lines: tuple[str, ...], *texts: str) -> bool:
    return any(all(text in line for text in texts) for line in lines)


def test_the_good_case(case: Masked) -> None:
    result = case.check()
    assert result.complies, result
    assert result.not_checked == ("rule R3: reads NAME, removed by masking",)
    assert has(result.checked, "SHA-256")
    assert has(result.checked, "1 removed identifier")
    assert has(result.checked, "2 rules on 40 records")
    assert "n1" not in repr(result)


# tampering


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("<Record>", "<Record> ", "SHA-256"),
        ("</Record>", "<NAME>x</NAME></Record>", "identifier NAME was to be removed"),
        ("</Record>", "<NEW>1</NEW></Record>", "field NEW is not in the original"),
        ("<Id>7</Id>", "<Id>70</Id>", "unmasked field Id differs from the original in 1 record"),
        ("<Data>", '<Data note="x">', "attributes of the root"),
        ("</Record>", "<A>1</A></Record>", "the original is flat"),
        ("</Data>", "<Secret>n1</Secret></Data>", "the original is flat"),
    ],
)
def test_tampering_is_found_even_where_the_manifest_agrees(case: Masked, old: str, new: str, problem: str) -> None:
    case.change(old, new)
    assert has(case.check().problems, "SHA-256")
    if problem != "SHA-256":
        case.sign()
        result = case.check()
        assert not result.complies
        assert has(result.problems, problem), result.problems


def test_a_record_that_is_gone_or_doubled_is_found(case: Masked) -> None:
    first = case.out.read_text().split("<Record>")[1]
    case.change(f"<Record>{first}", "")
    case.sign()
    result = case.check()
    assert has(result.problems, "39 records for 40")
    assert has(result.not_checked, "cell by cell", "numbers of records differ")
    case.change("<Record>", f"<Record>{first}<Record>{first}<Record>")
    case.sign()
    assert has(case.check().problems, "41 records for 40")


def test_a_field_that_is_gone_is_found(case: Masked) -> None:
    import re

    case.out.write_text(re.sub("<A>.*?</A>", "", case.out.read_text()))
    assert has(case.check().problems, "field A of the original is gone")
    assert has(case.check(original=False).problems, "no masked field A")


def test_the_original_itself_does_not_pass_as_masked(case: Masked) -> None:
    case.out.write_bytes(case.data.read_bytes())
    assert has(case.check(manifest=False).problems, "nothing is masked")
    case.change("<Data>", "<Data >")
    assert has(case.check(manifest=False).problems, "no cell differs")
    assert not case.check(original=False).complies


# what is missing


def test_without_manifest_and_original_it_says_so(case: Masked) -> None:
    bare = case.check(original=False, manifest=False)
    assert has(bare.not_checked, "group sizes", "manifest=")
    assert has(bare.not_checked, "original=")
    assert bare.min_group is None
    assert (bare.violations, bare.complies) == (0, False), "a rule that is not tested counts nothing"
    half = case.check(manifest=False)
    assert has(half.not_checked, "field NAME: gone")
    assert has(half.not_checked, "cell by cell")


@pytest.mark.parametrize(
    ("lets", "tests", "left_out"),
    [
        ("", ["A = document('o.xml')//A", "B >= 0"], ["R1"]),
        ("<let name='o' value=\"document('o.xml')\"/><let name='c' value='$o//A'/>", ["A = $c", "B >= 0"], ["R1"]),
        ("<let name='o' value=\"document('o.xml')\"/>", ["A >= 0", "count($o//A) > 0"], ["R2"]),
    ],
)
def test_only_rules_that_read_the_original_wait_for_it(
    tmp_path: Path, lets: str, tests: list[str], left_out: list[str]
) -> None:
    rules = write_rules(tmp_path / "r.sch", *tests, extra=lets)
    data = write_data(tmp_path / "d.xml", numbers())
    result = masktron.check(data, rules)
    waiting = [f"{name}:" for name in left_out]
    assert [line.split()[1] for line in result.problems if "without the document 'o.xml'" in line] == waiting
    assert result.exit_code == Exit.VIOLATION
    let_go = masktron.check(data, rules, allow_unfired=left_out)
    assert let_go.complies
    assert [line.split()[1] for line in let_go.not_checked if "without the document 'o.xml'" in line] == waiting
    assert [rule.id for rule in result.rules] == [f"R{n}" for n in (1, 2) if f"R{n}" not in left_out]


def test_rules_that_fire_nowhere_prove_nothing(case: Masked) -> None:
    write_rules(case.rules, "A >= 0", context="Recrod")
    result = case.check(original=False, manifest=False)
    assert not result.complies
    assert has(result.problems, "no rule fires on any record")
    body = "".join(
        f'<pattern><rule context="{context}"><assert id="{context}" test="A &gt;= 0">m</assert></rule></pattern>'
        for context in ("Record", "Recrod")
    )
    case.rules.write_text(f'<schema xmlns="{SCHEMATRON}">{body}</schema>')
    result = case.check(original=False, manifest=False)
    assert not result.complies
    assert has(result.problems, "rule Recrod", "did you mean Record?")
    result = masktron.check(case.out, case.rules, allow_unfired=["Recrod"])
    assert result.complies
    assert has(result.not_checked, "rule Recrod", "(allowed)")
    assert "complies as far as it was checked" in " ".join(repr(result).split())


@pytest.mark.parametrize("manifest", [True, False])
def test_no_records_do_not_comply(case: Masked, manifest: bool) -> None:
    case.out.write_text("<Data></Data>")
    with refused(DocumentError, "no-records"):
        case.check(manifest=manifest)
    result = masktron.check(case.out, case.rules, original=case.data, allow_empty=True)
    assert not result.complies
    assert has(result.problems, "0 records for 40 of the original")


def test_an_original_of_another_layout(case: Masked) -> None:
    case.data.write_text("<Other><Person><A>1</A></Person><Person><A>2</A></Person></Other>")
    result = case.check(manifest=False)
    assert not result.complies
    assert has(result.problems, "the original has no records /Data/Record")
    case.data.write_text("<Survey><Data>" + "<Record><A>1</A></Record>" * 40 + "</Data></Survey>")
    assert has(case.check(manifest=False).problems, "in the original at /Survey/Data/Record")
    case.data.write_text("<Data>" + "<Record><A>1</A><A>2</A></Record>" * 40 + "</Data>")
    assert has(case.check(manifest=False).not_checked, "those of the original are not flat", "line 1")
    case.data.write_text("<Data><Record>")
    with pytest.raises(DocumentError):
        case.check(manifest=False)


def test_nested_and_namespaced_files(tmp_path: Path) -> None:
    rules = write_rules(
        tmp_path / "r.sch", "n:A >= 0", context="n:Record", extra='<ns prefix="n" uri="urn:x"/>', binding="xslt2"
    )
    nested, plain, other = tmp_path / "nested.xml", tmp_path / "plain.xml", tmp_path / "other.xml"
    nested.write_text('<Data xmlns="urn:x">' + "<Record><A>1</A>and<P><Q>2</Q></P></Record>" * 6 + "</Data>")
    plain.write_text('<Data xmlns="urn:x">' + "<Record><A>1</A></Record>" * 6 + "</Data>")
    other.write_text("<Data>" + "<Record><A>2</A></Record>" * 6 + "</Data>")
    result = masktron.check(nested, rules, original=nested)
    assert has(result.problems, "nothing is masked")
    assert has(result.not_checked, "not flat")
    assert has(masktron.check(plain, rules, original=nested).not_checked, "those of the original are not flat")
    assert has(masktron.check(plain, rules, original=other).problems, "no records /Data/Record")
    assert masktron.check(plain, rules).complies


# the manifest


def drop(*path: str) -> Callable[[dict[str, Any]], object]:
    def change(content: dict[str, Any]) -> None:
        for key in path[:-1]:
            content = content[key]
        del content[path[-1]]

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (drop("plan"), "plan is missing"),
        (drop("result", "blocks"), "result.blocks is missing"),
        (drop("order"), "order is missing"),
        (lambda m: m.update(manifest_version=2), "manifest_version is 2"),
        (lambda m: m["plan"].update(k="5"), "plan.k is not an integer"),
        (lambda m: m["plan"].update(k=1), "k is 1"),
        (lambda m: m["config"].update(k=9), "config.k is 9"),
        (lambda m: m["repeat"]["settings"].update(k=9), "repeat.settings.k is 9"),
        (lambda m: m["config"]["roles"].update({m["plan"]["fields"][0]["name"]: "weight"}), "config.roles says that"),
        (lambda m: m["result"]["blocks"][0].update(groups=-1), "negative"),
        (lambda m: m["result"].update(rules=["R1"]), "result.rules[0] is not a table"),
        (lambda m: m["result"].update(blocks=[]), "each masked field once"),
        (lambda m: m["result"]["blocks"][0].update(variables="ABT"), "result.blocks[0].variables is not a list"),
        (lambda m: m["result"]["blocks"][0].update(variables=["A"]), "each masked field once"),
        (lambda m: m["result"].update(excluded=[0]), "excluded"),
        (lambda m: m["result"].update(excluded=[2, 2]), "excluded"),
        (lambda m: m["result"].update(allowed=[3]), "result.allowed[0] is not a text"),
        (lambda m: m.update(order=[0, 99]), "permutation"),
        (lambda m: m.update(output=[]), "output is not a table"),
        (lambda m: m["output"].update(sha256=None), "output.sha256 is not a text"),
        (lambda m: m["plan"].update(fields=[{"name": "A"}]), "plan.fields[0].role is missing"),
    ],
)
def test_a_malformed_manifest_is_refused(case: Masked, change: Callable[[dict[str, Any]], object], says: str) -> None:
    case.contract(change)
    with pytest.raises(UsageError) as caught:
        case.check()
    assert says in str(caught.value)
    assert "manifest.json" in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", "null", "[" * 100_000, '{"manifest_version": 1}', "\x00"])
def test_what_is_no_manifest_is_refused(case: Masked, text: str) -> None:
    case.manifest.write_text(text)
    with refused(UsageError, "not-a-manifest"):
        case.check()
    case.manifest.write_bytes(b"\xff\xfe")
    with refused(UsageError, "not-utf-8"):
        case.check()
    case.manifest.unlink()
    with refused(UsageError, "cannot-read", file="manifest"):
        case.check()


def test_a_manifest_of_another_run(case: Masked, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    data = write_data(other / "data.xml", [{"Id": n, **row, "NAME": "x"} for n, row in enumerate(numbers(seed=2))])
    masktron.mask(data, case.rules, other / "masked.xml", k=4, roles={"Id": "record-id", "NAME": "identifier"})
    case.manifest = other / "masked.manifest.json"
    result = case.check()
    assert has(result.problems, "the file is not the one")
    assert has(result.problems, "the original is not the one")


def test_exceptions_of_a_manifest_do_not_reach_another_rulebook(tmp_path: Path) -> None:
    data = write_data(tmp_path / "d.xml", numbers())
    rules = write_rules(tmp_path / "r.sch", "A + B = T", "A > 5000")
    out = tmp_path / "m.xml"
    masktron.mask(data, rules, out, k=4, allow=("R2",))
    manifest = tmp_path / "m.manifest.json"
    assert has(masktron.check(out, rules, manifest=manifest).not_checked, "R2: let go")
    write_rules(rules, "A + B = T", "A > 6000")
    result = masktron.check(out, rules, manifest=manifest)
    assert has(result.not_checked, "rulebook of the manifest")
    assert str(result).startswith("another rulebook: the one given is not that of the manifest")
    assert result.violations == 40
    assert not result.complies


def test_a_manifest_lets_go_of_no_rule_that_its_settings_do_not_name(tmp_path: Path) -> None:
    data = write_data(tmp_path / "d.xml", numbers())
    rules = write_rules(tmp_path / "r.sch", "A + B = T", "A > 5000")
    masktron.mask(data, rules, tmp_path / "m.xml", k=4, allow=("R2",))
    manifest = tmp_path / "m.manifest.json"
    content = json.loads(manifest.read_text())
    content["config"]["allow"] = []
    manifest.write_text(json.dumps(content))
    result = masktron.check(tmp_path / "m.xml", rules, manifest=manifest)
    assert (result.violations, result.complies) == (40, False)


def test_a_masked_field_without_any_value_left_is_no_problem(tmp_path: Path) -> None:
    rows = [{**row, "Rare": 7 if at == 0 else None} for at, row in enumerate(numbers())]
    data = write_data(tmp_path / "d.xml", rows)
    rules = write_rules(tmp_path / "r.sch", "A + B = T")
    out = tmp_path / "m.xml"
    masktron.mask(data, rules, out, k=4)
    result = masktron.check(out, rules, original=data, manifest=tmp_path / "m.manifest.json")
    assert "Rare" not in out.read_text()
    assert result.complies, result


def test_limits_of_the_manifest_hold_as_well(case: Masked) -> None:
    case.contract(lambda content: content["config"].update(limits={"linkage": 100, "block_k": 4}))
    result = masktron.check(
        case.out, case.rules, original=case.data, manifest=case.manifest, limits={"block_k": 3, "unchanged": 100}
    )
    assert result.complies, result
    said = "3 figures within the limits (block_k 4 of the manifest, linkage 100 of the manifest, unchanged 100)"
    assert said in result.checked
    case.contract(lambda content: content["config"].update(limits={"linkage": 0}))
    assert has(case.check().problems, "linkage is", "the limit 0")
    assert not masktron.check(
        case.out, case.rules, original=case.data, manifest=case.manifest, limits={"linkage": 100}
    ).complies
    alone = case.check(original=False)
    assert 'the limit linkage: needs the original (original="FILE")' in alone.not_checked


@pytest.mark.parametrize("limits", [{"linkage": "low"}, {"no_figure": 3}, [3]])
def test_limits_of_a_damaged_manifest_are_refused(case: Masked, limits: object) -> None:
    case.contract(lambda content: content["config"].update(limits=limits))
    with refused(UsageError, "not-a-manifest"):
        case.check()


def test_the_original_is_read_as_the_manifest_says(tmp_path: Path, run: Runner) -> None:
    rows = [f"{at};{at % 7},5;{at * 3 % 11},25" for at in range(40)]
    data, out = tmp_path / "a.csv", tmp_path / "b.csv"
    data.write_text("\n".join(["id;löhne;umsatz", *rows, ""]), encoding="cp1252")
    rules = write_rules(tmp_path / "r.sch", "umsatz >= 0")
    said = ("--format-option", "encoding=cp1252", "--format-option", "decimal=comma")
    assert run("mask", data, "-r", rules, "-o", out, "-k", "3", *said, "--role", "id=identifier").code == 0
    manifest = tmp_path / "b.manifest.json"
    assert run("check", out, "-r", rules, "--original", data, "--manifest", manifest).code == 0
    assert run("assess", out, "--original", data, "--manifest", manifest).code == 0
    converted = tmp_path / "b.parquet"
    assert run("convert", out, "--out", converted, *said).code == 0
    checked = run("check", converted, "-r", rules, "--original", data, "--manifest", manifest)
    assert checked.code == 1
    assert "complies" not in checked.out.replace("does not comply", "")
    assert "has no option" not in checked.err


def test_options_of_the_original_say_nothing_of_a_file_in_another_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyreadstat", reason="SPSS files are not read here: masktron[spss]")
    rows = [f"{at},{'Köln' if at % 2 else 'Bonn'},{at * 7 % 50}" for at in range(40)]
    data, out = tmp_path / "a.csv", tmp_path / "b.csv"
    data.write_text("\n".join(["id,ort,umsatz", *rows, ""]), encoding="cp1252")
    rules, said = write_rules(tmp_path / "r.sch", "umsatz >= 0"), ("--format-option", "encoding=cp1252")
    run, roles = Runner(capsys), ("--role", "id=identifier", "--role", "ort=untouched")
    assert run("mask", data, "-r", rules, "-o", out, "-k", "3", *said, *roles).code == 0
    converted = tmp_path / "b.sav"
    assert run("convert", out, "--out", converted, *said).code == 0
    checked = run("check", converted, "-r", rules, "--original", data, "--manifest", tmp_path / "b.manifest.json")
    assert "SHA-256 differs" in checked.out
    assert "differs from the original" not in checked.out

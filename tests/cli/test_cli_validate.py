"""`masktron validate`: thresholds, several reports at once, interruptions, and reports without any value."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import masktron
from cli_runner import SCHEMATRON, Runner, write_data, write_rules
from masktron.config import Config
from masktron.declared import declared_in
from masktron.errors import UsageError
from masktron.judge.findings import Finding
from masktron.thresholds import Threshold, threshold, thresholds
from refusals import refused
from report_files import write_pair

REPORTS = ("svrl", "csv", "json", "sarif", "junit")


def outputs(folder: Path) -> list[object]:
    return [word for name in REPORTS for word in (f"--{name}", folder / f"out.{name}")]


# thresholds


@pytest.mark.parametrize(
    ("text", "failures", "fired", "admitted"),
    [
        ("5", 5, 1000, True),
        ("5", 6, 1000, False),
        ("0", 0, 0, True),
        ("0.1%", 1, 1000, True),
        ("0.1%", 2, 1000, False),
        ("0.1 %", 1, 999, False),
        ("33.3%", 333, 1000, True),
        ("33.3%", 334, 1000, False),
        ("100%", 7, 7, True),
        ("0%", 0, 0, True),
        ("50%", 1, 0, False),
    ],
)
def test_what_a_threshold_admits(text: str, failures: int, fired: int, admitted: bool) -> None:
    assert threshold(text, "R").admits(failures, fired) is admitted


@pytest.mark.parametrize("value", ["-1", "1.5", "101%", "%", "five", "", "1e3", "٣", True, 1.5, None, "-1%"])
def test_what_is_no_threshold(value: object) -> None:
    with refused(UsageError, "bad-value", name="max_failures.R1", given=repr(value)):
        threshold(value, "R1")


def given(*texts: str) -> object:
    """Return what options give."""
    return declared_in(Config)["max_failures"].collected("max_failures", texts)


def test_options_are_read_from_the_right() -> None:
    assert thresholds(given("a=b=3", "c=2", "c=2")) == {
        "a=b": Threshold(Fraction(3), False, "3"),
        "c": Threshold(Fraction(2), False, "2"),
    }
    for wrong in ("R1", "=3", "3"):
        with pytest.raises(UsageError):
            thresholds(given(wrong))


@pytest.fixture
def counted(tmp_path: Path) -> tuple[Path, Path]:
    """Ten records: R1 fails on 3, R2 on 1, the soft rule on 4."""
    soft = (
        '<pattern><rule context="Record"><assert id="soft" role="warning" test="A &lt; 6">s</assert></rule></pattern>'
    )
    rules = write_rules(tmp_path / "r.sch", "A < 7", "A != 2", extra=soft)
    return write_data(tmp_path / "d.xml", [{"A": at} for at in range(10)]), rules


@pytest.mark.parametrize(
    ("bounds", "code"),
    [
        ([], 1),
        (["R1=3"], 1),
        (["R1=3", "R2=1"], 0),
        (["R1=2", "R2=1"], 1),
        (["R1=30%", "R2=10%"], 0),
        (["R1=29.9%", "R2=1"], 1),
        (["*=3"], 0),
        (["*=2"], 1),
        (["*=0", "R1=3", "R2=1"], 0),
        (["*=3", "R1=0"], 1),
        (["*=0%", "R1=3", "R2=1", "soft=4"], 0),
        (["*=3", "soft=3"], 1),
    ],
)
def test_thresholds_decide_the_exit_code(
    bounds: list[str], code: int, counted: tuple[Path, Path], run: Runner, tmp_path: Path
) -> None:
    options = [word for bound in bounds for word in ("--max-failures", bound)]
    outcome = run("validate", counted[0], "-r", counted[1], *options, "--json", tmp_path / "o.json")
    assert outcome.code == code, outcome
    content = json.loads((tmp_path / "o.json").read_text())
    assert content["valid"] is (code == 0)
    assert (content["violations"], content["warnings"]) == (4, 4)
    assert [rule["failed"] for rule in content["rules"] if rule["id"] in ("R1", "R2")] == [3, 1]
    table = dict(bound.split("=") for bound in bounds)
    assert masktron.validate(*counted, max_failures=table).valid is (code == 0)


def test_the_table_shows_what_is_allowed(counted: tuple[Path, Path], run: Runner) -> None:
    outcome = run("validate", counted[0], "-r", counted[1], "--max-failures", "R1=2", "--max-failures", "R2=50%")
    assert "allowed" in outcome.out
    rows = {line.split()[0]: line.split() for line in outcome.out.splitlines() if line.startswith("R")}
    assert rows["R1"][2:6] == ["10", "3", "0", "2"]
    assert rows["R2"][2:6] == ["10", "1", "0", "50%"]
    assert "4 violations; too many of R1" in outcome.out
    within = run("validate", counted[0], "-r", counted[1], "--max-failures", "*=3")
    assert "valid: 4 violations, all within what is allowed" in within.out
    assert "allowed" not in run("validate", counted[0], "-r", counted[1]).out


def test_unknown_rules_are_a_usage_error(counted: tuple[Path, Path], run: Runner, tmp_path: Path) -> None:
    outcome = run("validate", counted[0], "-r", counted[1], "--max-failures", "R11=3", "--svrl", tmp_path / "o.svrl")
    outcome.refuses(2, "unknown-name", name="R11")
    assert not (tmp_path / "o.svrl").exists()
    assert run("validate", counted[0], "-r", counted[1], "--max-failures", "R1=lots").code == 2
    with refused(UsageError, "unknown-name", name="x"):
        masktron.validate(*counted, max_failures={"x": 1})


def test_settings_hold_thresholds_and_options_override_them(
    counted: tuple[Path, Path], run: Runner, tmp_path: Path
) -> None:
    toml = tmp_path / "s.toml"
    toml.write_text('[max_failures]\nR1 = 3\n"*" = "5%"\n')
    base = ("validate", counted[0], "-r", counted[1], "--config", toml)
    assert run(*base).code == 1
    assert run(*base, "--max-failures", "R2=1").code == 0
    assert run(*base, "--max-failures", "*=10%").code == 0
    assert run(*base, "--max-failures", "R2=1", "--max-failures", "R1=2").code == 1
    toml.write_text("[max_failures]\nR1 = 1.5\n")
    outcome = run(*base)
    assert (outcome.code, "s.toml" in outcome.err, "R1" in outcome.err) == (2, True, True)
    toml.write_text("max_failures = 3\n")
    assert run(*base).code == 2


# options


@pytest.mark.parametrize("limit", ["-1", "many", "1.5", "ALL", "٣"])
def test_a_limit_is_a_number_or_all(limit: str, counted: tuple[Path, Path], run: Runner) -> None:
    outcome = run("validate", counted[0], "-r", counted[1], f"--max-findings={limit}")
    assert outcome.code == 2
    assert f"'--max-findings': it must be a number of findings or all, not {limit!r}" in outcome.err


def test_options_in_python(counted: tuple[Path, Path]) -> None:
    assert len(masktron.validate(*counted, max_findings=None).findings) == 8
    assert len(masktron.validate(*counted, max_findings=2).findings) == 5
    for wrong in (-1, "some", True, 1.5):
        with pytest.raises(UsageError):
            masktron.validate(*counted, max_findings=wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        masktron.validate(*counted, release_safe="no")  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        masktron.validate(*counted, max_failures=[("R1", 3)])  # type: ignore[arg-type]


# whole or not there


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError(28, "No space left on device")])
def test_an_interrupted_run_leaves_every_report_as_it_was(
    error: BaseException, tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "out.csv").write_text("of yesterday")
    data, rules = write_pair(tmp_path)
    seen: list[Finding] = []
    from masktron.report.formats.junit import JunitReport

    def stop(self: JunitReport, finding: Finding) -> None:
        seen.append(finding)
        if len(seen) == 4:
            raise error

    monkeypatch.setattr(JunitReport, "add", stop)
    try:
        assert run("validate", data, "-r", rules, *outputs(folder)).code != 0
    except KeyboardInterrupt:
        assert error is KeyboardInterrupt
    assert len(seen) == 4
    assert [path.name for path in folder.iterdir()] == ["out.csv"]
    assert (folder / "out.csv").read_text() == "of yesterday"


def test_a_report_that_cannot_be_written_is_known_before_the_file_is_read(
    tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    from masktron.errors import DocumentError
    from masktron.report import outputs as module

    data, rules = write_pair(tmp_path)

    def refused(path: Path) -> object:
        raise DocumentError("the output cannot be written: Permission denied", where=str(path))

    def never(*_: object, **__: object) -> None:
        raise AssertionError("ran")

    monkeypatch.setattr(module, "atomic_path", refused)
    monkeypatch.setattr("masktron.jobs.job.verdicts", never)
    assert run("validate", data, "-r", rules, "--csv", tmp_path / "o.csv").code == 4


# nothing of any record

SECRET = "5e37c1e7"  # noqa: S105 -- no password
SECRET_NUMBER = "735173517351"  # noqa: S105
HIDING = f"""<?xml version="1.0"?>
<?pi {SECRET}-pi?><!-- {SECRET}-comment -->
<Data root="{SECRET}-root"><!-- {SECRET}-comment -->
<Record id="{SECRET}-id" at="{SECRET}-at"><V1>{SECRET}-V1</V1><V2>{SECRET_NUMBER}</V2>
<!-- {SECRET} --><?x {SECRET}?></Record>
<Record id="{SECRET}-id2"><V1><![CDATA[{SECRET}-cdata]]></V1><V2>-{SECRET_NUMBER}.5</V2><V3>&#53;e37c1e7</V3></Record>
<Record id="{SECRET}-id3"><V1/><V2>{SECRET}</V2><V3>{SECRET}</V3></Record>
</Data>"""
TELLING = f"""<schema xmlns="{SCHEMATRON}" queryBinding="BINDING"><let name="g" value="/Data/@root"/>
<pattern id="p"><rule context="Record"><let name="v" value="concat(V1, @id)"/>
<assert id="one" test="V1 = 'x'"><value-of select="V1"/>, <value-of select="$v"/>, <value-of select="$g"/></assert>
<report id="two" test="V2 != 0" role="info">V2 is <value-of select="V2"/> <value-of select="//comment()"/></report>
<assert id="three" test="CAST">three <value-of select="@id"/></assert>
<assert id="order" test="V2 &lt; 0">m</assert></rule></pattern>
<pattern id="q">
<rule context="@id"><assert id="at" test="string-length(.) &lt; 3"><value-of select="."/></assert></rule>
<rule context="Record/text() | comment() | processing-instruction()">
<assert id="text" test="normalize-space(.) = ''"><value-of select="."/></assert></rule></pattern>
<pattern id="w">
<rule context="/Data"><assert id="whole" test="count(Record) = 0"><value-of select="."/></assert></rule></pattern>
</schema>"""


@pytest.mark.parametrize(("binding", "cast"), [("xslt", "number(V2) &lt; 0"), ("xslt2", "xs:integer(V2) &lt; 0")])
def test_no_output_has_anything_of_a_record(binding: str, cast: str, tmp_path: Path, run: Runner) -> None:
    data, rules = tmp_path / "d.xml", tmp_path / "r.sch"
    data.write_text(HIDING)
    rules.write_text(TELLING.replace("BINDING", binding).replace("CAST", cast))
    told = tmp_path / "told"
    safe = tmp_path / "safe"
    for folder in (told, safe):
        folder.mkdir()
    command = ("validate", data, "-r", rules, "--record-id", "@id")
    assert run(*command, *outputs(told)).code == 1
    for name in REPORTS:  # without the option each report tells: the test can fail
        content = (told / f"out.{name}").read_bytes()
        assert SECRET.encode() in content
        assert b"CONFIDENTIAL" in content
    outcome = run(*command, *outputs(safe), "--release-safe")
    assert outcome.code == 1
    written = {name: (safe / f"out.{name}").read_bytes() for name in REPORTS}
    written |= {"out": outcome.out.encode(), "err": outcome.err.encode()}
    for name, content in written.items():
        assert SECRET.encode() not in content, name
        assert SECRET_NUMBER.encode() not in content, name
        assert b"Record[" not in content, name
        assert b"CONFIDENTIAL" not in content, name
    counts = {rule["id"]: rule["failed"] for rule in json.loads(written["json"])["rules"]}
    assert counts["one"] == 3
    assert counts["at"] == 3
    same = json.loads((told / "out.json").read_bytes())
    assert {rule["id"]: rule["failed"] for rule in same["rules"]} == counts
    shown = run(*command, "--release-safe", "--json", "-")
    assert SECRET not in shown.out + shown.err


def test_the_result_in_python_without_values(tmp_path: Path) -> None:
    data, rules = tmp_path / "d.xml", tmp_path / "r.sch"
    data.write_text(HIDING)
    rules.write_text(TELLING.replace("BINDING", "xslt2").replace("CAST", "xs:integer(V2) &lt; 0"))
    result = masktron.validate(data, rules, release_safe=True)
    assert result.findings == ()
    assert SECRET not in repr(result) + json.dumps(result.as_dict())
    assert result.as_dict()["confidential"] is None
    assert not result.valid


@pytest.mark.parametrize(
    "wrong",
    [
        f"<Data><Record><V1>{SECRET}&{SECRET};</V1></Record></Data>",
        f"<Data><Record><V1>{SECRET}</Record></Data>",
        f"<Data><Record><V1 a='{SECRET}' a='{SECRET}'/></Record></Data>",
        f'<!DOCTYPE Data SYSTEM "{SECRET}.dtd"><Data><Record/></Data>',
        f"<Data><Record/></Data>{SECRET}",
        f"<?xml version='1.0' encoding='{SECRET}'?><Data><Record/></Data>",
    ],
)
def test_errors_do_not_tell_either(wrong: str, tmp_path: Path, run: Runner) -> None:
    data = tmp_path / "d.xml"
    data.write_text(wrong)
    rules = write_rules(tmp_path / "r.sch", "V1 = 1")
    outcome = run("validate", data, "-r", rules, "--release-safe", "--svrl", tmp_path / "o.svrl")
    assert SECRET not in outcome.out + outcome.err
    assert (outcome.code == 4) is ("cannot be used" in outcome.err)
    assert outcome.code == run("validate", data, "-r", rules).code


def test_check_has_thresholds_too(counted: tuple[Path, Path], run: Runner, tmp_path: Path) -> None:
    base = ("check", counted[0], "-r", counted[1], "--json", tmp_path / "o.json")
    assert run(*base).code == 1
    assert run(*base, "--max-failures", "*=2").code == 1
    within = run(*base, "--max-failures", "*=3")
    assert within.code == 0
    assert "within what is allowed: R1: 3 violations, 3 allowed" in within.out
    content = json.loads((tmp_path / "o.json").read_text())
    assert {rule["id"]: (rule["allowed"], rule["passes"]) for rule in content["rules"]} == {
        "soft": (None, True),
        "R1": ("3", True),
        "R2": ("3", True),
    }
    assert masktron.check(*counted, max_failures={"R1": "30%", "R2": 1}).complies
    assert not masktron.check(*counted, max_failures={"R1": "30%"}).complies
    assert run(*base, "--max-failures", "R9=2").code == 2
    (tmp_path / "s.toml").write_text('[max_failures]\n"*" = "40%"\n')
    assert run(*base, "--config", tmp_path / "s.toml").code == 0


def test_the_console_names_what_was_written(counted: tuple[Path, Path], run: Runner, tmp_path: Path) -> None:
    options = ("--csv", tmp_path / "o.csv", "--junit", tmp_path / "o.xml")
    told = run("validate", counted[0], "-r", counted[1], *options)
    assert "written, CONFIDENTIAL: " in told.out
    assert all(name in told.out for name in ("o.csv", "o.xml"))
    assert "\nwritten: " in run("validate", counted[0], "-r", counted[1], *options, "--release-safe").out
    assert "written" not in run("validate", counted[0], "-r", counted[1], "--json", "-").err


@pytest.mark.parametrize("plain", [True, False])
def test_names_of_a_file_without_a_header_are_values_and_not_shown(plain: bool, tmp_path: Path, run: Runner) -> None:
    data = tmp_path / "d.csv"
    data.write_text("Zoe Secret,north,k77\nBob Other,south,12\nAnn Third,west,13\n")
    rules = tmp_path / "r.rules"
    rules.write_text("age: age > 0\n")
    if not plain:
        rules = write_rules(tmp_path / "r.sch", "age > 0")
    told = run("validate", data, "--rules", rules)
    assert "Zoe_x0020_Secret" in told.out + told.err
    done = run("validate", data, "--rules", rules, "--release-safe", "--json", "-")
    assert "Zoe" not in done.out + done.err
    assert "age" in done.out + done.err

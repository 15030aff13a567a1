"""One test per wrong input: the documented exit code, a message that helps, and nothing written."""

from __future__ import annotations

import errno
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli_runner import Runner, numbers, write_data, write_rules


class Case:
    """A folder with a good file and rulebook, which a test spoils."""

    def __init__(self, folder: Path, run: Runner) -> None:
        self.folder = folder
        self.run = run
        self.data = write_data(folder / "data.xml", numbers())
        self.rules = write_rules(folder / "rules.sch", "A + B = T", "A >= 0")
        self.out = folder / "out" / "masked.xml"
        self.out.parent.mkdir()

    def mask(self, *options: object, code: int, says: tuple[str, ...]) -> None:
        k = () if "-k" in options else ("-k", 5)
        outcome = self.run("mask", self.data, "--rules", self.rules, "--out", self.out, *k, *options)
        assert outcome.code == code, outcome
        for text in says:
            assert text in outcome.err, outcome.err
        assert not list(self.out.parent.iterdir())

    def validate(self, code: int, says: tuple[str, ...]) -> None:
        outcome = self.run("validate", self.data, "--rules", self.rules)
        assert outcome.code == code, outcome
        for text in says:
            assert text in outcome.err, outcome.err


@pytest.fixture
def case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Case:
    return Case(tmp_path, Runner(capsys))


def both(case: Case, code: int, *says: str) -> None:
    case.mask(code=code, says=says)
    case.validate(code, says)


def test_the_good_case_is_good(case: Case) -> None:
    outcome = case.run("mask", case.data, "--rules", case.rules, "--out", case.out, "-k", 5)
    assert outcome.code == 0, outcome
    assert {path.name for path in case.out.parent.iterdir()} == {"masked.xml", "masked.manifest.json"}


# the document


BOMB = '<!ENTITY a "ha">' + "".join(f'<!ENTITY a{at} "&a{at - 1};">' for at in range(1, 5))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda text: text[:-30], "data.xml:41:"),
        (lambda text: f"{text}\n<Data/>", "data.xml:43:"),
        (
            lambda _: '<?xml version="1.0" encoding="UTF-8"?>\n<Data><Record><A>\xe9</A></Record></Data>',
            "data.xml:2:",
        ),
        (lambda _: f"<!DOCTYPE Data [{BOMB}]>\n<Data><Record><A>&a4;</A></Record></Data>", "data.xml:1"),
        (lambda _: "", "data.xml"),
    ],
    ids=["truncated", "two roots", "wrong encoding", "entity bomb", "empty"],
)
def test_malformed_data(case: Case, change: Callable[[str], str], place: str) -> None:
    case.data.write_text(change(case.data.read_text()), encoding="latin-1")
    both(case, 4, place)


def test_external_entity(case: Case) -> None:
    secret = case.folder / "secret.txt"
    secret.write_text("SECRET")
    case.data.write_text(
        f'<!DOCTYPE Data [<!ENTITY x SYSTEM "{secret.as_uri()}">]>\n<Data><Record><A>&x;</A></Record></Data>'
    )
    both(case, 4, "data.xml:1")
    assert "SECRET" not in case.run("validate", case.data, "--rules", case.rules).err


def test_text_in_a_numeric_field(case: Case) -> None:
    rows = numbers()
    rows[2]["A"] = "n/a"
    write_data(case.data, rows)
    case.mask(code=4, says=("data.xml:4, record 3: A ", "--missing A=CODE", "[text-in-numbers]"))


def test_records_with_text_between_their_fields_are_not_masked(case: Case) -> None:
    case.data.write_text("<Data>" + "<Record><A>1</A>and<B>2</B><T>3</T></Record>\n" * 10 + "</Data>")
    case.mask(code=4, says=("[records-not-flat]", "data.xml:1"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'<?xml version="1.0" encoding="UTF-16"?><D/>', "[xml-declaration]"),
        ("<D/>".encode("utf-16-le"), "[xml-declaration]"),
        ("<D/>".encode("utf-16-be"), "[xml-declaration]"),
        (b"\0\1\2\3", "[not-well-formed]"),
        (b"a\0bcd", "[not-well-formed]"),
    ],
)
def test_utf_16_is_named_where_it_is(case: Case, content: bytes, says: str) -> None:
    case.data.write_bytes(content)
    both(case, 4, "data.xml:1:", says)


# the rulebook


def test_an_archive_is_no_rulebook(case: Case) -> None:
    case.rules.write_bytes(gzip.compress(b"<schema/>"))
    both(case, 3, "[not-xml]")


def test_what_an_engine_cannot_show_is_named_in_the_message(case: Case) -> None:
    text = write_rules(case.rules, "A < 0").read_text()
    case.rules.write_text(text.replace("R1 fails", '<value-of select="A"/> in <name path="name(1)"/>'))
    both(case, 3, "rules.sch:1, rule R1", "[cannot-evaluate]")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, ("rules.sch", "does not exist")),
        ("<schema><pattern>", ("rules.sch:1:",)),
        ('<schema xmlns="http://purl.oclc.org/dsdl/schematron"/>', ("rules.sch",)),
    ],
)
def test_what_is_no_rulebook(case: Case, text: str | None, says: tuple[str, ...]) -> None:
    case.rules.unlink()
    if text is not None:
        case.rules.write_text(text)
    both(case, 3, *says)


@pytest.mark.parametrize(
    ("test", "binding", "says"),
    [
        ("A + = T", "", ("A + = T",)),
        ("exists(A)", "", ("exists", "queryBinding")),
        ("string-length(unparsed-text('x')) = 0", "xslt3", ("unparsed-text",)),
        ("string-length(environment-variable('HOME')) = 0", "xslt3", ("environment-variable",)),
        ("string-length(json-doc('x')) = 0", "xslt3", ("json-doc",)),
    ],
)
def test_an_expression_that_cannot_be_used(case: Case, test: str, binding: str, says: tuple[str, ...]) -> None:
    write_rules(case.rules, test, binding=binding)
    both(case, 3, "rules.sch:1", *says)


def test_two_documents(case: Case) -> None:
    write_rules(case.rules, "A = document('a.xml')//A", "B = document('b.xml')//B")
    both(case, 2, "rules.sch:1", "[document-not-given]", "b.xml", "--document a.xml=FILE")


@pytest.mark.parametrize("href", ["../outside.sch", "/etc/passwd", "http://example.org/x.sch"])
def test_escaping_include(case: Case, href: str) -> None:
    (case.folder.parent / "outside.sch").write_text("<pattern xmlns='http://purl.oclc.org/dsdl/schematron'/>")
    write_rules(case.rules, "A >= 0", extra=f'<include href="{href}"/>')
    both(case, 3, "rules.sch:1", href)


def test_rule_on_an_unknown_field(case: Case) -> None:
    write_rules(case.rules, "A + Bx = T")
    case.mask(code=3, says=("rules.sch:1", "Bx", "[rule-untested]", "did you mean B"))
    outcome = case.run("validate", case.data, "--rules", case.rules)
    assert outcome.code == 3
    assert "Bx" in outcome.out


# usage


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("-k 1", ("[bad-value]", "at least 2, not 1")),
        ("--kk 3", ("No such option",)),
        ("--role Ax=record-id", ("[unknown-name]", "Ax", "did you mean A")),
        ("--missing Tx=-9", ("[unknown-name]", "Tx", "did you mean T")),
        ("--allow R9", ("[unknown-name]", "R9", "known: R1, R2")),
        ("--record Recrod", ("Recrod", "Record")),
        ("--nominal Ax", ("[unknown-name]", "--nominal", "did you mean A")),
        ("--ordinal Tx", ("[unknown-name]", "--ordinal", "did you mean T")),
        ("--nominal A --ordinal A=1,2", ("[given-twice]",)),
        ("--ordinal A=1", ("[bad-value]", "ordinal.A")),
        ("--ordinal A=1,1,2", ("[bad-value]", "ordinal.A")),
        ("--ordinal =1,2", ("[bad-value]",)),
        ("--nominal A --role A=weight", ("[given-twice]",)),
        ("--ordinal A=0,1,x --missing A=x", ("[bad-order]", "'missing'")),
        ("--max-observed-share 101", ("[bad-value]", "max_observed_share")),
        ("--max-observed-share some", ("--max-observed-share",)),
        ("--max-observed-share 5%", ("without %",)),
        ("--limit linkage=20%", ("[bad-value]", "--limit linkage=20,")),
        ("-k 3 --k 4", ("[given-twice]", "--k 3 and --k 4")),
        ("--secret a --secret b", ("[given-twice]", "--secret a and --secret b")),
    ],
)
def test_wrong_options(case: Case, options: str, says: tuple[str, ...]) -> None:
    case.mask(*options.split(), code=2, says=says)


def test_a_manifest_of_another_file_is_not_overwritten(case: Case) -> None:
    command = ("mask", case.data, "--rules", case.rules, "--out")
    assert case.run(*command, case.out).code == 0
    manifest = case.out.with_name("masked.manifest.json")
    before = manifest.read_bytes()
    other = case.out.with_name("other.xml")
    refused = case.run(*command, other, "--manifest", manifest)
    refused.refuses(2, "manifest-taken", taken="masked.xml")
    assert "--manifest" in refused.err and "other.xml.manifest.json" in refused.err
    assert not other.exists()
    # a second release beside the first has a manifest of its own
    assert case.run(*command, other).code == 0
    assert manifest.read_bytes() == before
    assert other.with_name("other.manifest.json").exists()


def test_text_field_without_a_role(case: Case) -> None:
    write_data(case.data, [{**row, "NAME": f"N. {number}"} for number, row in enumerate(numbers())])
    case.mask(code=2, says=("[no-role]", "--role NAME=identifier"))


def test_blocks_that_are_too_small_for_their_groups(case: Case) -> None:
    case.mask("--max-block-records", 14, "-k", 5, code=2, says=("max_block_records must be at least 3k = 15",))
    case.mask("--max-block-records", "1e6", code=2, says=("--max-block-records",))
    outcome = case.run("mask", case.data, "-r", case.rules, "-o", case.out, "--max-block-records", 15, "-k", 5)
    assert outcome.code == 0, outcome


def test_a_value_without_a_place_in_its_order(case: Case) -> None:
    rows = [{**row, "SIZE": "low" if at % 2 else "high"} for at, row in enumerate(numbers())]
    rows[6]["SIZE"] = "SECRET"
    write_data(case.data, rows)
    says = ("data.xml:8, record 7: ", "SIZE", "[bad-order]", "--ordinal SIZE=LOW,MID,HIGH")
    case.mask("--ordinal", "SIZE=low,high", code=4, says=says)
    case.mask("--ordinal", "SIZE", code=4, says=("record 1: ", "[bad-order]"))
    assert (
        "SECRET"
        not in case.run("mask", case.data, "-r", case.rules, "-o", case.out, "--ordinal", "SIZE=low,high").err
    )


def test_text_codes_among_numbers_are_fine_where_the_field_is_nominal(case: Case) -> None:
    rows: list[dict[str, object]] = [{**row, "NACE": "A1" if at == 3 else at % 4} for at, row in enumerate(numbers())]
    write_data(case.data, rows)
    case.mask(code=4, says=("record 4: NACE ", "--nominal NACE"))
    outcome = case.run("mask", case.data, "-r", case.rules, "-o", case.out, "--nominal", "NACE")
    assert outcome.code == 0, outcome


def test_an_option_replaces_the_kind_in_the_settings(case: Case) -> None:
    settings = case.folder / "kinds.toml"
    settings.write_text('nominal = ["A"]\n[ordinal]\nB = [0, 1]\n')
    kinds = ("--config", settings, "--ordinal", "A", "--nominal", "B", "--json", "-")
    outcome = case.run("mask", case.data, "-r", case.rules, "-o", case.out, *kinds, "--max-observed-share", 100)
    assert outcome.code == 0, outcome
    assert {entry["field"]: entry["kind"] for entry in json.loads(outcome.out)["categories"]} == {
        "A": "ordinal",
        "B": "nominal",
    }


@pytest.mark.full
def test_more_observed_records_than_wanted(case: Case) -> None:
    rows: list[dict[str, object]] = [{"A": 7919 * at**2 % 99991, "B": 6007 * at**3 % 99991} for at in range(1, 41)]
    write_data(case.data, rows)
    pairs = "".join(f"|{row['A']}-{row['B']}|" for row in rows)
    write_rules(case.rules, f"contains('{pairs}', concat('|', A, '-', B, '|'))")
    says = ("data.xml: too many groups", "8 groups of A and B, 20 % of the records", "raise --max-observed-share")
    case.mask(code=5, says=(*says, "at most 1 % of the records may (1)"))
    case.mask("--max-observed-share", 15, code=5, says=(*says, "at most 15 % of the records may (6)"))
    options = ("-k", 5, "--max-observed-share", 20, "--json", "-")
    outcome = case.run("mask", case.data, "-r", case.rules, "-o", case.out, *options)
    assert outcome.code == 0, outcome
    assert json.loads(outcome.out)["blocks"][0]["observed_share"] == 20


# the data and the disk


def test_original_that_fails(case: Case) -> None:
    rows = numbers()
    rows[7]["T"] = 99999
    write_data(case.data, rows)
    outcome = case.run("mask", case.data, "--rules", case.rules, "--out", case.out, "-k", 5)
    outcome.refuses(1, "original-breaks-rules", records=1, total=40)
    assert "R1" in outcome.out
    assert not list(case.out.parent.iterdir())


def test_what_is_left_of_too_few_records_is_said(case: Case) -> None:
    rows = numbers()
    for row in rows[:7]:
        row["T"] = 99999
    write_data(case.data, rows)
    case.mask("-k", 100, "--invalid", "exclude", code=5, says=("there are 33 left of 40, as 7 are excluded",))


def test_the_same_value_may_be_given_twice(case: Case) -> None:
    assert case.run("mask", case.data, "-r", case.rules, "--out", case.out, "-k", 5, "--k", 5).code == 0


def test_a_bad_weight(case: Case) -> None:
    rows: list[dict[str, object]] = [{**row, "W": 1.5} for row in numbers()]
    rows[4]["W"] = 0
    write_data(case.data, rows)
    case.mask("--role", "W=weight", code=4, says=("data.xml:6, record 5: ", "[bad-weights]"))


def test_disk_full(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    case.mask(code=4, says=("No space left on device",))

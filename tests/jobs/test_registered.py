"""`mask` with a register: what counts as released before, reasons, repeats, crashes, runs at the same time."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import masktron
from attacks import KEY
from cli_runner import Runner, numbers, write_data, write_rules
from masktron.config import Config
from masktron.errors import DocumentError, ReleasedBeforeError, UsageError
from masktron.jobs import publishing
from masktron.jobs.register import registration as registered
from masktron.jobs.register.register_file import opened_register
from masktron.progress import Progress
from masktron.setting_values import Register
from masktron.settings_file import load_config
from masktron.sources.opening import open_source
from refusals import refused
from schema_files import conforms

ROWS = [{"Id": 100 + at, **row} for at, row in enumerate(numbers(60))]
type Row = dict[str, object]


class Office:
    """A folder with a rulebook, a register, and originals."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.rules = write_rules(folder / "rules.sch", "A + B = T")
        self.register = Register(folder / "releases.jsonl", folder / "releases.jsonl.salt")
        self.count = 0

    def release(self, rows: list[Row] | Path, out: str = "", **settings: Any) -> masktron.MaskResult:
        self.count += 1
        data = rows if isinstance(rows, Path) else write_data(self.folder / f"data{self.count}.xml", rows)
        given = {"roles": {"Id": "record-id"}, "order": "keep", "register": self.register.path, **settings}
        return masktron.mask(data, self.rules, self.folder / (out or f"out{self.count}{data.suffix}"), **given)

    def entries(self) -> list[dict[str, Any]]:
        with opened_register(self.register) as book:
            return [entry for entry in book.entries if entry["kind"] != "header"]

    def kinds(self) -> list[str]:
        return [entry["kind"] for entry in self.entries()]


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def other(seed: int = 9) -> list[Row]:
    return [{"Id": 100 + at, **row} for at, row in enumerate(numbers(60, seed))]


def test_an_original_is_released_once_unless_somebody_says_why(office: Office) -> None:
    first = office.release(ROWS)
    assert any("is entry" in note for note in first.notes)
    with pytest.raises(ReleasedBeforeError, match=r"this original was released on .* mdav, k = 5") as refused:
        office.release(ROWS, k=4)
    assert refused.value.exit_code == 5
    assert not (office.folder / "out2.xml").exists()
    assert not (office.folder / "out2.manifest.json").exists()
    assert office.kinds() == ["release", "published"], "nothing of a refused run is entered"
    again = office.release(ROWS, k=4, again="  the first one had a wrong weight ")
    earlier, later = (entry for entry in office.entries() if entry["kind"] == "release")
    assert (earlier["again"], later["again"]) == (None, "the first one had a wrong weight")
    assert later["alike"] == [earlier["id"]]
    assert any("released again: this original was released on" in note for note in again.notes)
    manifest = json.loads((office.folder / "out3.manifest.json").read_text())
    conforms(manifest, "manifest")
    assert manifest["register"] == {
        "path": office.register.path.as_posix(),
        "id": later["id"],
        "again": "the first one had a wrong weight",
        "alike": [earlier["id"]],
    }


CHANGES: dict[str, tuple[Callable[[list[Row]], list[Row]], str]] = {
    "order of records": (lambda rows: rows[::-1], "shares 100 %"),
    "case of the names of fields": (
        lambda rows: [{name.lower(): value for name, value in row.items()} for row in rows],
        "shares 100 % of its records with this",
    ),
    "order of fields": (lambda rows: [dict(reversed(row.items())) for row in rows], "shares 100 %"),
    "spelling": (lambda rows: [{**row, "A": f"{row['A']}.0"} for row in rows], "shares 100 %"),
    "one record more": (lambda rows: [*rows, {"Id": 7, "A": 1, "B": 2, "T": 3}], "shares 100 %"),
    "one record less": (lambda rows: rows[1:], "shares 100 %"),
    "one record changed": (lambda rows: [{**rows[0], "A": 5, "B": 5, "T": 10}, *rows[1:]], "shares 98 %"),
    "half of the records": (lambda rows: rows[::2], "shares 100 %"),
    "a field more": (
        lambda rows: [{**row, "N": at * at} for at, row in enumerate(rows)],
        "shares 100 % of its records (apart from the field N)",
    ),
    "a field less": (
        lambda rows: [{name: row[name] for name in ("A", "B", "T")} for row in rows],
        "shares 100 % of its records (apart from the field that this file does not have)",
    ),
    "other identifiers": (
        lambda rows: [{**row, "Id": 5000 + at} for at, row in enumerate(rows)],
        "shares 100 % of its records (apart from the field Id)",
    ),
    "another name of a field": (
        lambda rows: [{"Id": row["Id"], "A": row["A"], "Beta": row["B"], "T": row["T"]} for row in rows],
        "shares 100 % of its records (apart from the field Beta)",
    ),
    "another field in each record": (
        lambda rows: [_moved(row, ["Id", "A", "B", "T"][at % 4]) for at, row in enumerate(rows)],
        "shares 100 % of its records (apart from one field of each record at most)",
    ),
    "another field in each of most records": (
        lambda rows: [
            _moved(row, ["A", "B", "T"][at % 3]) if at % 4 else {**_moved(row, "A"), "B": -5}
            for at, row in enumerate(rows)
        ],
        "shares 75 % of its records (apart from one field of each record at most)",
    ),
}


def _moved(row: Row, name: str) -> Row:
    return {**row, name: int(str(row[name])) + 1}


@pytest.mark.few(4)
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_most_of_an_original_counts_as_released(office: Office, change: str) -> None:
    """Looking up is enough: that it stands in the way of a release, the test above shows."""
    changed, said = CHANGES[change]
    _released(office, ROWS)
    with pytest.raises(ReleasedBeforeError, match=re.escape(said)):
        _looked_up(office, changed(ROWS))


UNLIKE: dict[str, Callable[[list[Row]], list[Row]]] = {
    "other records": lambda rows: other(),
    "fewer than half of the records": lambda rows: [*rows[:29], *other()[29:]],
    "other numbers under the same identifiers": lambda rows: other(3),
    "two fields changed in more than half of the records": lambda rows: [
        {**_moved(row, "A"), "B": -5} if at < 31 else _moved(row, "ABT"[at % 3]) for at, row in enumerate(rows)
    ],
}


@pytest.mark.parametrize("change", UNLIKE)
def test_other_records_are_released(office: Office, change: str) -> None:
    _released(office, ROWS)
    _looked_up(office, UNLIKE[change](ROWS))


def test_records_that_are_alike_by_nature_are_not_taken_for_the_same_ones(office: Office) -> None:
    """Without the identifier, few values are left: most records of two files are alike, and so are the rare ones."""
    generator = np.random.default_rng(3)

    def rows() -> list[Row]:
        found = [*generator.integers(0, 3, size=(80, 2)).tolist(), *([50 + at, 50] for at in range(6))]
        return [{"Id": int(generator.integers(10**9)), "A": a, "B": b, "T": a + b} for a, b in found]

    _released(office, rows())
    _looked_up(office, rows())


def test_another_breakdown_of_the_same_records_counts_as_released(office: Office) -> None:
    """Ten regions, and then five ages: no two files share half of their records, and all records are there twice."""
    rows: list[Row] = [{"Id": 1000 + at, **row} for at, row in enumerate(numbers(200))]
    new: list[Row] = [{"Id": 9000 + at, **row} for at, row in enumerate(numbers(40, 5))]
    for region in range(10):
        _released(office, rows[20 * region : 20 * region + 20])
    age = rows[::5]
    with pytest.raises(
        ReleasedBeforeError, match=r"one of several originals that share 100 % .*, and in 9 other entries"
    ):
        _looked_up(office, age)
    with pytest.raises(ReleasedBeforeError, match="share 55 % of the records of this together"):
        _looked_up(office, [*age[:22], *new[:18]])
    _looked_up(office, [*age[:21], *new[:19]])  # 3 % may be alike by chance
    _looked_up(office, new)


def test_a_few_categories_are_no_other_breakdown(office: Office) -> None:
    """Records of few values are alike in some of many files, and of other respondents."""
    generator = np.random.default_rng(3)

    def rows() -> list[Row]:
        return [{"A": int(a), "B": int(b), "T": int(a + b)} for a, b in generator.integers(0, 12, size=(40, 2))]

    files = [rows() for _ in range(8)]
    for file in files[:-1]:
        _released(office, file)
    seen = {tuple(row.values()) for file in files[:-1] for row in file}
    assert sum(tuple(row.values()) in seen for row in files[-1]) > 20, "most are alike by chance"
    _looked_up(office, files[-1])


@pytest.mark.full
def test_another_breakdown_of_large_files_is_estimated(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sample has its own level: what is in the finest one that has it stands for so many records.

    Both estimates are six standard errors and more away from half, as the salt is another one each time.
    """
    monkeypatch.setattr(registered, "WHOLE", 660)
    rows: list[Row] = [{"Id": at, **row} for at, row in enumerate(numbers(4000))]
    new: list[Row] = [{"Id": 10_000 + at, **row} for at, row in enumerate(numbers(4000, 2))]
    ends = [0, 100, 700, 1500, 2400, 4000]
    for start, end in pairwise(ends):
        _released(office, rows[start:end])
    assert {one["whole"]["level"] for one in office.entries() if one["kind"] == "release"} == {0, 1, 2}
    with pytest.raises(ReleasedBeforeError, match="one of several originals"):
        _looked_up(office, rows[::7])
    _looked_up(office, [*rows[::20], *new[::10]])


def _released(office: Office, rows: list[Row]) -> None:
    """Enter an original as if it had been released."""
    run = _read(office, rows)
    entry = f"{office.count:016x}"
    with opened_register(office.register) as book:
        records = registered._Records.of(run, book.secret)
        book.add(
            {
                "kind": "release",
                "id": entry,
                "at": "2026-01-01T00:00:00+00:00",
                "output": {"name": "out.xml", "sha256": "0" * 64},
                "method": "mdav",
                "k": 3,
                **records.sketches,
            }
        )
        book.add({"kind": "published", "id": entry})


def _read(office: Office, rows: list[Row]) -> Any:
    """What a registration asks of a run."""
    office.count += 1
    source = open_source(write_data(office.folder / f"data{office.count}.xml", rows))
    drawn = SimpleNamespace(secret=b"of this run")
    original = SimpleNamespace(records=source.records(), job=SimpleNamespace(source=source))
    return SimpleNamespace(original=original, randomness=drawn, config=Config())


def _looked_up(office: Office, rows: list[Row]) -> None:
    registered.Registration(office.register, None, office.folder / "new.xml").look_up(_read(office, rows))


@pytest.mark.full
def test_large_files_are_known_by_a_sample(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes of about 500 of 2,000 records are kept; any part of them is recognised, and no tenth of another file."""
    monkeypatch.setattr(registered, "WHOLE", 660)
    monkeypatch.setattr(registered, "WITHOUT", 100)
    rows: list[Row] = [{"Id": at, **row} for at, row in enumerate(numbers(2000))]
    _released(office, rows)
    [entry] = [one for one in office.entries() if one["kind"] == "release"]
    assert entry["whole"]["level"] == 2
    assert len(entry["whole"]["hashes"]) < 660 * 8 * 4 / 3 + 4
    new: list[Row] = [{"Id": 10_000 + at, **row} for at, row in enumerate(numbers(2000, 2))]
    monkeypatch.setattr(registered, "AT_ONCE", 100)
    for changed in (rows[:60], rows[::3], [{**row, "N": at} for at, row in enumerate(rows)], [*rows, *new]):
        with pytest.raises(ReleasedBeforeError):
            _looked_up(office, changed)
    _looked_up(office, [*rows[:200], *new[200:]])
    small = Office(office.folder / "small")
    _released(small, rows[:100])
    with pytest.raises(ReleasedBeforeError):
        _looked_up(small, [*new, *rows[:99]])
    _looked_up(small, new)


@pytest.mark.full
def test_in_large_files_another_field_in_each_record_is_estimated(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The least estimate, less two standard errors, is six standard errors above half."""
    monkeypatch.setattr(registered, "WHOLE", 660)
    rows: list[Row] = [{"Id": at, **row} for at, row in enumerate(numbers(2000))]
    moved = [_moved(row, ["Id", "A", "B", "T"][at % 4]) for at, row in enumerate(rows)]
    new: list[Row] = [{"Id": 10_000 + at, **row} for at, row in enumerate(numbers(2000, 2))]
    _released(office, rows)
    with pytest.raises(ReleasedBeforeError, match="apart from one field of each record at most"):
        _looked_up(office, [*rows[:200], *moved[200:]])
    _looked_up(office, [*rows[:200], *moved[200:600], *new[600:]])


def test_of_an_estimate_two_standard_errors_are_taken_off(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the records are alike but for one field, or in two releases together: no sample says that it is most.

    The salts are fixed, so that the samples are; without the two standard errors some of them say so.
    """
    monkeypatch.setattr(registered, "WHOLE", 300)
    rows: list[Row] = [{"Id": at, **row} for at, row in enumerate(numbers(1000))]
    new: list[Row] = [{"Id": 10_000 + at, **row} for at, row in enumerate(numbers(500, 2))]
    moved = [_moved(row, ["Id", "A", "B", "T"][at % 4]) for at, row in enumerate(rows)]
    runs = [_read(office, own) for own in (rows, [*moved[::2], *new], rows[::2], rows[1::2], [*rows[:500], *new])]
    for salt in range(6):
        first, changed, even, odd, part = (registered._Records.of(run, bytes([salt] * 32)) for run in runs)
        assert 0.3 < changed._in_some_way(first.sketches) < 0.5
        entries = [{"id": str(at), **own.sketches} for at, own in enumerate((even, odd))]
        assert part.together(entries) == []
        monkeypatch.setattr(registered, "MOST", 0.3)
        having = part.together(entries)
        assert [(0.3 < one.share < 0.5, one.entry) for one in having] == [(True, one) for one in entries]
        monkeypatch.setattr(registered, "MOST", 0.5)


def test_a_line_that_was_cut_off_is_told(office: Office) -> None:
    office.release(ROWS)
    with office.register.path.open("ab") as register:
        register.write(b'{"chain": ')
    result = office.release(other(), k=4)
    assert any("had been cut off (10 bytes) was taken out" in note for note in result.notes)
    assert office.kinds() == ["release", "published", "torn", "release", "published"]
    assert not any("cut off" in note for note in office.release(other(5), k=4).notes)


def test_the_same_bytes_may_be_released_again(office: Office) -> None:
    settings = {"order": "random", "k": 3}
    office.release(ROWS, "a.xml", secret=KEY, **settings)
    result = office.release(
        office.folder / "data1.xml", "b.xml", secret=office.folder / "a.manifest.json", **settings
    )
    assert (office.folder / "a.xml").read_bytes() == (office.folder / "b.xml").read_bytes()
    assert any("repeats an earlier release to the byte" in note for note in result.notes)
    with pytest.raises(ReleasedBeforeError):
        office.release(office.folder / "data1.xml", "c.xml", secret=office.folder / "a.manifest.json", order="random")
    assert not (office.folder / "c.xml").exists()
    office.release(office.folder / "data1.xml", "c.xml", k=4, again="another k")
    repeated = office.release(
        office.folder / "data1.xml", "d.xml", secret=office.folder / "a.manifest.json", **settings
    )
    assert (office.folder / "a.xml").read_bytes() == (office.folder / "d.xml").read_bytes()
    assert any("repeats an earlier release to the byte" in note for note in repeated.notes), "c.xml changes nothing"
    assert office.kinds() == ["release", "published"] * 4


@pytest.mark.full
def test_a_table_is_known_by_its_records_in_another_format(office: Office) -> None:
    office.release(ROWS)
    table = office.folder / "table.csv"
    table.write_text("T,A,Id,B\n" + "".join("{T},{A},{Id},{B}\n".format(**row) for row in ROWS))
    with pytest.raises(ReleasedBeforeError, match="shares 100 % of its records with this"):
        office.release(table, k=3)


def test_a_release_that_failed_is_withdrawn(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise DocumentError("the disk is full")

    monkeypatch.setattr(publishing, "settle_publication", failing)
    with pytest.raises(DocumentError, match="the disk is full"):
        office.release(ROWS)
    monkeypatch.undo()
    assert office.kinds() == ["release", "withdrawn"]
    assert not (office.folder / "out1.xml").exists()
    office.release(ROWS, k=4)


def test_a_run_that_was_interrupted_after_its_entry_counts_as_a_release(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(publishing, "settle_publication", interrupted)
    with pytest.raises(KeyboardInterrupt):
        office.release(ROWS)
    monkeypatch.undo()
    assert office.kinds() == ["release"]
    with pytest.raises(ReleasedBeforeError, match="that run was ended before it saw the file appear"):
        office.release(ROWS, k=4)


@pytest.mark.full
def test_what_another_run_releases_meanwhile_is_seen(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = registered.Registration.look_up

    def meanwhile(self: registered.Registration, run: Any, progress: Progress) -> None:
        looked_up(self, run, progress)
        monkeypatch.setattr(registered.Registration, "look_up", looked_up)
        office.release(ROWS, "first.xml", k=4)

    monkeypatch.setattr(registered.Registration, "look_up", meanwhile)
    with pytest.raises(ReleasedBeforeError, match=r"first\.xml, mdav, k = 4"):
        office.release(ROWS, "second.xml")
    assert [path.name for path in sorted(office.folder.glob("*.manifest.json"))] == ["first.manifest.json"]
    assert not (office.folder / "second.xml").exists()


@pytest.mark.full
def test_a_register_that_cannot_be_told_the_end_says_so(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: registered.Registration, kind: str) -> None:
        raise DocumentError(f"no room for {kind}")

    monkeypatch.setattr(registered.Registration, "_add", failing)
    result = office.release(ROWS)
    assert any("counts it anyway: no room for published" in note for note in result.notes)
    assert (office.folder / "out1.xml").exists()


def test_nothing_of_a_record_is_in_the_register(office: Office) -> None:
    rows: list[Row] = [{"Id": f"secret{at}", **row, "C": 70_007_000 + at} for at, row in enumerate(numbers(60))]
    office.release(rows, roles={"Id": "identifier"}, secret=bytes(range(32)))
    text = office.register.path.read_text()
    assert "secret" not in text and "70007" not in text
    assert bytes(range(32)).hex() not in text
    assert digest_of(office, 1) not in text, "who has a copy of the original finds it by no digest"


def digest_of(office: Office, number: int) -> str:
    return hashlib.sha256((office.folder / f"data{number}.xml").read_bytes()).hexdigest()


def test_a_reason_needs_a_register_and_words(office: Office) -> None:
    with refused(UsageError, "needs-setting", name="--again"):
        office.release(ROWS, register=None, again="why not")
    with refused(UsageError, "bad-value", name="--again"):
        office.release(ROWS, again="  ")
    assert not office.register.path.exists()
    result = office.release(ROWS, again="a first time")
    assert any("the register has no release of them" in note for note in result.notes)


def test_settings_say_where_the_register_is(tmp_path: Path) -> None:
    settings = tmp_path / "masktron.toml"
    settings.write_text('[register]\npath = "r/releases.jsonl"\n')
    assert load_config(settings).register == Register(
        tmp_path / "r" / "releases.jsonl", tmp_path / "r" / "releases.jsonl.salt"
    )
    settings.write_text('[register]\npath = "releases.jsonl"\nsalt = "/safe/salt"\n')
    assert load_config(settings).register == Register(tmp_path / "releases.jsonl", Path("/safe/salt"))
    assert Config(register="a.jsonl").register == Register(Path("a.jsonl"), Path("a.jsonl.salt"))  # type: ignore[arg-type]
    for wrong in ("register = 3", "[register]\nsalt = 'x'", "[register]\npath = 3", "[register]\npath = 'a'\nx = 1"):
        settings.write_text(wrong)
        with pytest.raises(UsageError, match="register"):
            load_config(settings)


@pytest.mark.full
def test_on_the_command_line(office: Office, run: Runner) -> None:
    data = write_data(office.folder / "data.xml", ROWS)
    out = office.folder / "out.xml"
    common = ["mask", data, "--rules", office.rules, "--role", "Id=record-id", "--register", office.register.path]
    assert run(*common, "--out", out).code == 0
    refused = run(*common, "--out", office.folder / "new.xml", "-k", "4")
    assert (refused.code, "error: " in refused.err, "--again" in refused.err) == (5, True, True)
    assert run(*common, "--out", office.folder / "new.xml", "-k", "4", "--again", "another k was asked for").code == 0
    for taken in office.register.files.values():
        before = taken.read_bytes()
        assert run(*common, "--out", office.folder / "never.xml", "--json", taken, "--again", "x").code == 2
        outcome = run(*common, "--out", taken, "-k", "4")
        assert (outcome.code, "would overwrite" in outcome.err or "stands for" in outcome.err) == (2, True)
        assert taken.read_bytes() == before


MASK = """
import sys
from pathlib import Path
import masktron
from masktron.jobs import publishing as job
folder = Path(sys.argv[1])
if sys.argv[3] == "wait":
    def waiting(place):
        print("entered", flush=True)
        sys.stdin.readline()
    job.settle_publication = waiting
print("ready", flush=True)
sys.stdin.readline()
masktron.mask(folder / "data.xml", folder / "rules.sch", folder / f"out{sys.argv[2]}.xml", k=int(sys.argv[2]),
              roles={"Id": "record-id"}, register=folder / "releases.jsonl")
"""


def masking(office: Office, k: int, how: str = "") -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", MASK, str(office.folder), str(k), how]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.full
def test_of_runs_at_the_same_time_one_releases(office: Office) -> None:
    write_data(office.folder / "data.xml", ROWS)
    processes = [masking(office, k) for k in (3, 4, 5)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    ends = []
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        _, err = process.communicate(timeout=120)
        ends.append((process.returncode, "ReleasedBeforeError" in err))
    assert sorted(ends) == [(0, False), (1, True), (1, True)]
    assert len(list(office.folder.glob("out*.xml"))) == len(list(office.folder.glob("*.manifest.json"))) == 1
    assert office.kinds() == ["release", "published"]


@pytest.mark.full
def test_a_run_that_is_killed_before_its_file_appears_counts_as_a_release(office: Office) -> None:
    write_data(office.folder / "data.xml", ROWS)
    process = masking(office, 3, "wait")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert [process.stdout.readline() for _ in range(2)] == ["ready\n", "entered\n"]
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert not list(office.folder.glob("out*.xml"))
    assert office.kinds() == ["release"]
    with pytest.raises(ReleasedBeforeError, match="that run was ended before it saw the file appear"):
        office.release(office.folder / "data.xml", k=4)
    office.release(office.folder / "data.xml", k=4, again="the run before was killed")

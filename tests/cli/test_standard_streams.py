"""Standard streams that are closed or full, and limits of memory: what is written, said and returned."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli_runner import numbers, write_data, write_rules

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="/dev/full and limits of addresses are those of Linux")
MASKTRON = [sys.executable, "-P", "-m", "masktron"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("streams")
    write_data(made / "data.xml", numbers())
    write_rules(made / "rules.sch", "number(A) + number(B) = number(T)")
    write_rules(made / "broken.sch", "number(A) > number(T)")
    return made


def run(folder: Path, redirected: str, *arguments: str) -> tuple[int, str, str]:
    """Run a command behind a redirection of the shell; return its exit code, standard output and standard error."""
    command = ["sh", "-c", f'"$@" {redirected}', "sh", *MASKTRON, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


MASK = ("mask", "data.xml", "--rules", "rules.sch", "--out", "masked.xml", "-k", "3", "--json", "result.json")
VALIDATE = ("validate", "data.xml", "--rules")


@pytest.mark.few(1)
@on_linux
@pytest.mark.parametrize("redirected", [">&-", ">/dev/full"])
@pytest.mark.parametrize(
    ("arguments", "own"),
    [(("--version",), 0), (("mask", "--help"), 0), (("describe", "data.xml"), 0), ((*VALIDATE, "broken.sch"), 1)],
    ids=["version", "help", "describe", "violations"],
)
def test_output_that_cannot_be_written_has_its_own_exit_code(
    folder: Path, redirected: str, arguments: tuple[str, ...], own: int
) -> None:
    code, _, said = run(folder, redirected, *arguments)
    assert code == 4, said
    assert "standard output cannot be written" in said and "Traceback" not in said
    assert said.rstrip().endswith(f"the exit code would be {own}")


@pytest.mark.full
@on_linux
@pytest.mark.parametrize("redirected", [pytest.param(">&-", marks=pytest.mark.full), ">/dev/full"])
def test_files_that_are_there_are_named_where_the_result_cannot_be_printed(folder: Path, redirected: str) -> None:
    for name in ("masked.xml", "result.json"):
        (folder / name).unlink(missing_ok=True)
    code, _, said = run(folder, redirected, *MASK)
    assert code == 4, said
    names = ["masked.xml", "masked.manifest.json", "result.json"]
    # what comes after the printing is written, too
    assert [name for name in names if (folder / name).exists()] == names
    (told,) = [line for line in said.splitlines() if "written before that" in line]
    assert all(name in told for name in names)


@pytest.mark.full
def test_an_error_keeps_its_exit_code_where_standard_output_is_closed(folder: Path) -> None:
    code, _, said = run(folder, ">&-", "describe", "absent.xml")
    assert (code, "standard output" in said) == (4, False)
    assert run(folder, ">&-", *VALIDATE, "absent.sch")[0] == 3


@on_linux
@pytest.mark.full
@pytest.mark.parametrize("redirected", ["2>&-", "2>/dev/full", "<&-", "<&- 2>&-"])
def test_other_streams_change_no_result(folder: Path, redirected: str) -> None:
    code, shown, _ = run(folder, "", "describe", "data.xml")
    assert run(folder, redirected, "describe", "data.xml")[:2] == (code, shown)
    assert run(folder, redirected, *VALIDATE, "broken.sch")[0] == 1
    assert run(folder, redirected, *VALIDATE, "absent.sch")[0] == 3


@pytest.mark.full
def test_without_any_stream_files_are_whole(folder: Path) -> None:
    """A file that was opened in the place of a closed stream would hold what is printed."""
    assert run(folder, "", *MASK)[0] == 0
    whole = (folder / "result.json").read_bytes()[:1]
    assert run(folder, "<&- >&- 2>&-", *MASK)[0] == 4
    assert (folder / "result.json").read_bytes()[:1] == whole == b"{"


@pytest.mark.few(1)
@on_linux
@pytest.mark.parametrize("megabytes", [200, 400, 700])
def test_few_addresses_are_a_lack_of_memory(folder: Path, megabytes: int) -> None:
    limit = f"ulimit -v {megabytes * 1000}; "
    for arguments in (("describe", "data.xml"), (*VALIDATE, "rules.sch")):
        command = ["sh", "-c", f'{limit}"$@"', "sh", *MASKTRON, *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 6, done.stderr
        assert "(ulimit -v unlimited)" in done.stderr

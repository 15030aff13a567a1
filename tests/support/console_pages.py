"""Pages whose commands are run: what they show is compared with what is said."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli_runner import Runner
from paths import DOCS, ROOT

WIDTH = "96"
"""Columns of the terminal that pages show."""
_SAVED = re.compile(r"^Save this as `([^`]+)`[^\n]*:\n{1,2}```\w+\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
_CONSOLE = re.compile(r"^```console\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
_CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    """A command of a page, and the lines that the page shows below it."""

    text: str
    shown: tuple[str, ...]


def commands(text: str) -> list[Command]:
    """Commands of the fences called ``console``, in their order; a backslash at the end goes on in the next line."""
    found: list[tuple[str, list[str]]] = []
    for block in _CONSOLE.findall(text):
        lines = iter(block.replace("\\\n", " ").splitlines())
        for line in lines:
            if line.startswith("$ "):
                found.append((" ".join(line[2:].split()), []))
            else:
                found[-1][1].append(line.rstrip())
    return [Command(words, tuple(shown)) for words, shown in found]


def cells(text: str) -> list[str]:
    """The code of a notebook."""
    return _CELL.findall(text)


def laid_out(folder: Path) -> None:
    """Put what pages ask for into a folder: their downloads, and the checkout."""
    for path in (DOCS / "tutorials" / "files").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    if not (folder / "masktron").exists():
        (folder / "masktron").symlink_to(ROOT)


def saved(page: Path, folder: Path) -> None:
    """Save the files that a page tells to save, for the page that comes after it."""
    for name, text in _SAVED.findall(page.read_text(encoding="utf-8")):
        (folder / name).write_text(text, encoding="utf-8")


def matches(shown: tuple[str, ...], said: str) -> bool:
    """Whether what a page shows is what was said; ``...`` stands for any text, alone on a line for any lines."""
    pattern = ""
    for line in shown:
        if line == "...":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += r"[^\n]*".join(re.escape(part) for part in line.split("...")) + r"\n"
    lines = "".join(f"{line.rstrip()}\n" for line in said.splitlines())
    return re.fullmatch(pattern, lines) is not None


def run_page(page: Path, folder: Path, run: Runner) -> None:
    """Run every command of a page in a folder; the test fails with what does not come out as it is shown."""
    laid_out(folder)
    text = page.read_text(encoding="utf-8")
    wrong, code = [], 0
    for step in sorted([*_SAVED.finditer(text), *_CONSOLE.finditer(text)], key=lambda found: found.start()):
        if step.re is _SAVED:
            (folder / step[1]).write_text(step[2], encoding="utf-8")
            continue
        for command in commands(step[0]):
            before, (code, said) = code, say(command.text, folder, run)
            if command.text == "echo $?":
                code, said = before, f"{before}\n"
            if not matches(command.shown, said):
                wrong.append(f"$ {command.text}\n{said}")
    if wrong:
        pytest.fail("\n".join([f"{page.name} shows something else:", *wrong]), pytrace=False)


def say(text: str, folder: Path, run: Runner) -> tuple[int, str]:
    """Run one command line, of masktron in this process, and return its exit code and its output."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        if text.startswith("masktron "):
            done = run(*shlex.split(text)[1:])
            return done.code, done.out
        other = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=False)
        return other.returncode, other.stdout
    finally:
        os.chdir(before)

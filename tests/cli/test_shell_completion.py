"""Shells complete commands and options with what ``masktron completion`` prints, as somebody installs it."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli_runner import Runner

CASES = (
    ("masktron ass", ["assess"]),
    ("masktron mask --quasi", ["--quasi-identifier"]),
    ("masktron mask x.xml --rules r.sch --verb", ["--verbose"]),
)
PATIENCE = 60
"""Seconds that a shell may take to answer on a machine that does other things."""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The program on the path, and nobody's own settings of shells."""
    program = tmp_path / "bin" / "masktron"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom masktron.commands.line import main\nmain()\n")
    program.chmod(0o700)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    home = str(tmp_path)
    return {**os.environ, "PATH": path, "HOME": home, "XDG_CONFIG_HOME": home, "ZDOTDIR": home, "TERM": "dumb"}


@pytest.mark.full
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_and_options(environment: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    script = Runner(capsys, whole=False)("completion", "bash").out
    for words, found in CASES:
        last = len(words.split(" ")) - 1
        asked = f"{script}\nCOMP_WORDS=({words}); COMP_CWORD={last}\n_masktron_completion masktron\n"
        asked += 'printf "%s\\n" "${COMPREPLY[@]}"; complete -p masktron'
        shell = ["bash", "--norc", "-c", asked]
        done = subprocess.run(shell, capture_output=True, text=True, env=environment, check=True)
        assert done.stdout.splitlines()[:-1] == found, done.stderr
        assert "_masktron_completion" in done.stdout.splitlines()[-1]


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish_completes_commands_and_options(
    environment: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "fish" / "completions"
    folder.mkdir(parents=True)
    (folder / "masktron.fish").write_text(Runner(capsys, whole=False)("completion", "fish").out)
    for line, found in CASES:
        asked = ["fish", "--private", "-c", f"complete --do-complete '{line}'"]
        done = subprocess.run(
            asked, capture_output=True, text=True, env=environment, check=True, cwd=tmp_path, timeout=PATIENCE
        )
        assert [told.partition("\t")[0] for told in done.stdout.splitlines()] == found, done.stderr


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh")
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_zsh_completes_commands_and_options(
    environment: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    functions = tmp_path / "functions"
    functions.mkdir()
    (functions / "_masktron").write_text(Runner(capsys, whole=False)("completion", "zsh").out)
    (tmp_path / ".zshrc").write_text(
        f"PS1=; unsetopt zle_bracketed_paste prompt_cr prompt_sp\nfpath=({functions} $fpath)\n"
        "autoload -Uz compinit; compinit -D\n"
        # one key completes and tells, since a tab key with others behind it stands for itself
        "told() { zle complete-word; print -r -- \"<$BUFFER>\"; BUFFER= }\nzle -N told; bindkey '^X' told\n"
    )
    for line, (found,) in CASES:
        assert completed_by_zsh(line, environment, tmp_path).split() == [*line.split()[:-1], found]


def completed_by_zsh(line: str, environment: dict[str, str], folder: Path) -> str:
    """Type a line in an interactive zsh, complete it, and return what stands there then."""
    import pty

    number, terminal = pty.fork()
    if number == 0:
        os.chdir(folder)
        os.execvpe("zsh", ["zsh", "--no-globalrcs", "-i"], environment)  # noqa: S606 -- a program that is no shell script
    said, until = "", time.monotonic() + PATIENCE
    try:
        os.write(terminal, f"{line}\x18".encode())
        while (shown := re.search("<(masktron [^>]*)>", said)) is None and time.monotonic() < until:
            if select.select([terminal], [], [], 1)[0]:
                said += os.read(terminal, 1 << 16).decode("utf-8", "replace")
    finally:
        os.close(terminal)
        os.waitpid(number, 0)
    assert shown is not None, said
    return shown[1]

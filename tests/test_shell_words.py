"""Words of a command: what a shell reads of them is what they were."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from masktron.shell_words import shell_word

TEXTS = [
    "A=1",
    "A >= 0",
    "Role = 'partner'",
    "it's $HOME",
    "'a' and \"b\"",
    "'!x'",
    "a != 'b'",
    "'a' !",
    "a\\'b",
    "`id` 'x'",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_shell_reads_what_it_was(text: str) -> None:
    word = shell_word(text)
    assert shlex.split(word) == [text]
    assert subprocess.run(["sh", "-c", f"printf %s {word}"], capture_output=True, check=True).stdout.decode() == text

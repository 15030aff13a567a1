"""Commands that pages show name commands and options that there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from masktron.commands import COMMANDS
from masktron.commands.offered import offered
from pages_read import pages
from paths import ROOT

OPTIONS = {
    name: {"--help", *(text for one in offered(listed.kind) for text in (*one.spellings, one.said.off))}
    for name, listed in COMMANDS.items()
}
_FENCED = re.compile(r"^```([^\n]*)\n(.*?)^``` *$", flags=re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(masktron\s[^`]+)`")
_SHELLS = ("", "console", "bash", "sh")


def unknown(text: str) -> list[str]:
    """Commands and options of a page that masktron has not."""
    lines = [
        line
        for language, block in _FENCED.findall(text)
        if language in _SHELLS
        for line in block.replace("\\\n", " ").splitlines()
    ]
    lines += [" ".join(found.split()) for found in _INLINE.findall(_FENCED.sub("", text))]
    found = []
    for line in lines:
        words = line.removeprefix("$ ")
        if not words.startswith("masktron ") or "COMMAND" in words:
            continue
        given = shlex.split(words.replace("...", ""), comments=True)[1:]
        name = given[0] if given else ""
        if name.startswith("-") or not given:
            continue
        if name not in OPTIONS:
            found.append(words)
            continue
        found += [f"{name} {one}" for one in given[1:] if re.match(r"--?[a-z]", one) and one not in OPTIONS[name]]
    return found


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_are_there(page: Path) -> None:
    assert unknown(page.read_text(encoding="utf-8")) == []


def test_what_is_not_there_is_found() -> None:
    shown = "```xml\n<a/>\n```\n\n"
    shown += "```\nmasktron mask a.csv --rulez b\n$ masktron maks a\nmasktron mask a -k 5 \\\n   --nothing\n```\n"
    assert unknown(shown) == ["mask --rulez", "masktron maks a", "mask --nothing"]
    assert unknown("Say `masktron masc a`, or `masktron\nmask a --nowhere`.\n") == [
        "masktron masc a",
        "mask --nowhere",
    ]

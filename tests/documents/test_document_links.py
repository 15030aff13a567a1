"""Links, anchors and pictures of pages, and the pages that messages and code name; no site is built for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pages_read import anchors, links, pages
from paths import DOCS, ROOT

NAMED = re.compile(r"\bdocs/([\w/-]+\.md)(?:#([\w-]+))?")
CODE = ("pipeline/masktron", "reproduction", "benchmarks", "tests")


def dead(page: Path) -> list[str]:
    """What a page links to that is not there."""
    text = page.read_text(encoding="utf-8")
    found = []
    for link in links(text):
        name, _, anchor = link.partition("#")
        target = page if not name else (DOCS / name[1:] if name.startswith("/") else page.parent / name)
        if re.match(r"[a-z]+:", link) or "generated/" in link:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            found.append(link)
    return found


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_links_to_is_there(page: Path) -> None:
    assert dead(page) == []


def test_dead_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n[a](#a-page) [b](#b) [c](c.md) ![d](d.png) `[e](e.md)` [`f`](page.md#f)\n")
    assert dead(page) == ["#b", "c.md", "d.png", "page.md#f"]


def test_pages_that_code_and_messages_name_are_there() -> None:
    named = set()
    for folder in CODE:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".py", ".toml", ".html", ".js"}:
                named |= set(NAMED.findall(path.read_text(encoding="utf-8")))
    assert len(named) > 20
    lost = [
        name
        for name, anchor in named
        if not (DOCS / name).is_file()
        or (anchor and anchor not in anchors((DOCS / name).read_text(encoding="utf-8")))
    ]
    assert lost == []


def test_a_page_is_about_one_thing() -> None:
    listed = DOCS / "reference" / "errors.md"  # nobody reads it from end to end
    read = [page for page in pages() if DOCS in page.parents and page != listed]
    lengths = {page: len(page.read_text(encoding="utf-8").splitlines()) for page in read}
    assert {str(page.relative_to(DOCS)): lines for page, lines in lengths.items() if lines > 250} == {}


def test_every_page_is_in_the_contents_of_the_site() -> None:
    listed = {"index"}
    for page in pages():
        if DOCS not in page.parents:
            continue
        for entries in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S):
            for line in entries.splitlines():
                if line and not line.startswith(":"):
                    name = re.sub(r"^.*<(.*)>$", r"\1", line)
                    at = DOCS / name[1:] if name.startswith("/") else page.parent / name
                    listed.add(at.resolve().relative_to(DOCS).as_posix())
    there = {page.relative_to(DOCS).with_suffix("").as_posix() for page in pages() if DOCS in page.parents}
    assert there - listed == set()

"""The site: built without a warning, every link leads somewhere, nothing is asked of a network, search finds."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest
from lxml import html

from browser import axe_findings, shown, started
from built_site import build, built, needs_site
from paths import DOCS

pytestmark = pytest.mark.full
WIDTHS = (360, 768, 1440)
STICKS_OUT = """() => {
  const scrolls = one => ["auto", "scroll"].includes(getComputedStyle(one).overflowX);
  const seen = [];
  for (const one of document.querySelectorAll("article.bd-article *")) {
    const box = one.getBoundingClientRect();
    let above = one.parentElement;
    while (above && above.tagName !== "ARTICLE" && !scrolls(above)) { above = above.parentElement; }
    const free = !above || above.tagName === "ARTICLE";
    if (free && box.width && box.right > window.innerWidth + 1) {
      seen.push(`${one.tagName} ${(one.textContent || "").trim().slice(0, 40)}`);
    }
  }
  return seen;
}"""
"""Finds what a reader cannot see without scrolling the page sideways, which it does not allow."""


def complaints(page: Any) -> list[str]:
    """What a browser says against a page; the theme says what it does, too."""
    return [text for text in page.complaints if not text.startswith("[PST]")]


def html_pages(site: Path) -> list[Path]:
    """Pages of a site, without what the theme is made of."""
    return [path for path in site.rglob("*.html") if "_static" not in path.parts]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started() as one:
        yield one


def test_the_build_fails_for_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    needs_site()
    source = tmp_path / "docs"
    source.mkdir()
    shutil.copytree(DOCS / "_static", source / "_static")
    text = (DOCS / "conf.py").read_text(encoding="utf-8").replace('HERE / "_extensions"', f'"{DOCS / "_extensions"}"')
    (source / "conf.py").write_text(text.replace('    "generated_pages",\n', ""), encoding="utf-8")
    (source / "index.md").write_text("# A page\n\n[there](#a-page)\n")
    assert build(source, tmp_path / "good").returncode == 0
    (source / "index.md").write_text("# A page\n\n[nowhere](other.md)\n")
    failed = build(source, tmp_path / "bad")
    assert failed.returncode != 0
    assert "other.md" in failed.stderr


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    trees = {path: html.parse(str(path)).getroot() for path in html_pages(site)}
    names = {path: {one.get("id") or one.get("name") for one in tree.iter()} for path, tree in trees.items()}
    assert len(trees) > 70
    dead = []
    for path, tree in trees.items():
        for one in tree.iter("a", "img", "link", "script"):
            target = one.get("href") or one.get("src") or ""
            if not target or re.match(r"(https?|mailto|data|tcp):", target):
                continue
            name, anchor = urldefrag(unquote(target))
            at = (path.parent / name.partition("?")[0]).resolve() if name else path
            missing = anchor and at.suffix == ".html" and anchor not in names.get(at, set())
            if not at.exists() or missing:
                dead.append(f"{path.relative_to(site)}: {target}")
    assert dead == []


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = [
        f"{path.relative_to(site)}: {target}"
        for path in html_pages(site)
        for one in html.parse(str(path)).getroot().iter("img", "link", "script", "iframe", "source")
        if re.match(r"(https?:)?//", target := one.get("src") or one.get("href") or "")
    ]
    assert loaded == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_pages_in_a_browser_ask_nobody_and_fit(site: Path, browser: Any, width: int, scheme: str) -> None:
    names = [
        "index",
        "methods",
        "methods/drawing",
        "engines/truth",
        "glossary",
        "tutorials/csv",
        "tutorials/notebook",
        "reference/generated/commands/mask",
        "reference/generated/schemas/mask",
        "design",
    ]
    for name in names:
        with shown(browser, site / f"{name}.html", width=width, scheme=scheme) as page:
            page.wait_for_load_state("networkidle")
            assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
            assert complaints(page) == []
            assert page.refused == {}
            assert page.evaluate(STICKS_OUT) == [], name
            assert page.evaluate("document.documentElement.dataset.theme") == scheme


def test_axe_finds_nothing_on_any_page(site: Path, browser: Any) -> None:
    found = {}
    for path in html_pages(site):
        with shown(browser, path) as page:
            if findings := axe_findings(page):
                found[str(path.relative_to(site))] = findings
    assert found == {}


def test_formulas_are_drawn(site: Path, browser: Any) -> None:
    with shown(browser, site / "methods/drawing.html") as page:
        sizes = page.evaluate(
            "[...document.querySelectorAll('math')].map(one => [one.clientWidth || one.getBoundingClientRect().width,"
            " one.getBoundingClientRect().height])"
        )
    assert len(sizes) > 20
    assert all(width > 3 and height > 5 for width, height in sizes)


def test_search_finds_without_a_network(site: Path, browser: Any) -> None:
    with shown(browser, (site / "search.html").as_uri() + "?q=microaggregation") as page:
        # results are added one after the other; how many there are is said at the end
        page.wait_for_function("/\\d/.test(document.querySelector('#search-results p.search-summary')?.textContent)")
        found = page.evaluate("[...document.querySelectorAll('#search-results li a')].map(one => one.href)")
        assert any("glossary" in link for link in found)
        assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
        assert complaints(page) == []

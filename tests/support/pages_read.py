"""Pages of Markdown as tests read them: their links, and the anchors that their headings have on a code host."""

from __future__ import annotations

import re
from pathlib import Path

from paths import DOCS, ROOT

_FENCED = re.compile(r"^( *)(```+|~~~+|:::+).*?^\1\2 *$", flags=re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
_CODE = re.compile(r"(`+)(.+?)\1")


def pages() -> list[Path]:
    """Pages of the checkout that people read, without those that are made when the site is built."""
    found = (page for page in DOCS.rglob("*.md") if "generated" not in page.parts)
    return sorted([*found, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))])


def prose(text: str) -> str:
    """A page without its fenced parts, each line in its place."""
    return _FENCED.sub(lambda found: "\n" * found[0].count("\n"), text)


def links(text: str) -> list[str]:
    """What a page links to, pictures as well; not what stands in code."""
    return _LINK.findall(_CODE.sub(lambda found: "" if "](" in found[2] else found[0], prose(text)))


def anchors(text: str) -> set[str]:
    """Anchors of a page: of its headings, and those that it sets itself."""
    found = set(re.findall(r'<a id="([^"]+)"></a>', text)) | set(
        re.findall(r"^\(([\w-]+)\)=$", text, flags=re.MULTILINE)
    )
    for heading in re.findall(r"^#+ +(.*?) *$", prose(text), flags=re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        number, name = 0, slug
        while name in found:
            number += 1
            name = f"{slug}-{number}"
        found.add(name)
    return found

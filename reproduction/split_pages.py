"""One long text as a page with links and a page for each of its sections."""

from __future__ import annotations

import re


def split_pages(text: str, name: str, titles: dict[str, str]) -> dict[str, str]:
    """Return pages by file name: `NAME.md` with the head and links, and `NAME/PAGE.md` for each section.

    Parameters
    ----------
    text : str
        Markdown with sections of the second level, which become pages; pictures are in ``figures/``.
    name : str
        Of the first page, and of the folder beside it.
    titles : dict of str to str
        Names of pages by the titles of sections.

    Raises
    ------
    KeyError
        If a section has no name.
    """
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    pages, links, tree = {}, [], []
    for part in parts:
        title, _, body = part.partition("\n")
        file = titles[title]
        body = re.sub(r"^###", "##", body, flags=re.MULTILINE).replace("](figures/", "](../figures/")
        pages[f"{name}/{file}.md"] = f"# {title}\n{body.rstrip()}\n"
        links.append(f"- [{title}]({name}/{file}.md)")
        tree.append(f"{name}/{file}")
    toc = "\n".join(["```{toctree}", ":hidden:", "", *tree, "```"])
    pages[f"{name}.md"] = "\n".join([head.rstrip(), "", *links, "", toc, ""])
    return pages

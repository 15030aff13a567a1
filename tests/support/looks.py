"""What is looked at on every page that a test reaches: axe, what sticks out or is cut, what is asked of whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from browser import axe_findings

OUTSIDE = """() => {
  const seen = [];
  const wide = document.documentElement.scrollWidth;
  if (wide > window.innerWidth) { seen.push(`the page is ${wide} wide of ${window.innerWidth}`); }
  const named = one => `${one.tagName.toLowerCase()}.${one.className} ${(one.textContent || "").trim().slice(0, 40)}`;
  for (const one of document.querySelectorAll("body *")) {
    const style = getComputedStyle(one), box = one.getBoundingClientRect();
    if (!box.width || style.visibility === "hidden" || one.closest(".unseen, .skip, option, svg")) { continue; }
    if (one.tagName === "SELECT" && window.innerWidth > 600) {
      const pen = document.createElement("canvas").getContext("2d");
      pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      const room = one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 20;
      if (pen.measureText(one.selectedOptions[0].textContent).width > room) { seen.push(`cut: ${named(one)}`); }
    }
    const inside = one.closest(".scroll, pre");
    if (!inside && (box.right > window.innerWidth + 0.5 || box.left < -0.5)) { seen.push(`outside: ${named(one)}`); }
    const cuts = side => ["hidden", "clip"].includes(style[side]);
    if ((cuts("overflowX") && one.scrollWidth > one.clientWidth + 1)
        || (cuts("overflowY") && one.scrollHeight > one.clientHeight + 1)) { seen.push(`cut: ${named(one)}`); }
    if (["BUTTON", "A", "LABEL", "SUMMARY"].includes(one.tagName) && one.scrollWidth > one.clientWidth + 1
        && style.display !== "inline") { seen.push(`too long: ${named(one)}`); }
  }
  return seen;
}"""
"""Finds what sticks out of the window, unless it scrolls by itself, and what is cut; of a choice, the chosen one.

In a window as narrow as a phone a choice ends with an ellipsis: the list that it opens shows all of it.
"""


@dataclass(frozen=True)
class Window:
    """A window in which pages are looked at.

    Attributes
    ----------
    name : str
    width : int
        Of the page, in its own pixels: a window of 1,280 at 200 % has 640.
    scheme : str
        light or dark.
    """

    name: str
    width: int
    scheme: str = "light"


LIGHT, DARK = Window("light", 1280), Window("dark", 1280, "dark")
PHONE, TWICE = Window("phone", 360, "dark"), Window("200", 640)
ALL = (LIGHT, DARK, PHONE, TWICE)


def findings(
    page: Any, windows: Iterable[Window] = ALL, *, axe: Iterable[Window] = (LIGHT, DARK, PHONE)
) -> list[str]:
    """Return what is wrong with a page as it is shown in several windows, without loading it again.

    Parameters
    ----------
    page : playwright.sync_api.Page
    windows, axe : iterable of Window
        Where is looked for what sticks out or is cut; where axe-core looks as well.
    """
    found = []
    asked = set(axe)
    for one in windows:
        page.set_viewport_size({"width": one.width, "height": 900})
        page.emulate_media(color_scheme=one.scheme)
        found += [f"{one.name}: {each}" for each in _outside(page)]
        if one in asked:
            found += [f"{one.name}: {each}" for each in axe_findings(page)]
    return found


def _outside(page: Any) -> list[str]:
    """Return what sticks out once the page has taken the size of its window, for which it has a second."""
    seen: list[str] = page.evaluate(OUTSIDE)
    for _ in range(20):
        if not seen:
            break
        page.wait_for_timeout(50)
        seen = page.evaluate(OUTSIDE)
    return seen


def open_all(page: Any) -> None:
    """Open what is folded up."""
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")

"""The way through a project: its steps, how far each is, and which comes next."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from masktron.errors import MasktronError
from masktron.web.mistakes import note_mistake
from masktron.web.pages.all_pages import PAGES
from masktron.web.store.projects import Project
from masktron.web.web_page import STEPS, StepState, WebPage


@dataclass(frozen=True, slots=True)
class WayStep:
    """A step of the way, as the pages of a project show it."""

    name: str
    title: str
    page: WebPage | None
    state: StepState
    is_next: bool


def way_of(project: Project) -> list[WayStep]:
    """Return the steps of a project in order: how far each is, and which comes next."""
    pages = {page.step: page for page in PAGES if page.step is not None}
    way, found = [], False
    for name, title in STEPS.items():
        page = pages.get(name)
        state = _state_of(page, project)
        is_next = not found and not state.done and page is not None
        found = found or is_next
        way.append(WayStep(name, title, page, state, is_next))
    return way


def onward(steps: Sequence[WayStep], name: str) -> Iterator[tuple[str, WayStep]]:
    """Yield where to go from the page of a step: to the first open step if it is earlier, and on from a done one."""
    at = next((at for at, one in enumerate(steps) if one.page is not None and one.page.name == name), None)
    if at is None:
        return
    yield from (("Still open", one) for one in steps[:at] if one.is_next)
    if steps[at].state.done:
        later = (one for one in steps[at + 1 :] if one.page is not None and not one.state.done)
        yield from (("Next", one) for one in itertools.islice(later, 1))


def _state_of(page: WebPage | None, project: Project) -> StepState:
    """Return how far a step is; what stands in its way, be it a mistake of ours, closes no other page."""
    if page is None or page.state is None:
        return StepState(False)
    try:
        return page.state(project)
    except MasktronError as error:
        return StepState(False, error.what, problem=True)
    except Exception as error:  # noqa: BLE001 -- every page of the project shows the way
        note_mistake(error)
        return StepState(False, "it cannot be read", problem=True)

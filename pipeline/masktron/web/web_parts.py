"""What the application is made of, and what every kind of page asks of it."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from masktron.web.access.gate import Cookie, Door
from masktron.web.access.sessions import Sessions
from masktron.web.runs.run_queue import RunQueue
from masktron.web.store.projects import Project, ProjectStore
from masktron.web.web_page import Visit


@dataclass(frozen=True, slots=True)
class WebParts:
    """What the application is made of.

    Attributes
    ----------
    store : ProjectStore
    queue : RunQueue
    sessions : Sessions
    door : Door
    cookie : Cookie
    hosts : frozenset of str
        The names by which the server may be asked.
    scheme : str
        ``http`` or ``https``, as browsers see it.
    largest_upload : int
        Bytes.
    is_local : bool
        Whether browser and server are on one machine.
    """

    store: ProjectStore
    queue: RunQueue
    sessions: Sessions
    door: Door
    cookie: Cookie
    hosts: frozenset[str]
    scheme: str = "http"
    largest_upload: int = 2 << 30
    is_local: bool = True

    def project_of(self, request: Request) -> Project | None:
        """Return the project of an address; None where there is none."""
        return self.store.get(request.path_params["project"])

    def visit_of(self, request: Request) -> Visit:
        """Return what a page gets to know of a request."""
        return Visit(
            self.store,
            self.queue,
            dict(request.query_params),
            request.path_params,
            self.largest_upload,
            self.is_local,
        )

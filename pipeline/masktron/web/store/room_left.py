"""The room of a user, shared by all that comes at the same time: uploads, and files that are copied from folders."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from masktron.errors import UsageError


class UploadRefusedError(UsageError):
    """A file that is not kept, with the status of the answer."""

    def __init__(self, status: int, what: str, hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.status = status


class RoomLeft:
    """The room for one file, from when it begins to come.

    Parameters
    ----------
    left : int
        Bytes that the user had left then.
    came : callable
        Takes bytes that have just come, and returns those that have come for all files of the user since then.
    """

    def __init__(self, left: int, came: Callable[[int], int]) -> None:
        self.left = left
        self._came = came

    def require(self, size: int) -> None:
        """Refuse a file that is larger than all that was left.

        Raises
        ------
        UploadRefusedError
            It is, so that no piece of it needs to come.
        """
        if size > self.left:
            raise _no_room()

    def take(self, size: int) -> None:
        """Take room for a piece of the file.

        Raises
        ------
        UploadRefusedError
            There is none, with all that has come for other files of the user meanwhile.
        """
        if self._came(size) > self.left:
            raise _no_room()


def _no_room() -> UploadRefusedError:
    return UploadRefusedError(413, "there is no room left for this file", "delete projects or uploads")


class Arrivals:
    """Counts the bytes that come for each user, so that files which come together share what is left.

    Parameters
    ----------
    left : callable
        Takes a user, and returns the bytes that are left on the disk.
    """

    def __init__(self, left: Callable[[str], int]) -> None:
        self._left = left
        self._lock = threading.Lock()
        self._came = Counter[str]()

    def begin(self, user: str) -> RoomLeft:
        """Return the room for a file that begins to come."""
        # first: what comes while somebody looks at the disk may count twice, but does count
        before = self._count(user, 0)
        return RoomLeft(self._left(user), lambda size: self._count(user, size) - before)

    def _count(self, user: str, size: int) -> int:
        with self._lock:
            self._came[user] += size
            return self._came[user]

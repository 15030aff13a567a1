"""Who is at the other end of a connection: which user of this machine, and which network an address belongs to.

The kernel is asked by ``NETLINK_SOCK_DIAG`` (sock_diag(7)), which finds one socket however many there are; else
``/proc/net/tcp`` is read. Both know the sockets of this machine and network namespace alone.
"""

from __future__ import annotations

import os
import platform
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from masktron.web.mistakes import note_mistake

type End = tuple[str, int]
"""An address and a port."""
type Look = Callable[[End, End], int | None]
"""Takes the end of the peer and ours; returns the number of its user, None where no open socket is seen there."""

NOBODY_KNOWN = -1
"""Of a connection whose user could not be looked for: no session is his."""
_ROOT = 0
_SOCK_DIAG, _BY_FAMILY, _REQUEST, _TCP = 4, 20, 1, 6
_NO_COOKIE = 0xFFFFFFFF
_SECONDS = 1.0
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_WHOLE_NETWORK = 64
"""Bits of an IPv6 address that a provider gives to one customer; who has them has all addresses below."""


class PeerUsers:
    """Says which user of this machine a connection comes from.

    Parameters
    ----------
    look : callable
        `asked_of_kernel`, or `read_from_table`.
    """

    def __init__(self, look: Look) -> None:
        self._look = look

    def user_of(self, peer: End, own: End) -> int | None:
        """Return the number of the user; None where no open socket is seen, `NOBODY_KNOWN` where none could be."""
        try:
            return self._look(peer, own)
        except OSError as error:  # it worked when the server began
            note_mistake(error)
            return NOBODY_KNOWN


class OwnPeers:
    """Tells the connections of one user of this machine from those of all others.

    A socket that nobody sees, since it is closed already or belongs to another network namespace, is not his. Root is
    let pass: it may do what he may, and relays connections for him (in WSL, in containers).

    Parameters
    ----------
    look : callable
        `asked_of_kernel`, or `read_from_table`.
    user : int
        The number of the user.
    unseen : bool
        Whether a connection passes whose socket is not seen: in WSL those of Windows are not.
    """

    def __init__(self, look: Look, user: int, *, unseen: bool = False) -> None:
        self._users = PeerUsers(look)
        self._user = user
        self._unseen = unseen

    def admit(self, peer: End, own: End) -> bool:
        """Tell whether a connection is one of this user."""
        found = self._users.user_of(peer, own)
        return self._unseen if found is None else found in (self._user, _ROOT)


def own_peers() -> OwnPeers | None:
    """Return what tells our connections from others; None where the system does not say whose they are."""
    look = _way_to_look()
    return None if look is None else OwnPeers(look, os.geteuid(), unseen=is_wsl())


def peer_users() -> PeerUsers | None:
    """Return what says whose connections are whose; None where the system does not say it."""
    look = _way_to_look()
    return None if look is None else PeerUsers(look)


def _way_to_look() -> Look | None:
    """Return how the user of a connection is found; None where the system does not say it.

    Each way is tried on a connection of our own: one that does not find it is not used.
    """
    return next((look for look in (asked_of_kernel, read_from_table) if _finds_ourselves(look, os.geteuid())), None)


def is_wsl() -> bool:
    """Tell whether this is Linux in Windows, where browsers are outside of it."""
    return "microsoft" in platform.release().lower()


def _finds_ourselves(look: Look, user: int) -> bool:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        with socket.create_connection(address, _SECONDS) as ours:
            try:
                return look(ours.getsockname(), address) == user
            except OSError:
                return False


def asked_of_kernel(peer: End, own: End) -> int | None:
    """Ask for the user of a socket by ``NETLINK_SOCK_DIAG``.

    Parameters
    ----------
    peer, own : tuple of str and int
        The two ends of a TCP connection, the socket's own first.

    Raises
    ------
    OSError
        The kernel does not answer such questions.
    """
    if sys.platform != "linux":
        raise OSError("there is no sock_diag but on Linux")
    family, packed = _packed(peer[0])
    ports = struct.pack("!HH", peer[1], own[1])
    identity = ports + packed.ljust(16, b"\0") + _packed(own[0])[1].ljust(16, b"\0")
    asked = struct.pack("=BBBBI", family, _TCP, 0, 0, 0xFFFFFFFF) + identity
    asked += struct.pack("=III", 0, _NO_COOKIE, _NO_COOKIE)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as asking:
        asking.settimeout(_SECONDS)
        asking.sendto(struct.pack("=IHHII", 16 + len(asked), _BY_FAMILY, _REQUEST, 1, 0) + asked, (0, 0))
        answer = asking.recv(4096)
    if len(answer) < 88 or struct.unpack_from("=H", answer, 4)[0] != _BY_FAMILY:
        return None  # there is no such socket
    user, inode = struct.unpack_from("=II", answer, 80)
    # one that is closed has no inode, and the user 0; one that listens has another port
    return int(user) if inode and answer[20:24] == ports else None


def read_from_table(peer: End, own: End) -> int | None:
    """Read the user of a socket from ``/proc/net/tcp`` or ``/proc/net/tcp6`` (proc_net(5)).

    Parameters
    ----------
    peer, own : tuple of str and int
        The two ends of a TCP connection, the socket's own first.

    Raises
    ------
    OSError
        The tables cannot be read.
    """
    # a socket of IPv6 may have a connection of IPv4
    plain, mapped = ([_hexed(end, as_six) for end in (peer, own)] for as_six in (False, True))
    for path in _TABLES:
        if path != _TABLES[0] and not Path(path).exists():  # without IPv6
            continue
        for line in Path(path).read_text(encoding="ascii").splitlines()[1:]:
            words = line.split()
            if words[1:3] in (plain, mapped):
                return int(words[7]) if words[9] != "0" else None
    return None


def _packed(address: str) -> tuple[int, bytes]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return family, socket.inet_pton(family, address)


def _hexed(end: End, as_six: bool) -> str:
    packed = _packed(end[0])[1]
    if as_six and len(packed) == 4:
        packed = bytes(10) + b"\xff\xff" + packed
    words = (int.from_bytes(packed[at : at + 4], sys.byteorder) for at in range(0, len(packed), 4))
    return f"{''.join(f'{word:08X}' for word in words)}:{end[1]:04X}"

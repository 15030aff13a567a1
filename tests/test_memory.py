"""Which exceptions mean that there was no memory."""

from __future__ import annotations

import errno

import pytest

from masktron import memory
from masktron.memory import lacks_memory


def led_to(cause: Exception) -> Exception:
    error = ValueError("what was made of it")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "always", "limited"),
    [
        (MemoryError(), True, True),
        (led_to(MemoryError()), True, True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True, True),
        (RuntimeError("can't start new thread"), True, True),
        (ValueError("Failed to launch worker thread: Resource temporarily unavailable"), True, True),
        (ImportError("lib.so: failed to map segment from shared object"), False, True),
        (OSError("Could not find/load shared object file 'libllvmlite.so'"), False, True),
        (OSError(errno.ENOENT, "No such file or directory"), False, False),
        (KeyError("age"), False, False),
    ],
    ids=str,
)
def test_exceptions_that_mean_a_lack_of_memory(
    monkeypatch: pytest.MonkeyPatch, error: Exception, always: bool, limited: bool
) -> None:
    for limit, expected in ((None, always), (2_000_000_000, limited)):
        monkeypatch.setattr(memory, "address_space", lambda limit=limit: limit)
        assert lacks_memory(error) is expected

"""How many examples a long property test tries: a part in `make test`, all in `make test-full`."""

from __future__ import annotations

import os

from hypothesis import settings

FULL = os.environ.get("HYPOTHESIS_PROFILE") == "full"


def examples(part: int, *, full: int) -> settings:
    """Return the settings of a test that tries some examples, or many where the profile is ``full``."""
    return settings(max_examples=full if FULL else part)

"""Words of a command as a shell takes them, in the quotation marks that read best."""

from __future__ import annotations

import re
import shlex

_SPECIAL_IN_DOUBLE = re.compile(r'["$`\\]|!(?![= ])')
"""What a shell changes between double quotes; an interactive one takes ``!`` for history, but not before ``=``."""


def shell_word(text: str) -> str:
    """Return one word of a command: bare, in single or, where it has single quotes itself, in double ones.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
        What a POSIX shell, interactive or not, reads as `text`.
    """
    if "'" in text and not _SPECIAL_IN_DOUBLE.search(text):
        return f'"{text}"'
    return shlex.quote(text)

"""Where characters stand in lines, as engines and editors count."""

from __future__ import annotations

import numpy as np


def line_end(text: bytes, start: int, stop: int) -> int:
    """Return the last end of a line in a part of a text; -1 where there is none."""
    return max(text.rfind(b"\n", start, stop), text.rfind(b"\r", start, stop))


def characters(text: bytes, codec: str) -> int:
    """Return the number of characters of a text in UTF-8, or with one byte for each."""
    if codec != "utf-8" or text.isascii():
        return len(text)
    return int(np.count_nonzero((np.frombuffer(text, dtype=np.uint8) & 0xC0) != 0x80))


def column_behind(text: bytes, column: int, codec: str) -> int:
    """Return the column, from 1, behind a text that begins in a column."""
    end = line_end(text, 0, len(text))
    return (column if end < 0 else 1) + characters(text[end + 1 :], codec)

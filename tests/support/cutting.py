"""Files that are small for tests, and large for engines that are asked about their slices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from masktron.judge.second_opinions import USUAL, engine_opinions


def cut_from(monkeypatch: pytest.MonkeyPatch, small: int, size: int = USUAL.size, **options: int) -> None:
    """Let files of more than some bytes be cut, into slices of some bytes."""
    cutting = replace(USUAL, small=small, size=size, **options)
    monkeypatch.setattr(
        engine_opinions, "__kwdefaults__", {**(engine_opinions.__kwdefaults__ or {}), "cutting": cutting}
    )

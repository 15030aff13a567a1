"""Look at the groups of a run: the written file shows which records are alike, not who was put together."""

from __future__ import annotations

from typing import Any

import pytest

from masktron.jobs import in_units as job
from masktron.masking import Masked
from masktron.sources.dataset import Dataset


class Spy:
    """Takes the place of ``mask_records``: masks as ever, and keeps the records and their groups."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mask_records = job.mask_records
        monkeypatch.setattr(job, "mask_records", self)

    def __call__(self, records: Dataset, *arguments: Any, **options: Any) -> Masked:
        self.records = records
        masked = self.mask_records(records, *arguments, **options)
        self.blocks = masked.blocks
        return masked

"""A manifest with a long list is, byte for byte, what one dump of all would be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from masktron.write import manifest
from masktron.write.manifest import dump, write_plain


@pytest.mark.parametrize("numbers", [[], [7], [2, 0, 1], [*range(25)]])
def test_lists_are_written_part_by_part(tmp_path: Path, numbers: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "_AT_ONCE", 4)
    content = {"a": '\n  "order": []', "order": None, "deep": {"order": [1]}, "last": numbers}
    lists = {name: np.array(numbers, dtype=np.intp) for name in ("order", "last")}
    write_plain(tmp_path / "m.json", content, lists)
    assert (tmp_path / "m.json").read_text(encoding="utf-8") == dump({**content, "order": numbers})

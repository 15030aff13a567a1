"""Files written from the bytes of the source are, byte for byte, those that libxml2 would write."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flat_files import flat_files
from masktron.read.plain import survey_plain
from masktron.read.records import Coded
from masktron.write import assembled, pieces
from masktron.write.assembled import write_assembled
from masktron.write.xml import write_masked

TEXTS = st.sampled_from(
    (None, "", "1", "-2.50", " ", "a<&>b", "\"'", "]]>", "été", "€", "\r\n\t", "\U0001f600", "\x85\x7f", "x" * 90)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("assembled")


def coded(data, n: int) -> Coded:
    texts = data.draw(st.lists(TEXTS, min_size=1, max_size=5))
    codes = data.draw(st.lists(st.integers(0, len(texts) - 1), min_size=n, max_size=n))
    return Coded(np.array(texts, dtype=object), np.array(codes, dtype=np.intp))


def drawn(data, layout, n: int) -> tuple[dict[str, Coded], dict]:
    """Replacements and options for a file."""
    replacements, removed = {}, set()
    for f in layout.fields:
        match data.draw(st.sampled_from("krrd")):
            case "r":
                replacements[f.name] = coded(data, n)
            case "d":
                removed.add(f.name)
    keep = data.draw(st.none() | st.lists(st.booleans(), min_size=n, max_size=n))
    order = data.draw(st.none() | st.permutations(range(n)))
    return replacements, {
        "removed": removed,
        "keep": None if keep is None else np.array(keep, dtype=np.bool_),
        "order": None if order is None else np.array(order, dtype=np.intp),
    }


@settings(max_examples=400)
@given(file=flat_files(), data=st.data(), block=st.integers(1, 400), rows=st.integers(1, 9), room=st.integers(1, 900))
def test_what_is_written_from_bytes_is_what_libxml2_writes(folder, file, data, block, rows, room):
    path, target, other = folder / "data.xml", folder / "fast.xml", folder / "slow.xml"
    # two prefixes for one namespace are for libxml2 alone, and so is a default namespace that has a prefix
    path.write_bytes(file.data.replace(b'xmlns:q="u"', b'xmlns:q="v"'))
    layout, _, plain = survey_plain(path)
    replacements, options = drawn(data, layout, plain.records)
    defaults = pieces.iter_batches.__kwdefaults__ | {"block": block, "rows": rows}
    answers = []
    with (
        mock.patch.object(pieces.iter_batches, "__kwdefaults__", defaults),
        mock.patch.object(pieces, "_ROOM", room),
        mock.patch.object(assembled, "_ROOM", room),
        mock.patch.object(
            assembled, "write_assembled", lambda *given: answers.append(write_assembled(*given)) or answers[-1]
        ),
    ):
        count = write_masked(path, target, layout, replacements, plain=plain, **options)
    assert answers == [file.default != "u"]
    assert count == write_masked(path, other, layout, replacements, **options)
    assert target.read_bytes() == other.read_bytes()

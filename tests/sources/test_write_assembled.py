"""Files written from the bytes of the source are, byte for byte, those that libxml2 would write."""

from __future__ import annotations

import os
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli_runner import write_file
from examples import examples
from flat_files import ATTRIBUTE_VALUES, SPACES, TAME_VALUES, flat_files
from made_columns import new_column
from masktron.errors import DocumentError
from masktron.sources.column import Column
from masktron.sources.xml import new_texts, pieces, writer
from masktron.sources.xml.layout import survey_exactly
from masktron.sources.xml.plain import survey_plain
from masktron.sources.xml.writer import write_assembled, write_masked
from refusals import refused

TEXTS = st.sampled_from(
    (None, "", "1", "-2.50", " ", "a<&>b", "\"'", "]]>", "été", "€", "\r\n\t", "\U0001f600", "\x85\x7f", "x" * 90)
)
BLOCKS, ROOMS = st.integers(1, 400), st.integers(1, 900)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("assembled")


@st.composite
def edits(draw, layout, n: int):
    """Replacements for a file, and options."""
    replacements, removed = {}, set()
    for f in layout.fields:
        match draw(st.sampled_from("krrd")):
            case "r":
                texts = draw(st.lists(TEXTS, min_size=1, max_size=5))
                codes = draw(st.lists(st.integers(0, len(texts) - 1), min_size=n, max_size=n))
                replacements[f.name] = new_column(np.array(texts, dtype=object), np.array(codes, dtype=np.intp))
            case "d":
                removed.add(f.name)
    keep = draw(st.none() | st.lists(st.booleans(), min_size=n, max_size=n))
    order = draw(st.none() | st.permutations(range(n)))
    return replacements, {
        "removed": removed,
        "keep": None if keep is None else np.array(keep, dtype=np.bool_),
        "order": None if order is None else np.array(order, dtype=np.intp),
    }


def compare(folder, source: bytes, data, *, rows: int) -> tuple[bool, int]:
    """Write a file both ways; return whether it was from its bytes, and how many plain records were parsed."""
    path, target, other = folder / "data.xml", folder / "fast.xml", folder / "slow.xml"
    path.write_bytes(source)
    layout, _, plain = survey_plain(path)
    replacements, options = data.draw(edits(layout, plain.records))
    defaults = pieces.iter_batches.__kwdefaults__ | {"block": data.draw(BLOCKS), "rows": rows}
    room = data.draw(ROOMS)
    answers, parsed = [], 0
    shown = pieces._Parsed._shown

    def answering(*given) -> bool:
        answers.append(write_assembled(*given))
        return answers[0]

    def counting(own, batch, rows):
        nonlocal parsed
        parsed += int((~batch.odd)[rows].sum())
        return shown(own, batch, rows)

    with (
        mock.patch.object(pieces.iter_batches, "__kwdefaults__", defaults),
        mock.patch.object(pieces, "_ROOM", room),
        mock.patch.object(writer, "PART", room),
        mock.patch.object(new_texts, "_TOGETHER", data.draw(st.integers(1, 6))),
        mock.patch.object(writer, "HELD", data.draw(ROOMS)),
        mock.patch.object(writer, "write_assembled", answering),
        mock.patch.object(pieces._Parsed, "_shown", counting),
    ):
        count = write_masked(path, target, layout, replacements, plain=plain, **options)
    assert count == write_masked(path, other, layout, replacements, **options)
    assert target.read_bytes() == other.read_bytes()
    return answers[0], parsed


@examples(20, full=200)
@given(file=flat_files(), data=st.data(), rows=st.integers(1, 9))
def test_any_flat_file_is_written_as_libxml2_writes_it(folder, file, data, rows):
    # a prefix for each namespace, unless the default namespace has one, too: then libxml2 chooses between them
    source = file.data.replace(b'xmlns:q="u"', b'xmlns:q="v"')
    assert compare(folder, source, data, rows=rows)[0] == (file.default != "u")


@pytest.mark.full
@settings(max_examples=60)
@given(file=flat_files(), data=st.data())
def test_where_a_namespace_has_two_prefixes_libxml2_writes_all(folder, file, data):
    assert compare(folder, file.data, data, rows=9) == (False, 0)


VALUES = st.sampled_from(("", "1", " -2.50\n", "a>b", "&lt;&amp;&gt;", "it's", '"', "]] ", "é", "]"))
QUOTED = st.sampled_from(('"1"', "'1'", "'a\"b'", '"a>b"', '"it\'s"', '""', "'&amp;&gt;'", '"é "'))
GAPS = st.sampled_from(SPACES)


@st.composite
def plain_records(draw) -> str:
    """A record with all that the kernel understands."""
    opening = "".join(
        draw(st.sampled_from((" ", "\n", " \t"))) + f"{name}={draw(QUOTED)}"
        for name in draw(st.lists(st.sampled_from(("id", "p:w", "no")), unique=True))
    )
    inside = ""
    for name in draw(st.lists(st.sampled_from(("A", "AB", "p:V", "é", "B", "C")), unique=True)):
        gap, value = draw(st.sampled_from(("", " ", "\r\n"))), draw(VALUES)
        inside += draw(GAPS)
        inside += f"<{name}{gap}/>" if not value and draw(st.booleans()) else f"<{name}{gap}>{value}</{name}{gap}>"
    if not inside and draw(st.booleans()):
        return f"<R{opening}{draw(GAPS)}/>"
    return f"<R{opening}{draw(GAPS)}>{inside}{draw(GAPS)}</R{draw(GAPS)}>"


FULL = '<R id="1" p:w="1" no="1"><A>1</A><AB>1</AB><p:V>1</p:V><é>1</é><B>1</B><C>1</C></R>'


@pytest.mark.full
@examples(20, full=200)
@given(records=st.lists(plain_records(), min_size=1, max_size=6), data=st.data(), rows=st.integers(1, 9))
def test_plain_records_are_not_parsed(folder, records, data, rows):
    encoding = data.draw(st.sampled_from(("utf-8", "iso-8859-1")))
    # the reader learns a name from each record
    body = "".join(data.draw(GAPS) + record for record in [*[FULL] * 9, *records])
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n<D xmlns:p="u">{body}{data.draw(GAPS)}</D>'
    fast, parsed = compare(folder, text.encode(encoding), data, rows=rows)
    assert (fast, parsed) == (True, 0)


def columns(**texts: list[str | None]) -> dict[str, Column]:
    return {name: new_column(np.array(own, dtype=object), np.arange(len(own))) for name, own in texts.items()}


def written(path, new, **options) -> bytes:
    layout, _, plain = survey_plain(path)
    target = path.with_name("out.xml")
    with mock.patch("masktron.sources.xml.writer.write_parsed", side_effect=AssertionError):
        write_masked(path, target, layout, new, plain=plain, **options)
    return target.read_bytes()


def by_trees(path, new, **options) -> bytes:
    target = path.with_name("other.xml")
    write_masked(path, target, survey_exactly(path)[0], new, **options)
    return target.read_bytes()


def test_values_that_stay_are_written_as_libxml2_writes_them(tmp_path):
    path = tmp_path / "data.xml"
    rows = ["<R id='1'><A>1</A><B>1</B></R>"] * 3
    rows += [f"<R id='1'><A>{value}</A><B>1</B></R>" for value in TAME_VALUES]
    rows += [f"<R id={q}{value}{q}><A>1</A><B>1</B></R>" for value in ATTRIBUTE_VALUES for q in "\"'"]
    rows += [f"<R id='{value}'><A>{value}</A><B>1</B></R>" for value in ("&#60;", "&quot;&apos;", "&lt;&gt;&amp;")]
    path.write_bytes(("<D>" + "".join(rows) + "</D>").encode())
    new = columns(B=["x"] * len(rows))
    assert written(path, new) == by_trees(path, new)


def test_no_record_is_told_by_how_it_was_indented(tmp_path):
    path = tmp_path / "data.xml"
    rows = [
        "<R/>\r\n\t", "<R>\n  <!-- -->\r<A>1</A>\n <B>2</B>\n\n</R>", "<R><A>3</A><B>4</B></R>   ", "<R> </R>",
        "<R\n><B><![CDATA[5]]></B>\t<A>6</A></R>", "<R><A>7</A>\n</R>",
    ]  # fmt: skip
    path.write_bytes(("<D>\n" + "".join(rows) + "\n </D>").encode())
    change = columns(A=["x", "x", "x", None, "x", "x"])
    record = "<R>\n  \n<A>x</A>\n  \n<B>{}</B>\n\n</R>"
    turned = "<R>\n  \n<B>5</B>\n  \n<A>x</A>\n\n</R>"
    alone = record.replace("\n  \n<B>{}</B>", "")
    pieces_of = [alone, record.format(2), record.format(4), "<R/>", turned, alone]
    expected = "<D>\n" + "\n\t".join(pieces_of) + "\n </D>\n"
    for most in (1, 2, 100):
        defaults = pieces.iter_batches.__kwdefaults__ | {"rows": most}
        with mock.patch.object(pieces.iter_batches, "__kwdefaults__", defaults):
            assert written(path, change).decode() == expected
    assert by_trees(path, change).decode() == expected
    order = np.array([5, 2, 0, 1, 3, 4])
    expected = "<D>\n" + "\n\t".join(pieces_of[at] for at in order) + "\n </D>\n"
    assert written(path, change, order=order).decode() == by_trees(path, change, order=order).decode() == expected


@pytest.mark.parametrize("order", [None, np.array([2, 0, 1])])
def test_no_record_is_kept(tmp_path, order):
    path = write_file(tmp_path / "data.xml", "<D>\n " + "<R><A>1</A></R>\n " * 2 + "<R><A>1</A></R>\n</D>")
    options = {"keep": np.zeros(3, dtype=np.bool_), "order": order}
    new = columns(A=["1", "2", "3"])
    assert written(path, new, **options) == by_trees(path, new, **options)


def test_texts_longer_than_the_room_for_them(tmp_path):
    path = write_file(tmp_path / "data.xml", "<D>" + "<R><A>1</A><B>2</B></R>" * 3 + "</D>")
    long = "&" * 2_000_000
    assert (
        written(path, columns(A=[long, None, long], B=["1", long, long]))
        == (
            "<D><R><A>{0}</A><B>1</B></R><R><B>{0}</B></R><R><A>{0}</A><B>{0}</B></R></D>\n".format(
                "&amp;" * 2_000_000
            )
        ).encode()
    )


def test_a_source_that_changed_after_the_survey_is_refused(tmp_path):
    path = write_file(tmp_path / "data.xml", "<D>" + "<R><A>1</A></R>" * 3 + "</D>")
    layout, _, plain = survey_plain(path)
    os.utime(path, (1, 1))
    with refused(DocumentError, "file-changed"):
        write_masked(path, tmp_path / "out.xml", layout, columns(A=["1", "2", "3"]), plain=plain)
    assert not (tmp_path / "out.xml").exists()


def test_what_is_written_is_flat_and_plain(tmp_path):
    path = write_file(tmp_path / "data.xml", "<D>\n" + "<R>\n<A>1</A></R>" * 3 + "\n</D>")
    (tmp_path / "new.xml").write_bytes(written(path, columns(A=["1", "2", "<3>"])))
    found = survey_plain(tmp_path / "new.xml")
    assert found is not None
    assert found[:2] == survey_exactly(tmp_path / "new.xml")

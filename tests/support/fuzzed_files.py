"""Honest small files of every format, and seeded damage to them: bytes, lengths, blocks, and parts of archives."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pyreadstat

from masktron.sources.known_formats import table_format
from masktron.sources.opening import open_source
from masktron.sources.tables.release import Release
from ods_files import write_ods
from statistical_files import write_sas7bdat

RECORDS = 24
_RECORD = '<Record><A>{a}</A><B>{b}</B><NAME at="1">{c}</NAME></Record>'


def honest_files(folder: Path) -> dict[str, bytes]:
    """Return the bytes of small files by their names, of each format and of each way in which it is packed."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"a": at * 3 % 17, "b": at / 8, "c": f"text {at % 5}"} for at in range(RECORDS)]
    xml = "<Data>" + "".join(_RECORD.format(**row) for row in rows) + "</Data>"
    (folder / "plain.xml").write_text(xml)
    text = "A,B,NAME\n" + "".join(f"{row['a']},{row['b']},{row['c']}\n" for row in rows)
    (folder / "plain.csv").write_text(text)
    (folder / "packed.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    with pa.CompressedOutputStream(str(folder / "packed.csv.zst"), "zstd") as stream:
        stream.write(text.encode())
    _write_arrow(folder, pd.DataFrame(rows).rename(columns=str.upper))
    table = open_source(folder / "plain.csv").table  # type: ignore[attr-defined]
    for name, suffix in (
        ("xlsx", "xlsx"),
        ("sqlite", "sqlite"),
        ("duckdb", "duckdb"),
        ("xpt", "xpt"),
    ):
        table_format(name).write(folder / f"made.{suffix}", Release.new(table))
    write_ods(folder / "made.ods", [["A", "B", "NAME"], *(list(row.values()) for row in rows)])
    _write_statistical(folder, rows)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _write_arrow(folder: Path, frame: pd.DataFrame) -> None:
    values = pa.Table.from_pandas(frame).append_column("CAT", pa.array(frame["C"]).dictionary_encode())
    pq.write_table(values, folder / "plain.parquet", row_group_size=10, compression="none")
    pq.write_table(values, folder / "packed.parquet", compression="zstd", use_dictionary=False)
    for name, codec in (("plain.arrow", None), ("packed.arrow", "lz4")):
        options = pa.ipc.IpcWriteOptions(compression=codec)
        with pa.ipc.new_file(str(folder / name), values.schema, options=options) as writer:
            writer.write_table(values, max_chunksize=10)
    with pa.ipc.new_stream(str(folder / "stream.arrow"), values.schema) as writer:
        writer.write_table(values)


def _write_statistical(folder: Path, rows: list[dict[str, Any]]) -> None:
    frame = pd.DataFrame(rows)
    labels: dict[str, dict[int | float, str]] = {"a": {1: "one", 2: "two"}}
    told: dict[str, Any] = {"column_labels": ["first", "second", "third"], "variable_value_labels": labels}
    for version in (12, 15):
        pyreadstat.write_dta(frame, str(folder / f"v{version}.dta"), version=version, **told)
    frame["words"] = "x" * 300
    pyreadstat.write_sav(frame, str(folder / "plain.sav"), missing_ranges={"a": [9]}, variable_value_labels=labels)
    pyreadstat.write_sav(frame, str(folder / "packed.zsav"), compress=True)
    pyreadstat.write_sav(frame, str(folder / "rows.sav"), row_compress=True)
    frame["words"] = "x" * 3000
    pyreadstat.write_dta(frame, str(folder / "long.dta"), version=14)
    columns: dict[str, Sequence[float | str | None]] = {
        "A": [row["a"] for row in rows],
        "B": [row["b"] for row in rows],
        "C": [row["c"] for row in rows],
    }
    write_sas7bdat(folder / "made.sas7bdat", columns, {"B": "BEST12.2"}, {"A": "first"})


def damaged(name: str, content: bytes, seed: int) -> bytes:
    """Return a file with one to three kinds of damage, the same for the same seed.

    In half of the cases the parts of a zip archive, or what is packed with gzip, are damaged and packed again.
    """
    generator = np.random.default_rng([seed, *name.encode()])
    if generator.random() < 0.5:
        if name.endswith((".xlsx", ".ods")):
            return _repacked(content, generator)
        if name.endswith(".gz"):
            return gzip.compress(_spoiled(gzip.decompress(content), generator), mtime=0)
    return _spoiled(content, generator)


def _repacked(content: bytes, generator: np.random.Generator) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as after:
        names = before.namelist()
        hit = names[int(generator.integers(len(names)))]
        for name in names:
            part = before.read(name)
            after.writestr(name, _spoiled(part, generator) if name == hit else part)
    return made.getvalue()


def _spoiled(content: bytes, generator: np.random.Generator) -> bytes:
    for _ in range(int(generator.integers(1, 4))):
        kind = _DAMAGES[int(generator.integers(len(_DAMAGES)))]
        if content:
            content = kind(bytearray(content), generator)
    return content


def _place(content: bytearray, generator: np.random.Generator, width: int) -> int:
    """Return where damage begins: in half of the cases among the first or last bytes, where lengths stand."""
    last = max(1, len(content) - width)
    edge = min(last, 400)
    where = generator.random()
    if where < 0.3:
        return int(generator.integers(edge))
    return last - 1 - int(generator.integers(edge)) if where < 0.5 else int(generator.integers(last))


def _flipped(content: bytearray, generator: np.random.Generator) -> bytes:
    content[_place(content, generator, 1)] ^= 1 << int(generator.integers(8))
    return bytes(content)


def _overwritten(content: bytearray, generator: np.random.Generator) -> bytes:
    width = int(generator.choice([1, 2, 4, 8]))
    known = [0, 1, (1 << (8 * width - 1)) - 1, 1 << (8 * width - 1), (1 << (8 * width)) - 1, 1 << (4 * width)]
    value = known[int(generator.integers(len(known)))]
    order: Literal["little", "big"] = "little" if generator.random() < 0.7 else "big"
    at = _place(content, generator, width)
    content[at : at + width] = value.to_bytes(width, order)
    return bytes(content)


def _digits(content: bytearray, generator: np.random.Generator) -> bytes:
    """Make a number that is written in digits a huge one."""
    found = [at for at, byte in enumerate(content) if 48 <= byte <= 57]
    if not found:
        return bytes(content)
    at = found[int(generator.integers(len(found)))]
    content[at : at + 1] = [b"2147483647", b"-1", b"1e999", b"99999999999999999999"][int(generator.integers(4))]
    return bytes(content)


def _cut(content: bytearray, generator: np.random.Generator) -> bytes:
    return bytes(content[: int(generator.integers(len(content)))])


def _swapped(content: bytearray, generator: np.random.Generator) -> bytes:
    size = int(generator.integers(1, max(2, len(content) // 4)))
    one, other = (int(place) for place in generator.integers(0, max(1, len(content) - size), 2))
    content[one : one + size], content[other : other + size] = (
        content[other : other + size],
        content[one : one + size],
    )
    return bytes(content)


def _repeated(content: bytearray, generator: np.random.Generator) -> bytes:
    size = int(generator.integers(1, max(2, len(content) // 4)))
    at = int(generator.integers(0, max(1, len(content) - size)))
    return bytes(content[: at + size] + content[at:])


def _removed(content: bytearray, generator: np.random.Generator) -> bytes:
    size = int(generator.integers(1, max(2, len(content) // 8)))
    at = _place(content, generator, size)
    return bytes(content[:at] + content[at + size :])


_DAMAGES: tuple[Callable[[bytearray, np.random.Generator], bytes], ...] = (
    *(_flipped, _overwritten, _overwritten, _digits, _cut, _swapped, _repeated, _removed),
)

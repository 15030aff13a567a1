"""Write what is known of the variables of a file, for whoever receives it."""

from __future__ import annotations

from pathlib import Path

from masktron.config import AS_IT_SAYS, ReadOptions
from masktron.errors import UsageError
from masktron.files import refuse_outputs
from masktron.problems.problem import Known
from masktron.progress import Progress, no_progress
from masktron.results import MetadataResult
from masktron.sources.opening import open_source
from masktron.write.atomic import atomic_path, blamed

STANDARDS = ("ddi", "tableschema")


def run_metadata(
    data: Path,
    out: Path,
    *,
    to: str,
    reading: ReadOptions = AS_IT_SAYS,
    progress: Progress = no_progress,
) -> MetadataResult:
    """Write the names, labels, kinds and missing codes of the fields of a file; no value of a record.

    Parameters
    ----------
    data, out : Path
    to : str
        ``ddi`` for DDI-Codebook 2.5, ``tableschema`` for Table Schema.
    reading : ReadOptions
        How the file is read; its metadata are written again, for the fields that the file has.

    Raises
    ------
    UsageError
        There is no such standard, or the output would overwrite an input.
    DocumentError
        A file cannot be read or written.
    """
    from masktron.sources.metadata.description_file import WRITERS, Description  # noqa: PLC0415 -- loads pyarrow
    from masktron.sources.record_layout import column_name  # noqa: PLC0415
    from masktron.sources.variables import Variable  # noqa: PLC0415

    if to not in STANDARDS:
        raise UsageError.of("unknown-name", kind="standard of metadata", name=to, known=Known(to, tuple(STANDARDS)))
    refuse_outputs({"the output": out}, {"the data": data, "the metadata": reading.metadata})
    progress(f"surveying {data.name}", 0)
    source = open_source(data, reading=reading, progress=progress)
    known = {variable.name: variable for variable in source.variables}
    fields = [field.name for field in source.layout.fields]
    variables = tuple(known.get(name, Variable(name, column_name(name))) for name in fields)
    with atomic_path(out) as temporary, blamed(out):
        WRITERS[to](temporary, Description(variables, data.name))
    hidden = [one.column for one in variables if one.observed]
    said = [one for one in variables if one.label or one.labels or one.missing or one.kind or one.weight]
    notes = []
    if hidden:
        notes.append(
            f"left out, as they may be values of records: codes that nobody declared, of {', '.join(hidden)}"
        )
    if ranges := [f"{one.column} ({', '.join(one.ranges)})" for one in variables if one.ranges]:
        notes.append(
            "ranges of values that mean 'missing' become the single codes in them that have labels: "
            f"{', '.join(ranges)}"
        )
    return MetadataResult(
        data=str(data),
        output=str(out),
        standard=to,
        fields=len(fields),
        described=tuple(one.name for one in said),
        notes=tuple(notes),
    )

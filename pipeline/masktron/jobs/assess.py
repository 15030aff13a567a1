"""Measure what masking cost and what risk is left: a masked file against its original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path

from masktron.config import Config
from masktron.errors import UsageError
from masktron.figures import FIGURES, NAMES, Figure, figure_of
from masktron.jobs.column_memory import arrays_of_run
from masktron.jobs.common import file_notes
from masktron.jobs.compared import as_wide_records, compare, require_described
from masktron.jobs.keys_known import require_keys
from masktron.jobs.limits import strictest
from masktron.jobs.lowering.level_figures import figures_by_level
from masktron.jobs.lowering.level_files import level_files, nested_columns
from masktron.jobs.released_tables import described_release_of, of_release, with_other_tables
from masktron.jobs.side_by_side import side_by_side_of_levels
from masktron.jobs.treatment_results import treatment_results
from masktron.jobs.twice import Against, with_earlier
from masktron.level_settings import NO_TABLES, GivenTables
from masktron.measures.figures import SAMPLED, measure, unpaired
from masktron.problems.level_names import LevelNames
from masktron.problems.problem import Known, Note, Sentence, Setting
from masktron.progress import Progress, no_progress, told_as
from masktron.report.pages.assess_page import assess_page
from masktron.report.pages.html import write_pages
from masktron.results import AssessResult, FigureResult, KeyRisk, shown
from masktron.sources.opening import open_source
from masktron.unrolling.level_names import level_names
from masktron.verify.pairing import NOTHING_STATED, Stated
from masktron.write.manifest import DescribedRelease
from masktron.write.nested_release import NestedRelease

LOOKED_AT = 500_000_000
"""Records times sets of keys that minimal sample uniques are looked for in where nobody asks for them by name."""
_WANTED = {
    "manifest": Note("the manifest ([[--manifest FILE]])"),
    "class": Note("a field that is the class ([[--class FIELD]])"),
    "earlier": Note("an earlier release ([[--against]])"),
    "keys": Note("a quasi-identifier ([[--quasi-identifier FIELD]], or [[--role FIELD=quasi-identifier]])"),
}


@dataclass(frozen=True, slots=True)
class AssessRequest:
    """What `assess` is asked.

    Attributes
    ----------
    masked, original : Path
    config : Config
        The settings. Roles, kinds and missing codes count where there is no manifest.
    manifest : Path or None
        Tells fields, weight, order and left-out records.
    measures : sequence of str or None
        Names of figures; all that can be had when None.
    class_field : str or None
        For figures of classes.
    stated : Stated
        What is said of the order of records, where there is no manifest.
    tables : GivenTables
        As for `check`.
    against : sequence of Against
        Earlier releases of the same respondents, for `differencing`.
    html : Path or None
        Where to write a page with pictures.
    """

    masked: Path
    original: Path
    _: KW_ONLY
    config: Config = field(default_factory=Config)
    manifest: Path | None = None
    measures: Sequence[str] | None = None
    class_field: str | None = None
    stated: Stated = NOTHING_STATED
    tables: GivenTables = NO_TABLES
    against: Sequence[Against] = ()
    html: Path | None = None


def run_assess(request: AssessRequest, progress: Progress = no_progress) -> AssessResult:
    """Compare a masked file with its original.

    Raises
    ------
    UsageError
        A figure is unknown or lacks what it needs, the manifest is none or of other files, or the files do not belong
        together; or nothing says which record belongs to which, and a figure needs it.
    DocumentError
        A file cannot be read, is not flat or has no records.
    """
    masked, original, config, tables = request.masked, request.original, request.config, request.tables
    measures, against = request.measures, request.against
    described = (
        None
        if request.manifest is None
        else described_release_of(request.manifest, masked, original, config.levels, tables.original)
    )
    reading = config.reading if described is None else config.reading.or_as(described.reading)
    if against and described is None:
        given = Setting("--manifest", ("FILE",))
        raise UsageError.of("needs-setting", masked, name=Setting("--against"), needed="all manifests", setting=given)
    names, lacking = _chosen(measures, described, request.class_field, earlier=bool(against))
    removed = () if described is None else described.removed
    released = open_source(
        masked,
        reading=of_release(reading, masked, removed, tables.masked),
        progress=progress,
        whole=True,
        memory=config.memory,
    )
    reading = with_other_tables(reading, tables.original, "--original-table")
    if described is not None:
        require_described(
            *as_wide_records(released, open_source(original, reading=reading), described.nested), described
        )
    progress(f"surveying {masked.name}", 0)
    named = replace(reading, record=released.layout.record_tag)
    beside = open_source(original, reading=named, progress=progress, whole=True, memory=config.memory)
    released, beside = as_wide_records(released, beside, NestedRelease() if described is None else described.nested)
    files, notes = compare(
        released,
        beside,
        described=described,
        config=config,
        known={} if described is None else {"medoid_share": described.medoid_share},
        class_field=request.class_field,
        stated=request.stated,
        progress=progress,
    )
    if measures is None and files.keys is not None and files.keys.looked_at > LOOKED_AT:
        names = [name for name in names if name != "suda_share"]
        lacking.append(f"takes long with {len(files.keys.names)} keys: suda_share; ask for it by name")
    if measures is not None:
        require_keys(names, files.keys)
    elif files.keys is None:
        lacking += _without_keys(names)
        names = [name for name in names if "keys" not in figure_of(name).needs]
    if wanting := unpaired(names, files):
        raise UsageError.of("records-not-paired", masked, figures=wanting)
    told: tuple[Sentence, ...] = ()
    if against and described is not None:
        files, told = with_earlier(files, described, beside, against, config, progress)
    with arrays_of_run(len(files), len(files.original), config.memory):
        figures = measure(names, files, told_as(progress, "measuring risk and utility", "figures"))
        nested = nested_columns(beside, files, described, config)
        levels = figures_by_level(nested, files.everything, files.masked, config.workers, read=files.read)
    called = level_names(released)
    result = AssessResult(
        masked=shown(masked),
        original=shown(original),
        records=len(files),
        numeric=called.names(files.numeric),
        categorical=called.names(files.categorical),
        figures=tuple(FigureResult.of(one, called) for one in figures),
        keys=None if files.keys is None else KeyRisk.of(files.keys, called),
        against=tuple(shown(one.masked) for one in against),
        treatments=() if described is None else treatment_results(described.treatments, outcome=False),
        fates=() if described is None else described.fates,
        levels=levels,
        limits=config.limits if described is None else strictest(config.limits, described.limits),
        key_k=None if described is None else described.key_k,
        concerns=() if described is None else described.telling_apart,
        notes=tuple(
            map(
                called.sentence,
                (
                    *file_notes(released, beside, missing=config.missing if described is None else described.missing),
                    *notes,
                    *told,
                    *_sampled(names, len(files)),
                    *lacking,
                    *_promised(described, called),
                ),
            )
        ),
    )
    if request.html is not None:
        k = config.k if described is None else described.k
        drawn = () if described is None else described.declared.drawn
        told_steps = told_as(progress, "summarising the two files", "steps")
        own = level_files(nested, files, whole=bool(files.blocks))
        summary = side_by_side_of_levels(files, own, k, called, told_steps, drawn)
        write_pages({request.html: assess_page(result, files=summary)})
    return result


def _promised(described: DescribedRelease | None, called: LevelNames) -> list[str]:
    """Say where identical groups are not what the method promises."""
    if described is None or not described.declared.drawn:
        return []
    drawn = ", ".join(called.names(described.declared.drawn))
    return [
        f"{described.declared.method} draws {drawn} record by record and promises no "
        "identical groups of these: block_k, whole_record_k and dominance of drawn fields say nothing; linkage says "
        "how many records are nearest to their own original"
    ]


def _without_keys(names: Sequence[str]) -> list[Sentence]:
    """Say which figures are not there, since nobody says what others know."""
    of_keys = [name for name in names if "keys" in figure_of(name).needs]
    return [_lacking("keys", of_keys)] if of_keys else []


def _lacking(need: str, names: Sequence[str]) -> Note:
    return Note("needs {wanted}: {names}", wanted=_WANTED[need], names=tuple(names))


def _sampled(names: Sequence[str], records: int) -> list[str]:
    """Say which figures are of a sample of the respondents."""
    sizes = {name: SAMPLED[name] for name in names if SAMPLED.get(name, records) < records}
    return [
        f"of {size:,} respondents, drawn at random: {', '.join(name for name, own in sizes.items() if own == size)}"
        for size in dict.fromkeys(sizes.values())
    ]


def _chosen(
    measures: Sequence[str] | None,
    described: DescribedRelease | None,
    class_field: str | None,
    *,
    earlier: bool,
) -> tuple[list[str], list[Sentence]]:
    """Return the figures to compute, and which ones cannot be had for want of what."""
    # of keys nothing is known before the files are read
    here = {"manifest": described is not None, "class": class_field is not None, "earlier": earlier, "keys": True}
    if measures is None:
        lacking = {figure.name: wants for figure in FIGURES if (wants := _wants(figure, here))}
        notes: list[Sentence] = [
            Note(
                "needs {wanted:and}: {names}",
                wanted=[_WANTED[need] for need in wants],
                names=[name for name, own in lacking.items() if own == wants],
            )
            for wants in dict.fromkeys(lacking.values())
        ]
        return [name for name in NAMES if name not in lacking], notes
    for name in measures:
        if name not in NAMES:
            raise UsageError.of("unknown-name", kind="measure", name=name, known=Known(name, NAMES))
        if wants := _wants(figure_of(name), here):
            raise UsageError.of("needs-setting", name=name, setting=[_WANTED[need] for need in wants], needed="more")
    return [name for name in NAMES if name in measures], []


def _wants(figure: Figure, here: Mapping[str, bool]) -> tuple[str, ...]:
    """Return what a figure needs and nobody gave."""
    return tuple(need for need in figure.needs if not here[need])

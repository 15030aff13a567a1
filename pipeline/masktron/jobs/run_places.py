"""What a run of `mask` is asked, and what it reads and writes: refused before anything is read where it cannot be."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

from masktron.config import Config
from masktron.files import refuse_outputs
from masktron.jobs.in_units import going_on
from masktron.jobs.limits import refuse_class_limits
from masktron.jobs.released import refuse_foreign_manifest
from masktron.jobs.released_tables import ReleasedTables, tables_of_release
from masktron.jobs.translated_rules import place_of_rules
from masktron.methods.chosen import chosen
from masktron.sources.opening import format_of
from masktron.sources.output_names import manifest_beside, refuse_other_names, refuse_query


@dataclass(frozen=True, slots=True)
class MaskRequest:
    """What `mask` is asked.

    Attributes
    ----------
    data, rules, out : Path
    config : Config
        The settings.
    manifest : Path or None
        ``released.manifest.json`` beside ``released.xml`` when None.
    rules_out : Path or None
        Where the rules go as a recoding leaves them; ``released.rules.sch`` beside ``released.xml`` when None. It is
        written only where some have changed.
    replaces : bool
        The output may take the place of a table of a database; a file is always replaced.
    again : str or None
        Why records are released again that the register of releases has already.
    resume : bool
        Go on from the units that a run which was ended has finished.
    """

    data: Path
    rules: Path
    out: Path
    _: KW_ONLY
    config: Config = field(default_factory=Config)
    manifest: Path | None = None
    rules_out: Path | None = None
    replaces: bool = False
    again: str | None = None
    resume: bool = False


@dataclass(frozen=True, slots=True)
class RunPlaces:
    """The places of a run.

    Attributes
    ----------
    out, manifest : Path
    rules : Path or None
        Where the rules go as a recoding leaves them; None where nothing is recoded.
    tables : ReleasedTables
        Where the tables of nested records go, `out` among them.
    replaces : bool
        The output may take the place of a table of a database; a file is always replaced.
    """

    out: Path
    manifest: Path
    rules: Path | None
    tables: ReleasedTables
    replaces: bool


def places_of(request: MaskRequest) -> RunPlaces:
    """Return the places of a run, whose settings fit them.

    Raises
    ------
    UsageError, DocumentError
        One of them cannot be used, or a setting cannot be.
    """
    data, out, config = request.data, request.out, request.config
    chosen(config.method, config.params, config.k)
    refuse_class_limits(config.limits)
    refuse_query(data, config.reading)
    refuse_other_names(out, format_of(data, config.reading), data)
    manifest = request.manifest or manifest_beside(out)
    tables = tables_of_release(data, out, config.levels)
    inputs = {"the original": data, "the rulebook": request.rules, **config.named_files, **tables.inputs}
    outputs = {"the output": out, "the manifest": manifest, **tables.outputs}
    refuse_outputs(outputs, inputs)
    rules = place_of_rules(config, request.rules_out, outputs, inputs)
    refuse_foreign_manifest(manifest, out)
    tables.require_new(data, replaces=request.replaces)
    if request.resume:
        going_on(config, out)
    return RunPlaces(out, manifest, rules, tables, request.replaces)

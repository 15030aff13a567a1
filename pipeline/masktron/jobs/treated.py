"""Treatments: what is done to fields that are written as they are, before the numbers are masked.

The released records with their treated fields take the place of the original, and a rulebook that says what the rules
leave to be asked that of its own; from there on, they are masked as any original is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from masktron.addresses import AddressPath
from masktron.classify import Edit
from masktron.config import Config
from masktron.constraints import DomainEdit, InDomain
from masktron.errors import InfeasibleError, MasktronError, RefusalFacts, UsageError, ViolationError
from masktron.executor.contract import Executor
from masktron.files import is_rulebook, read_text, refuse_outputs
from masktron.jobs.job import Job, classified
from masktron.jobs.originals import InvalidOriginalError
from masktron.jobs.post_randomised import draw_categories
from masktron.jobs.prepared import Opened, Treated, judged_original
from masktron.jobs.randomness import secret_for_treatments
from masktron.jobs.recoded import (
    checked_recoding,
    hierarchy_files,
    missing_codes_of,
    missing_texts_of,
    recoding_of,
    variable_of,
)
from masktron.jobs.reweighted import require_kept, require_spreadable, spread_weights
from masktron.jobs.suppressed import suppressed_cells
from masktron.jobs.swapped import swap_regions
from masktron.jobs.treating import Treating
from masktron.jobs.wide_job import refuse_treatments
from masktron.jobs.written_classes import written_classes
from masktron.perturbation_settings import together
from masktron.problems.problem import Rule, Setting, fields, rules
from masktron.progress import Progress, told_as
from masktron.rulebook.analysis import readers
from masktron.rulebook.schema import Rulebook
from masktron.scratch import folder_on_disk, private_folder
from masktron.setting_values import ALL_FIELDS
from masktron.sources.dataset import Dataset
from masktron.sources.frame_path import FramePath
from masktron.sources.output_names import stem_of
from masktron.sources.source import Source
from masktron.translation import Translation, translated
from masktron.write.atomic import atomic_path
from masktron.write.treatments import (
    Postrandomised,
    Recoded,
    Reweighted,
    Suppressed,
    Swapped,
    Treatment,
    names_in,
    plain_settings,
    recodings_in,
    reweighted_in,
)

_RULES = "the translated rulebook"
_FROM = " (from "
_TITLE = "Rules as masktron has translated them, for recoded"
"""How the title of a translated rulebook begins, by which a later run knows it."""


def recode_fields(state: Treating) -> Treating:
    """Recode fields, and translate the rules.

    Raises
    ------
    UsageError, DocumentError, InfeasibleError
        A field cannot be recoded so; or a rule is lost that nobody let go.
    """
    original = state.original
    config, records, keep = original.config, original.records, original.originals.keep
    if not config.recode:
        return state
    job = original.job
    done, columns = [], {}
    for name, how in config.recode.items():
        variable, missing = variable_of(job.source, name), missing_codes_of(name, config)
        meant = recoding_of(name, records, keep, config, config.weight, variable)
        order = () if variable is None else variable.order
        written = written_classes(meant, job.source, missing, order)
        columns[name] = checked_recoding(written.recoding, records, keep, missing)
        kept = missing_texts_of(columns[name].taken(np.flatnonzero(keep)))
        own = next((one for one in job.source.own_variables if one.name == name), None)
        if (form := written.form(own, missing, kept)) is not None:
            columns[name] = replace(columns[name], variable=job.source.recoded(name, form))
        done.append(Recoded(written.recoding, how, written.names))
    recodings = {one.recoding.field: one.recoding for one in done}
    translation = translated(
        job.rulebook,
        job.edits,
        recodings,
        job.source.layout,
        let_go=state.let_go,
        masked=original.masked,
        removed=original.removed,
    )
    _refuse_lost(original, translation)
    changed = any(rule.changed for rule in translation.rules)
    return replace(
        state.after(columns, *done),
        rules=translation.rules,
        rulebook=translation.schematron(title_of(config.recode), names_in(done)) if changed else b"",
    )


PERTURBATIONS: tuple[Callable[[Treating], Treating], ...] = (draw_categories, swap_regions)
"""Treatments that draw, in the order in which they are done: after recoding, under the rules as they are then asked.

Keys are suppressed after that, in the records that they leave.
"""


@contextmanager
def treated(
    original: Opened, rules_out: Path | None, progress: Progress, executor: Executor | None = None
) -> Iterator[Opened]:
    """Treat the fields of an original, and open what they come to in its place, as long as the context lasts.

    Parameters
    ----------
    original : Opened
    rules_out : Path or None
        What the translated rulebook is going to be called, as `place_of_rules` says.
    progress : callable
    executor : Executor, optional
        Who judges slices of a treated file in XML.

    Raises
    ------
    UsageError, DocumentError, InfeasibleError
        A field cannot be treated so; or a rule is lost that nobody let go.
    ViolationError
        A treated record breaks a rule.
    """
    config = original.given
    with ExitStack() as stack:
        opened = original
        _require_known(original)
        if config.treats_keys:
            refuse_treatments(["treatments"], original.job.source)
            _require_possible(original)
        if config.reweight:
            require_spreadable(original)
        spread = bool(config.reweight) and not original.originals.keep.all()
        if config.recode or config.pram or config.swap or spread:
            opened = stack.enter_context(_changed(original, rules_out, progress, executor))
        if config.key_k is not None:
            opened = stack.enter_context(_suppressed(opened, progress, executor))
        yield opened


@contextmanager
def _suppressed(opened: Opened, progress: Progress, executor: Executor | None) -> Iterator[Opened]:
    """Suppress cells of keys in what earlier treatments leave, and open it."""
    before = opened.treated or Treated(opened, opened.origin)
    path = before.original.job.source.path
    with private_folder(folder_on_disk()[0]) as folder, _named({str(opened.job.source.path): str(path)}):
        secret = before.secret or secret_for_treatments(opened.config)
        cells, treatment = suppressed_cells(opened, secret, told_as(progress, "suppressing keys", "sets of keys"))
        require_kept(reweighted_in(before.treatments), treatment, str(path))
        source = _treated(opened, opened.records.with_columns(cells), cells, folder, progress)
        origin = before.origin.after(plain_settings([treatment]), cells)
        done = replace(before, origin=origin, treatments=(*before.treatments, treatment), secret=secret)
        with _named({str(source.path): str(path)}):
            yield _opened(opened, source, opened.job.rulebook, done, progress, executor)


@contextmanager
def _changed(
    original: Opened, rules_out: Path | None, progress: Progress, executor: Executor | None
) -> Iterator[Opened]:
    """Recode and draw, and open what comes of it, with rules to match."""
    progress("treating fields", 0)
    with private_folder(folder_on_disk()[0]) as folder:
        state, named = spread_weights(recode_fields(Treating.of(original))), {}
        if state.rulebook and rules_out is not None:
            (folder / "rules").mkdir(mode=0o700)
            path = folder / "rules" / rules_out.name
            path.write_bytes(state.rulebook)
            named[str(path)] = str(rules_out)
        with _named(named):
            if named:
                state = state.asked_by(path)
            for step in PERTURBATIONS:
                state = step(state)
        source = _treated(original, state.records, state.fields, folder, progress)
        done = Treated(original, state.origin, state.treatments, state.rules, state.rulebook, state.secret)
        with _named({**named, str(source.path): str(original.job.source.path)}):
            yield _opened(original, source, state.job.rulebook, done, progress, executor)


_DRAWN: Mapping[type[Treatment], str] = {
    Suppressed: "with keys suppressed, rules over several records fail",
    Postrandomised: "with values drawn anew, rules over several records fail",
    Swapped: "with records swapped, rules over several records fail",
    Reweighted: "with the weights of records left out spread over others, rules fail",
}
"""What may break rules, of which treatments ask none, or none across records."""


def _fields_of(treatment: Treatment) -> tuple[str, ...]:
    match treatment:
        case Suppressed():
            return tuple(treatment.cells)
        case Postrandomised() | Swapped():
            return treatment.fields
        case Reweighted():
            return (treatment.field,)
    return ()


def _opened(
    original: Opened, source: Source, rulebook: Rulebook, done: Treated, progress: Progress, executor: Executor | None
) -> Opened:
    """Open treated records and their rules as an original is opened."""
    given = original.given
    config = _with_missing(_without_rules(given, original, done), original, source, done)
    try:
        job = Job(source, rulebook, classified(rulebook, source))
        opened = judged_original(job, config, progress, executor)
    except InvalidOriginalError as error:
        if (drawn := _DRAWN.get(type(done.treatments[-1]))) is not None:
            (broken,) = error.facts
            raise InfeasibleError.of(
                "rules-not-kept",
                original.job.source.path,
                fields=fields(_fields_of(done.treatments[-1])),
                rules=tuple(map(Rule, broken.rules)),
                reason=drawn,
                facts=[RefusalFacts("keys")],
            ) from error
        raise ViolationError.of("self-check-failed", original.job.source.path, detail=error.problem) from error
    config = replace(
        opened.config,
        allow=given.allow,
        allow_unfired=given.allow_unfired,
        invalid=given.invalid,
        phase=given.phase,
    )
    return replace(opened, config=config, given=given, treated=done)


def _without_rules(given: Config, original: Opened, done: Treated) -> Config:
    """Return settings that name no rule that is not asked any more; no record is left out any more."""
    if not done.rulebook:
        return replace(given, invalid="stop")
    asked = {rule.id for rule in done.rules if rule.test}
    return replace(
        given,
        invalid="stop",
        phase=None,  # the translated rulebook has the rules of the phase alone
        allow=tuple(name for name in given.allow if name in asked),
        allow_unfired=tuple(name for name in given.allow_unfired if name in asked or name == ALL_FIELDS),
    )


def _with_missing(config: Config, original: Opened, source: Source, done: Treated) -> Config:
    """Return settings that declare codes for missing values that the treated records do not declare any more.

    A column of numbers with codes beside them may have become one of texts, in which a format has no such codes.
    """
    found = dict(config.missing)
    for name in recodings_in(done.treatments):
        variable, known = variable_of(source, name), missing_codes_of(name, config)
        declared = known if variable is None else known.union(variable.missing)
        there = missing_codes_of(name, original.config).intersection(missing_texts_of(original.records.columns[name]))
        if there - declared:
            found[name] = known | there
    return replace(config, missing=found)


def _require_known(original: Opened) -> None:
    """Refuse to let rules be lost that nobody knows, whether or not something is recoded."""
    job = original.job if original.nested is None else original.nested.nested.job
    for name in original.config.allow_lost:
        if name != ALL_FIELDS:
            job.index_of(name)


def _require_possible(original: Opened) -> None:
    """Refuse what cannot be treated: rules that read the original itself."""
    rulebook, config = original.job.rulebook, original.config
    drawn = (name for several in config.pram for name in together(several))
    names = dict.fromkeys([*config.recode, *drawn, *config.swap.get("regions", ())])
    beside = {one.name for one in rulebook.beside}
    own = [name for name in rulebook.documents if name not in beside]
    released = set(original.originals.released)
    for index, read in readers(rulebook).items():
        if (
            read.intersection(own)
            and index not in released
            and not _looks_up_masked(original, original.job.edits[index])
        ):
            raise InfeasibleError.of(
                "rules-not-kept",
                str(rulebook.checks[index].origin),
                fields=fields(names) or "FIELD",
                rules=rules([rulebook.checks[index].id]),
                reason="it reads the original, in which they are as they were",
                facts=[RefusalFacts("keys", rules=(rulebook.checks[index].id,))],
            )


def _looks_up_masked(original: Opened, edit: Edit) -> bool:
    """Tell whether a rule looks values of masked fields up in the original, where no treatment changes them."""
    if not isinstance(edit.constraint, DomainEdit) or not original.masked.issuperset(edit.variables):
        return False
    looked_up = (atom for case in edit.constraint.form for atom in case if isinstance(atom, InDomain))
    own = all(one.path.rpartition("/")[2].rpartition(":")[2] == one.variable for one in looked_up)
    return own and bool(original.originals.keep.all())  # else the treated records have fewer values


def _refuse_lost(original: Opened, translation: Translation) -> None:
    """Refuse to lose a rule that has to hold, unless it may be lost."""
    released, allowed = set(original.originals.released), set(original.config.allow_lost)
    lost = [
        rule
        for rule in translation.lost
        if rule.index not in released
        and rule.id not in allowed
        and ALL_FIELDS not in allowed
        and not original.job.rulebook.checks[rule.index].soft
    ]
    if not lost:
        return
    first = lost[0]
    raise InfeasibleError.of(
        "rule-lost",
        str(original.job.rulebook.checks[first.index].origin),
        fields=fields(first.fields),
        rules=tuple(Rule(rule.id) for rule in lost),
        reason=first.reason,
        facts=[RefusalFacts("keys", conditions=tuple(first.fields), rules=(first.id,))],
    )


def title_of(fields: Iterable[str]) -> str:
    """Return the title of a rulebook that is translated for recoded fields."""
    return f"{_TITLE} {', '.join(fields)}"


def _treated(original: Opened, records: Dataset, names: Collection[str], folder: Path, progress: Progress) -> Source:
    """Return the released records with their treated fields."""
    told = told_as(progress, "treating fields")
    return original.job.source.treated(records, names, original.originals.keep, folder, told)


@contextmanager
def _named(names: Mapping[str, str]) -> Iterator[None]:
    """Let errors name files as the user does, and not temporary ones."""

    def own(source: str) -> str:
        return next((of_file(source, *pair) for pair in names.items() if source.startswith(pair[0])), source)

    try:
        yield
    except MasktronError as error:
        error.problem = error.problem.renamed(source=own)
        raise


def of_file(origin: str, temporary: str, own: str) -> str:
    """Return the origin of a rule, ``a.sch:7`` or ``a.sch:7 (from b.sch:3)``, with another name of its file."""
    parts = origin.split(_FROM)
    return _FROM.join(own + one.removeprefix(temporary) if one.startswith(temporary) else one for one in parts)


def place_of_rules(
    config: Config, named: Path | None, outputs: Mapping[str, Path], inputs: Mapping[str, Path]
) -> Path | None:
    """Return where translated rules go; None where nothing is recoded.

    Parameters
    ----------
    config : Config
    named : Path or None
        As somebody said.
    outputs, inputs : mapping of str to Path
        Other files of the run, by the names that messages use.

    Raises
    ------
    UsageError
        A file is named and nothing is recoded; or what is there must stay.
    """
    if not config.recode:
        if named is None:
            return None
        raise UsageError.of(
            "needs-setting",
            named,
            name=Setting("--rules-out"),
            needed="something that is recoded",
            setting=(Setting("--recode", ("AGE=width:5",)),),
        )
    files = files_of_recoding(config, named, outputs["the output"])
    out = files.pop(_RULES)
    refuse_outputs({**outputs, _RULES: out}, {**inputs, **files}, renewed=[_RULES] if _is_former(out) else ())
    return out


def files_of_recoding(config: Config, named: Path | None, out: Path) -> dict[str, Path]:
    """Return what recoding reads and writes beside a release, by the names that messages have for them.

    Parameters
    ----------
    config : Config
    named : Path or None
        Where translated rules go, as somebody said.
    out : Path
        The output.
    """
    if not config.recode:
        return {}
    return {_RULES: named or rules_beside(out), **hierarchy_files(config)}


def _is_former(path: Path) -> bool:
    """Tell whether a file is a rulebook that a run has translated."""
    return is_rulebook(path) and _TITLE in read_text(path, "rulebook")


def rules_beside(out: Path) -> Path:
    """Return where translated rules go unless somebody says otherwise: ``x.rules.sch`` for ``x.csv``."""
    if isinstance(out, AddressPath):
        return Path(f"{out.name}.rules.sch")
    return out.with_name(f"{stem_of(out)}.rules.sch")


@contextmanager
def published_rules(done: Treated | None, rules_out: Path | None) -> Iterator[None]:
    """Let translated rules appear when the context ends, where there are any; by an error, they do not.

    Raises
    ------
    DocumentError
        The file cannot be written.
    """
    if done is None or not done.rulebook or rules_out is None:
        yield
        return
    with atomic_path(rules_out, released=True) as place:
        place.write_bytes(done.rulebook)
        yield


def stale_rules(done: Treated | None, out: Path, rules_out: Path | None) -> tuple[str, ...]:
    """Say that translated rules of an earlier release lie where those of this one would, which has none."""
    place = rules_out or rules_beside(out)
    written = done is not None and done.rulebook
    if written or isinstance(out, AddressPath | FramePath) or not place.is_file() or not _is_former(place):
        return ()
    return (
        f"{place.name} is the translated rulebook of an earlier release; this one changes no rule, so that the rules "
        "of the original hold: keep that file with its own release",
    )

"""Remedies tried on the records in memory, with the bench of `tune`: nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from masktron.codes import fields_of, kinds_by_file
from masktron.config import Config, Role, config_from
from masktron.counts import counted
from masktron.errors import DocumentError, InfeasibleError, MasktronError
from masktron.figures import NAMES, figure_of
from masktron.hierarchies import read_hierarchy
from masktron.jobs.described import completed
from masktron.jobs.in_units import sized
from masktron.jobs.opening import open_original
from masktron.jobs.originals import InvalidOriginalError
from masktron.jobs.remedies.refused_run import RefusedRun
from masktron.jobs.remedies.remedy_cost import cost_of
from masktron.jobs.remedies.suited import remedies_for
from masktron.jobs.run import Run
from masktron.jobs.tune.bench import Attempt, Bench
from masktron.jobs.tune.choosing import near_unmasked
from masktron.jobs.tune.recipes import recipe_of
from masktron.jobs.tune.schedule import BudgetOver, Deadline
from masktron.kernels.cores import usable_cores
from masktron.progress import Progress
from masktron.recoding_settings import FromHierarchy, how_of
from masktron.results import RefusalResult, RemedyResult, shown
from masktron.results.refusal import RemedyState
from masktron.roles import require_weights

MOST_TRIED = 16
"""Remedies that are tried; others are named."""
_SHOWN = ("information_loss", "linkage", "unchanged")
_OF_KEYS = ("key_k", "key_uniques")
_OF_FIELDS = frozenset({"roles", "nominal", "ordinal", "numeric", "recode"})
_OF_KEYS_TREATED = frozenset({"recode", "key_k"})
_MEASURED = (
    "figures are those of a trial in memory, with draws of its own; mask writes the file, reads it back and has "
    "other engines judge it, which may still refuse it"
)
_ALL_LOST = 100.0
"""Per cent: the information loss of one value for all records."""
_UNITS = "{n} are masked in units here: nothing was tried, and what may help is named"


class RemedyTrials:
    """A refused run, and what its remedies do.

    Parameters
    ----------
    data, rules, out : Path
    config : Config
        As it was stated.
    deadline : Deadline
    progress : callable
    """

    def __init__(
        self, data: Path, rules: Path, out: Path, config: Config, deadline: Deadline, progress: Progress
    ) -> None:
        self._data, self._rules, self._config, self._deadline = data, rules, config, deadline
        self._progress = progress
        self._original = self._opened(config)
        self._units = False
        if self._original is not None:
            size = sized(self._original, out, resume=False).config.unit_records
            self._units = bool(size) and len(self._original.kept) > (size or 0)

    @property
    def _nested(self) -> bool:
        """Whether records are units with all their members, whose fields settings do not name."""
        return self._original is not None and self._original.back.nested

    def result(self, error: MasktronError) -> RefusalResult:
        """Try what suits an error, within the time.

        Raises
        ------
        BudgetOver
            Not even the original could be read within it.
        """
        found = remedies_for(error.facts, self._situation())
        if self._nested:  # of which keys are not treated
            found = tuple(one for one in found if _OF_KEYS_TREATED.isdisjoint(one.settings))
        n = 0 if self._original is None else len(self._original.kept)
        tried = found if self._units else tuple(self._tried(found))
        return RefusalResult(
            data=shown(self._data),
            rules=shown(self._rules),
            problem=error.problem,
            exit_code=int(error.exit_code),
            facts=error.facts,
            records=n,
            remedies=tuple(sorted(tried, key=_place)),
            notes=(_UNITS.format(n=counted(n, "record")),) if self._units else (_MEASURED,),
        )

    def _situation(self) -> RefusedRun:
        original = self._original
        if original is None:
            return RefusedRun(self._config)
        return RefusedRun(
            self._config,
            {fact.name: fact for fact in original.fields},
            {edit.check.id: frozenset(edit.variables) for edit in original.job.edits},
            original.kept,
            dict(_heights(self._config)),
        )

    def _tried(self, found: Sequence[RemedyResult]) -> Iterator[RemedyResult]:
        for at, remedy in enumerate(found):
            if at >= MOST_TRIED:
                yield replace(remedy, reason=f"not tried: the first {MOST_TRIED} were")
                continue
            self._progress(f"trying remedy {at + 1} of {min(len(found), MOST_TRIED)}: {remedy.pasted}", 0)
            try:
                yield self._outcome(remedy)
            except BudgetOver:
                yield replace(remedy, reason="not tried to its end: the time for suggestions was over")

    def _outcome(self, remedy: RemedyResult) -> RemedyResult:
        """Mask as a remedy says, and measure."""
        if self._deadline.left < 0:
            raise BudgetOver
        try:
            opened = self._changed(remedy)
        except MasktronError as error:
            return replace(remedy, state="refused", reason=error.what)
        config = opened.config
        recipe = recipe_of(config)
        try:
            with Bench(opened, self._names(opened), None, usable_cores()) as bench:
                made = bench.outcome(Attempt(0, recipe, 0, whole=True), self._deadline.watching(_quiet))
        except DocumentError as error:  # a value has no class in a recoding
            return replace(remedy, state="refused", reason=error.what)
        if made.refused:
            state: RemedyState = "ended" if made.ended else "refused"
            return replace(remedy, state=state, reason=made.refused, seconds=made.seconds)
        figures = {name: value for name, (value, _) in made.figures.items()}
        over = [
            f"{name} is {figures[name]:g}, the limit {bound:g}"
            for name, bound in config.limits.items()
            if not figure_of(name).meets(figures[name], bound)
        ]
        return replace(
            remedy,
            state="refused" if over else "works",
            reason="; ".join(over),
            figures=figures,
            records=len(opened.kept),
            masked=len(_fields_masked(opened)),
            seconds=made.seconds,
            levels=made.levels,
            concerns=made.concerns,
        )

    def _changed(self, remedy: RemedyResult) -> Run:
        """Return the original as it is with a remedy: read again where what is kept of it changes."""
        stated = config_from(remedy.settings, base=self._config)
        original = self._original
        if original is None or self._nested or "invalid" in remedy.settings:
            return open_original(self._data, self._rules, stated, self._deadline.watching(_quiet))
        config, _ = completed(stated, original.job.source)
        changed = replace(original, config=config, given=stated)
        if not _OF_FIELDS.isdisjoint(remedy.settings):
            fields, likely = fields_of(
                original.records,
                original.job.edits,
                config,
                weights_later=True,
                by_file=kinds_by_file(config, stated),
            )
            require_weights(original.records, fields, original.originals.keep)
            changed = replace(changed, fields=tuple(fields), likely=likely)
        if "allow" in remedy.settings:
            allowed = {original.job.index_of(rule) for rule in config.allow}
            released = tuple(sorted(allowed | {*original.originals.released}))
            changed = replace(changed, originals=replace(original.originals, released=released))
        return changed

    def _opened(self, config: Config) -> Run | None:
        """Read the original; None where it is what was refused: it breaks a rule, or has too few units of a kind."""
        try:
            return open_original(self._data, self._rules, config, self._deadline.watching(self._progress))
        except (InvalidOriginalError, InfeasibleError):
            return None

    def _names(self, opened: Run) -> tuple[str, ...]:
        """Name the figures that show what a remedy costs, and those with limits."""
        keys = opened.keys
        wanted = {*_SHOWN, *opened.config.limits, *(_OF_KEYS if keys.names else ())}
        if recipe_of(opened.config).treats:
            wanted.add("key_loss")
        return tuple(name for name in NAMES if name in wanted)


def _fields_masked(opened: Run) -> tuple[str, ...]:
    """Return the masked fields; those of members once each, whatever their position."""
    names = (fact.name for fact in opened.fields if fact.role is Role.CONFIDENTIAL)
    return opened.names.names(names)


def _heights(config: Config) -> Iterator[tuple[str, int]]:
    """Yield the fields that a hierarchy recodes, with its highest level that leaves more than one value."""
    for name, text in config.recode.items():
        how = how_of(name, text)
        if isinstance(how, FromHierarchy):
            levels = read_hierarchy(how.path, name).levels
            yield name, max(at for at, level in enumerate(levels) if not at or len({*level.values()}) > 1)


def _place(one: RemedyResult) -> tuple[bool, bool, int, int]:
    """Order remedies: those that work first; of these, what loses all or leaves the file as it was comes last."""
    extreme = one.figures.get("information_loss", 0.0) >= _ALL_LOST or bool(near_unmasked(one.figures))
    return one.state != "works", extreme, cost_of(one), len(one.concerns)


def _quiet(stage: str, done: int) -> None:
    """Say nothing of the stages of a trial: the remedy that is tried was said."""

"""What `check` has checked, what is wrong and what could not be checked: the rules, and a file that stands alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from masktron.classify import Edit
from masktron.config import Config
from masktron.counts import counted
from masktron.errors import DocumentError, UsageError
from masktron.evaluation.findings import Evaluation
from masktron.jobs.column_memory import read_columns
from masktron.jobs.documents import ORIGINAL_NAMES, documents_that_are, without_document
from masktron.jobs.lowering.released_units import ReleasedUnits
from masktron.jobs.pairing import Stated
from masktron.jobs.revalidate import Asking
from masktron.jobs.rules_again import RulesAgain
from masktron.jobs.spellings import remedy, spelled
from masktron.jobs.untested import told, with_untested
from masktron.problems.level_names import AS_THEY_ARE
from masktron.problems.problem import Note, Rule
from masktron.progress import Progress, Told
from masktron.results import KeyRisk, MaskedLevel, RuleResult, shown
from masktron.sources.dataset import Dataset
from masktron.sources.source import Source
from masktron.verify.findings import Findings
from masktron.write.manifest import DescribedRelease
from masktron.write.treatments import Swapped, perturbed_in

if TYPE_CHECKING:
    from masktron.measures.figures import Measured


class Audit(Findings):
    """Collects what was checked, what is wrong and what could not be checked."""

    def __init__(self, again: RulesAgain, described: DescribedRelease | None, original: Source | None) -> None:
        super().__init__()
        self.again = again
        self.job = again.job
        self.described = described
        self.original = original
        self.names = AS_THEY_ARE
        self.left_out: set[int] = set()
        self.allowed: frozenset[str] = frozenset(described.allowed) if described else frozenset()
        self.untested: frozenset[str] = frozenset(described.untested) if described else frozenset()
        self.idle: frozenset[int] = frozenset()
        self.as_masked = False
        self.other_rulebook = False
        self.let_go: list[str] = []
        self.levels: tuple[MaskedLevel, ...] = ()
        self.keys: KeyRisk | None = None
        self.rule_problems = self.limit_problems = 0

    def records(self, told: Told, memory: int | None) -> Dataset | None:
        """Read the released records, when rules have been judged; None where they are no table.

        Those of nested files are units with all their members, as `mask` has masked them, and so are all that is
        compared with them from here on.
        """
        units = ReleasedUnits.of(self.job, self.original, self.described, self.left_out)
        self.job, self.original, self.names, self.left_out = units.job, units.original, units.names, units.left_out
        source = self.job.source
        return read_columns(source, memory=memory, told=told) if source.shape.flat else None

    # the rules

    def rulebook(self) -> None:
        """Where the rulebook is not the one of the manifest, what was let go by rule id does not count."""
        if self.described and not self.again.as_described and not self.job.rulebook.checks:
            self.problems.append(Note("the file was masked under rules, and none were given: [[--rules FILE]]"))
        elif self.described and not self.again.as_described:
            self.allowed = self.untested = frozenset()
            self.other_rulebook = True
            self.not_checked.append(
                "rulebook of the manifest: the one given is another (its SHA-256 differs), and all its rules count"
            )
        self.problems += self.again.problems
        self.not_checked += self.again.not_checked
        self.notes += self.again.notes

    def documents(self) -> None:
        """Compare the documents of the rules with those that the file was masked with."""
        if itself := documents_that_are(self.job.source.path, self.job.rulebook):
            self.problems.append(f"{itself}: rules that compare the file with it hold whatever the values are")
        told = {} if self.described is None else self.described.documents
        for one in self.job.rulebook.beside:
            if one.path is not None and told.get(one.name, one.sha256) != one.sha256:
                self.problems.append(
                    f"the document {one.name!r} is not the one that the manifest describes (its SHA-256 differs)"
                )

    def rules_apply(self, loose: Collection[int]) -> None:
        """Leave out rules on removed identifiers, rules that were let go, and rules whose document nobody gave.

        Parameters
        ----------
        loose : collection of int
            Checks that need not be tested: they may lack their document.
        """
        lacking = without_document(self.job.rulebook)
        for edit in self.job.edits:
            index, name = edit.check.index, edit.check.id
            if gone := self._removed_of(edit):
                self.left_out.add(index)
                self.not_checked.append(f"rule {name}: reads {', '.join(gone)}, removed by masking")
            elif name in self.allowed:
                self.left_out.add(index)
                self.not_checked.append(f"rule {name}: let go when the file was masked")
                self.let_go += [] if edit.check.soft else [name]
            elif index in lacking:
                self.left_out.add(index)
                spared = edit.check.soft or index in loose
                where = self.not_checked if spared else self.problems
                where.append(Note("rule {rule}: {why}", rule=Rule(name), why=self._without(lacking[index])))

    def _removed_of(self, edit: Edit) -> list[str]:
        """Return the removed identifiers that a rule reads."""
        removed = set(self.described.removed) if self.described else set()
        tree = self.job.source.tree
        if tree is not None and edit.said:
            # without that of the units, a field of members may be called as that was
            removed = {name for name in removed if name not in tree.names}
        return sorted(removed.intersection(edit.variables))

    def _without(self, name: str) -> Note:
        if self.original is None and name in ORIGINAL_NAMES:
            return Note("cannot be evaluated without the original, {name!r}; give it: [[--original FILE]]", name=name)
        if self.original is None:
            return Note(
                "cannot be evaluated without the document {name!r}; give it: [[--document {name}=FILE]], or "
                "[[--original {name}]] if that is it",
                name=name,
            )
        return Note(
            "cannot be evaluated without the document {name!r}, which is not the name of the original; if it is the "
            "original: [[--document {name}={original}]]; else give it: [[--document {name}=FILE]]",
            name=name,
            original=shown(self.original.path),
        )

    def tested(
        self, results: Sequence[RuleResult], evaluation: Evaluation, allowed: frozenset[int]
    ) -> tuple[RuleResult, ...]:
        """Say of each rule whether the file tests it; what the manifest knows of is no news."""
        job, original = self.job, self.original
        if self.described is not None:
            known = (*self.described.kept, *self.described.masked)
            allowed |= {edit.check.index for edit in job.edits if edit.check.id in self.untested}
            return with_untested(results, job, evaluation, allowed=allowed, original=original, known=known)
        found = with_untested(results, job, evaluation, allowed=allowed, original=original)
        if original is None or not any(rule.idle and rule.reached for rule in found):
            return found
        try:
            # a field that masking has removed or emptied is a field of the original
            layout = original.layout
        except (UsageError, DocumentError):
            return found  # what is wrong with it is told where it is compared
        fields = [*(field.name for field in layout.fields), *(() if original.tree is None else original.tree.names)]
        return with_untested(results, job, evaluation, allowed=allowed, original=original, known=fields)

    def rules_fired(self, results: Sequence[RuleResult], evaluation: Evaluation) -> None:
        """Say what the rules were put to; a rulebook that never fires proves nothing."""
        records = evaluation.records
        if not records:
            self.not_checked.append("the rules: the file has no records, which was allowed")
            return
        silent = [rule for rule in results if rule.untested is not None]
        self.idle = frozenset(self.job.index_of(rule.id) for rule in silent if rule.failed is None)
        fires = any(rule.reached for rule in results)
        if results and not fires:
            self.problems.append(
                "no rule fires on any record: look at the contexts, the namespace prefixes and the phase"
            )
        for rule in silent:
            why = next(told([rule]))
            (self.problems if rule.idle else self.not_checked).append(why)
        if tested := len(results) - len(silent):
            self.checked.append(f"{counted(tested, 'rule')} on {counted(records, 'record')}")
        elif not results and (self.job.edits or self.again.fates):
            self.problems.append("no rule was evaluated: none of the rulebook applies to this file")
        elif fires:
            self.problems.append("no rule was tested, so that nothing is known of the file")

    def second_opinions(
        self,
        evaluation: Evaluation,
        failing: Collection[int],
        asking: Asking,
    ) -> None:
        """Let engines that are not ours read every record: what only one engine says is no proof."""
        total = len(self.job.edits) - len(self.left_out)
        without = self.left_out | self.idle
        rules = [edit.check.index for edit in self.job.edits if edit.check.index not in without]
        with self.job.source.in_own_places():
            opinions, alone = asking.second_opinions(evaluation, rules, failing)
        self.not_checked += [f"by an engine that is not masktron's, rule {note}" for note in alone]
        for opinion in opinions:
            self.not_checked += [f"by {opinion.engine}, rule {note}" for note in opinion.not_judged]
            if not opinion.agrees:
                self.problems += [f"{opinion.engine} does not agree: {note}" for note in opinion.notes]
                continue
            if opinion.misreads:
                # what it counts otherwise is no proof of anything: the others are
                self.notes += [
                    f"{opinion.engine} alone counts otherwise, by its known deviation libxml2-rounding "
                    f"(docs/engines.md); "
                    f"the verdict is that of XPath 1.0: {note}"
                    for note in opinion.notes
                ]
                continue
            if not (opinion.records and opinion.rules):
                continue  # of what nobody was asked there is nothing to say
            same = "finds nothing more" if opinion.notes else "counts the same"
            said = f"{opinion.engine} {same} on {counted(opinion.records, 'record')}"
            self.checked.append(f"{said}, for {opinion.rules} of {counted(total, 'rule')}")
            self.notes += [f"{opinion.engine} refuses less: {note}" for note in opinion.notes]
        notes = [note for opinion in opinions for note in opinion.notes]
        apart = {
            edit.check.index
            for edit in self.job.edits
            if any(note.startswith(f"{edit.check.id}: ") for note in notes)
        }
        if apart and (found := spelled(self.job, apart)):
            self.notes.append(f"engines differ on {remedy(found, places=True)}")

    # the contract

    def identity(self) -> None:
        """Check that the file is, byte by byte, the one that was masked; here the contract begins."""
        self.rule_problems = len(self.problems)
        if self.described is None:
            return
        self.as_masked = self.job.source.digest == self.described.output
        if self.as_masked:
            self.checked.append("the file is the one that the manifest describes (SHA-256)")
        else:
            self.problems.append("the file is not the one that the manifest describes (its SHA-256 differs)")

    def groups(self, data: Dataset | None) -> int | None:
        """Check that groups hold at least k records and identifiers are gone; here without a manifest."""
        self.not_checked.append(Note("group sizes and removed identifiers: need the manifest ([[--manifest FILE]])"))
        return None

    # the original

    def against_original(self, data: Dataset | None, config: Config, stated: Stated) -> None:
        """Check that records and fields are those of the original; here without one."""
        self.not_checked.append(Note("records and fields: need the original ([[--original FILE]])"))
        if self.described and self.described.declared.drawn:
            self.not_checked.append(f"what {self.described.declared.method} promises: needs the original")
        for one in () if self.described is None else perturbed_in(self.described.treatments):
            done = "swapped" if isinstance(one, Swapped) else "drawn anew"
            self.not_checked.append(f"values of {', '.join(one.fields)}, {done}: need the original")

    # limits

    def limits(
        self,
        limits: Mapping[str, float],
        config: Config,
        stated: Stated,
        min_group: int | None,
        records: int,
        progress: Progress,
    ) -> tuple[Measured, ...]:
        """Compute the figures that have a limit; here there is none."""
        return ()

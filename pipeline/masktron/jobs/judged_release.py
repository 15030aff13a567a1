"""The rules of a released file, judged by every engine: what is wrong, and what could not be judged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from masktron.classify import Edit
from masktron.counts import counted
from masktron.errors import DocumentError, UsageError
from masktron.executor.contract import Executor
from masktron.jobs.common import require_records
from masktron.jobs.documents import ORIGINAL_NAMES, documents_that_are, without_document
from masktron.jobs.following import with_allowances
from masktron.jobs.revalidate import Asking
from masktron.jobs.rules_again import RulesAgain
from masktron.jobs.spellings import remedy, spelled
from masktron.jobs.untested import may_be_untested, told, with_untested
from masktron.judge import Evaluation
from masktron.problems.problem import Note, Rule
from masktron.progress import Progress
from masktron.results import RuleResult, shown
from masktron.sources.source import Source
from masktron.thresholds import Threshold
from masktron.verify.findings import Findings
from masktron.write.manifest import DescribedRelease


class JudgedRelease(Findings):
    """The rules of a released file, and what was found of them.

    Parameters
    ----------
    again : RulesAgain
    described : DescribedRelease or None
    original : Source or None
    loose : iterable of str
        Rules that the file need not test, ``*`` for all.
    """

    def __init__(
        self, again: RulesAgain, described: DescribedRelease | None, original: Source | None, loose: Iterable[str]
    ) -> None:
        super().__init__()
        self.again = again
        self.job = again.job
        self.described = described
        self.original = original
        self.loose = may_be_untested(self.job, loose)
        self.allowed: frozenset[str] = frozenset(described.allowed) if described else frozenset()
        self.untested: frozenset[str] = frozenset(described.untested) if described else frozenset()
        self.left_out: set[int] = set()
        self.let_go: list[str] = []
        self.other_rulebook = False
        self._compare_rulebook()
        self.not_checked += [self.job.rulebook.about.inactive] if self.job.rulebook.about.inactive else []
        self._compare_documents()
        self._leave_out()

    def judge(
        self, allowed: Mapping[str, Threshold], progress: Progress, executor: Executor | None, *, allow_empty: bool
    ) -> tuple[Evaluation, tuple[RuleResult, ...]]:
        """Judge all rules that are not left out.

        Parameters
        ----------
        allowed : mapping of str to Threshold
            Failures that a rule may have, by id.
        allow_empty : bool
            Whether a file without records may comply.
        """
        job, original = self.job, self.original
        with Asking(job, original, progress, executor=executor) as asking:
            evaluation = job.evaluate(original, progress, executor=executor)
            if not allow_empty:
                require_records(job, evaluation.records)
            undecided = job.undecided(original, progress, executor)
            results = with_allowances(job.rule_results(evaluation, self.left_out, undecided), allowed)
            failing = [job.index_of(rule.id) for rule in results if not rule.passes]
            results = self._tested(results, evaluation)
            idle = self._rules_fired(results, evaluation.records)
            self._second_opinions(evaluation, failing, idle, asking)
        return evaluation, results

    def _compare_rulebook(self) -> None:
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

    def _compare_documents(self) -> None:
        """Compare the documents of the rules with those that the file was masked with."""
        if itself := documents_that_are(self.job.source.path, self.job.rulebook):
            self.problems.append(f"{itself}: rules that compare the file with it hold whatever the values are")
        told = {} if self.described is None else self.described.documents
        for one in self.job.rulebook.beside:
            if one.path is not None and told.get(one.name, one.sha256) != one.sha256:
                self.problems.append(
                    f"the document {one.name!r} is not the one that the manifest describes (its SHA-256 differs)"
                )

    def _leave_out(self) -> None:
        """Leave out rules on removed identifiers, rules that were let go, and rules whose document nobody gave."""
        lacking = without_document(self.job.rulebook)
        for edit in self.job.edits:
            index, name = edit.check.index, edit.check.id
            if gone := self._removed_of(edit):
                self.left_out.add(index)
                self.not_checked.append(f"rule {name}: reads {', '.join(gone)}, removed by masking")
            elif name in self.allowed and (edit.check.soft or (self.described and name in self.described.let_go)):
                self.left_out.add(index)
                self.not_checked.append(f"rule {name}: let go when the file was masked")
                self.let_go += [] if edit.check.soft else [name]
            elif index in lacking:
                self.left_out.add(index)
                spared = edit.check.soft or index in self.loose
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

    def _tested(self, results: Sequence[RuleResult], evaluation: Evaluation) -> tuple[RuleResult, ...]:
        """Say of each rule whether the file tests it; what the manifest knows of is no news."""
        job, original = self.job, self.original
        allowed = self.loose.union(edit.check.index for edit in job.edits if edit.check.id in self.untested)
        if self.described is not None:
            known = (*self.described.kept, *self.described.masked)
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

    def _rules_fired(self, results: Sequence[RuleResult], records: int) -> set[int]:
        """Say what the rules were put to, and return those that say nothing; if all do, nothing is proved."""
        if not records:
            self.not_checked.append("the rules: the file has no records, which was allowed")
            return set()
        silent = [rule for rule in results if rule.untested is not None]
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
        return {self.job.index_of(rule.id) for rule in silent if rule.failed is None}

    def _second_opinions(
        self,
        evaluation: Evaluation,
        failing: Collection[int],
        idle: Collection[int],
        asking: Asking,
    ) -> None:
        """Let engines that are not ours read every record: what only one engine says is no proof."""
        total = len(self.job.edits) - len(self.left_out)
        without = self.left_out.union(idle)
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

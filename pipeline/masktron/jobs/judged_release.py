"""The rules of a released file, judged by every engine: what is wrong, and what could not be judged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from masktron.classify import Edit
from masktron.counts import counted
from masktron.errors import DocumentError, UsageError
from masktron.executor.contract import Executor
from masktron.jobs.common import require_records
from masktron.jobs.documents import ORIGINAL_NAMES, documents_that_are, without_document
from masktron.jobs.following import with_allowances
from masktron.jobs.job import Job
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


@dataclass(frozen=True, slots=True)
class JudgedRelease:
    """The rules of a released file, and what was found of them.

    Attributes
    ----------
    again : RulesAgain
    original : Source or None
    found : Findings
    left_out : frozenset of int
        Rules, by index, that are not judged.
    let_go : tuple of str
        Hard rules that were let go when the file was masked.
    other_rulebook : bool
        Whether the rulebook is not that of the manifest.
    """

    again: RulesAgain
    original: Source | None
    found: Findings = field(default_factory=Findings)
    left_out: frozenset[int] = frozenset()
    let_go: tuple[str, ...] = ()
    other_rulebook: bool = False

    @property
    def job(self) -> Job:
        """The file with the rules that hold in it."""
        return self.again.job


def judge_release(
    again: RulesAgain,
    described: DescribedRelease | None,
    original: Source | None,
    *,
    loose: Iterable[str],
    bounds: Mapping[str, Threshold],
    allow_empty: bool,
    executor: Executor | None,
    progress: Progress,
) -> tuple[JudgedRelease, Evaluation, tuple[RuleResult, ...]]:
    """Judge all rules of a released file that are not left out.

    Parameters
    ----------
    again : RulesAgain
    described : DescribedRelease or None
    original : Source or None
    loose : iterable of str
        Rules that the file need not test, ``*`` for all.
    bounds : mapping of str to Threshold
        Failures that a rule may have, by id.
    allow_empty : bool
        Whether a file without records may comply.
    executor : Executor or None
    progress : callable
    """
    job, may_rest = again.job, may_be_untested(again.job, loose)
    judged = _compare_rulebook(again, described, original)
    # what was let go by rule id counts for the rulebook of the manifest alone
    known = None if judged.other_rulebook else described
    judged.found.not_checked += [job.rulebook.about.inactive] if job.rulebook.about.inactive else []
    _compare_documents(job, described, judged.found)
    judged = _leave_out(judged, described, () if known is None else known.allowed, may_rest)
    untested = frozenset(() if known is None else known.untested)
    allowed = may_rest.union(edit.check.index for edit in job.edits if edit.check.id in untested)
    with Asking(job, original, progress, executor=executor) as asking:
        evaluation = job.evaluate(original, progress, executor=executor)
        if not allow_empty:
            require_records(job, evaluation.records)
        undecided = job.undecided(original, progress, executor)
        results = with_allowances(job.rule_results(evaluation, judged.left_out, undecided), bounds)
        failing = [job.index_of(rule.id) for rule in results if not rule.passes]
        results = _tested(results, evaluation, judged, described, allowed)
        idle = _rules_fired(results, evaluation.records, judged)
        _second_opinions(evaluation, failing, idle, asking, judged)
    return judged, evaluation, results


def _compare_rulebook(
    again: RulesAgain, described: DescribedRelease | None, original: Source | None
) -> JudgedRelease:
    """Say where the rulebook is not the one of the manifest."""
    found, other = Findings(), False
    if described and not again.as_described and not again.job.rulebook.checks:
        found.problems.append(Note("the file was masked under rules, and none were given: [[--rules FILE]]"))
    elif described and not again.as_described:
        other = True
        found.not_checked.append(
            "rulebook of the manifest: the one given is another (its SHA-256 differs), and all its rules count"
        )
    found.problems += again.problems
    found.not_checked += again.not_checked
    found.notes += again.notes
    return JudgedRelease(again, original, found, other_rulebook=other)


def _compare_documents(job: Job, described: DescribedRelease | None, found: Findings) -> None:
    """Compare the documents of the rules with those that the file was masked with."""
    if itself := documents_that_are(job.source.path, job.rulebook):
        found.problems.append(f"{itself}: rules that compare the file with it hold whatever the values are")
    told = {} if described is None else described.documents
    for one in job.rulebook.beside:
        if one.path is not None and told.get(one.name, one.sha256) != one.sha256:
            found.problems.append(
                f"the document {one.name!r} is not the one that the manifest describes (its SHA-256 differs)"
            )


def _leave_out(
    judged: JudgedRelease, described: DescribedRelease | None, allowed: Collection[str], loose: Collection[int]
) -> JudgedRelease:
    """Leave out rules on removed identifiers, rules that were let go, and rules whose document nobody gave."""
    job, found, left_out, let_go = judged.job, judged.found, set[int](), list[str]()
    lacking = without_document(job.rulebook)
    for edit in job.edits:
        index, name = edit.check.index, edit.check.id
        if gone := _removed_of(edit, job, described):
            left_out.add(index)
            found.not_checked.append(f"rule {name}: reads {', '.join(gone)}, removed by masking")
        elif name in allowed and (edit.check.soft or (described is not None and name in described.let_go)):
            left_out.add(index)
            found.not_checked.append(f"rule {name}: let go when the file was masked")
            let_go += [] if edit.check.soft else [name]
        elif index in lacking:
            left_out.add(index)
            spared = edit.check.soft or index in loose
            where = found.not_checked if spared else found.problems
            where.append(Note("rule {rule}: {why}", rule=Rule(name), why=_without(lacking[index], judged.original)))
    return replace(judged, left_out=frozenset(left_out), let_go=tuple(let_go))


def _removed_of(edit: Edit, job: Job, described: DescribedRelease | None) -> list[str]:
    """Return the removed identifiers that a rule reads."""
    removed = set(described.removed) if described else set()
    tree = job.source.tree
    if tree is not None and edit.said:
        # without that of the units, a field of members may be called as that was
        removed = {name for name in removed if name not in tree.names}
    return sorted(removed.intersection(edit.variables))


def _without(name: str, original: Source | None) -> Note:
    if original is None and name in ORIGINAL_NAMES:
        return Note("cannot be evaluated without the original, {name!r}; give it: [[--original FILE]]", name=name)
    if original is None:
        return Note(
            "cannot be evaluated without the document {name!r}; give it: [[--document {name}=FILE]], or "
            "[[--original {name}]] if that is it",
            name=name,
        )
    return Note(
        "cannot be evaluated without the document {name!r}, which is not the name of the original; if it is the "
        "original: [[--document {name}={original}]]; else give it: [[--document {name}=FILE]]",
        name=name,
        original=shown(original.path),
    )


def _tested(
    results: Sequence[RuleResult],
    evaluation: Evaluation,
    judged: JudgedRelease,
    described: DescribedRelease | None,
    allowed: Collection[int],
) -> tuple[RuleResult, ...]:
    """Say of each rule whether the file tests it; what the manifest knows of is no news."""
    job, original = judged.job, judged.original
    if described is not None:
        known = (*described.kept, *described.masked)
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


def _rules_fired(results: Sequence[RuleResult], records: int, judged: JudgedRelease) -> set[int]:
    """Say what the rules were put to, and return those that say nothing; if all do, nothing is proved."""
    job, found = judged.job, judged.found
    if not records:
        found.not_checked.append("the rules: the file has no records, which was allowed")
        return set()
    silent = [rule for rule in results if rule.untested is not None]
    fires = any(rule.reached for rule in results)
    if results and not fires:
        found.problems.append(
            "no rule fires on any record: look at the contexts, the namespace prefixes and the phase"
        )
    for rule in silent:
        why = next(told([rule]))
        (found.problems if rule.idle else found.not_checked).append(why)
    if tested := len(results) - len(silent):
        found.checked.append(f"{counted(tested, 'rule')} on {counted(records, 'record')}")
    elif not results and (job.edits or judged.again.fates):
        found.problems.append("no rule was evaluated: none of the rulebook applies to this file")
    elif fires:
        found.problems.append("no rule was tested, so that nothing is known of the file")
    return {job.index_of(rule.id) for rule in silent if rule.failed is None}


def _second_opinions(
    evaluation: Evaluation, failing: Collection[int], idle: Collection[int], asking: Asking, judged: JudgedRelease
) -> None:
    """Let engines that are not ours read every record: what only one engine says is no proof."""
    job, found, left_out = judged.job, judged.found, judged.left_out
    total = len(job.edits) - len(left_out)
    without = left_out.union(idle)
    rules = [edit.check.index for edit in job.edits if edit.check.index not in without]
    with job.source.in_own_places():
        opinions, alone = asking.second_opinions(evaluation, rules, failing)
    found.not_checked += [f"by an engine that is not masktron's, rule {note}" for note in alone]
    for opinion in opinions:
        found.not_checked += [f"by {opinion.engine}, rule {note}" for note in opinion.not_judged]
        if not opinion.agrees:
            found.problems += [f"{opinion.engine} does not agree: {note}" for note in opinion.notes]
            continue
        if opinion.misreads:
            # what it counts otherwise is no proof of anything: the others are
            found.notes += [
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
        found.checked.append(f"{said}, for {opinion.rules} of {counted(total, 'rule')}")
        found.notes += [f"{opinion.engine} refuses less: {note}" for note in opinion.notes]
    apart = {index for opinion in opinions for index in opinion.apart}
    if apart and (spellings := spelled(job, apart)):
        found.notes.append(f"engines differ on {remedy(spellings, places=True)}")

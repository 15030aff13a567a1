"""The rules of a release whose fields were recoded: translated again from the rulebook of the original."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from masktron.classify import classify
from masktron.counts import counted
from masktron.jobs.documents import Given, bound
from masktron.jobs.job import Job, job_on
from masktron.jobs.rulebooks import read_translated
from masktron.jobs.translated_rules import title_of
from masktron.problems.problem import Note, Sentence
from masktron.results import RuleFate
from masktron.rules_given import rules_hash
from masktron.sources.source import Source
from masktron.step_kinds import names_in, recodings_in
from masktron.translation import TranslatedRule, Translation, translated, translated_by_level
from masktron.versions import versions
from masktron.write.manifest import DescribedRelease


@dataclass(frozen=True, slots=True)
class RulesAgain:
    """A job with the rules that hold in a released file.

    Attributes
    ----------
    job : Job
    as_described : bool
        Whether its rulebook is that of the manifest, or what that becomes by the treatments of the manifest.
    notes : tuple of str
        What was translated.
    not_checked : tuple of str
        Rules that are lost, or read removed fields.
    fates : tuple of RuleFate
        What became of each rule that is not as it was.
    problems : tuple of str
        The manifest names another translated rulebook.
    """

    job: Job
    as_described: bool
    notes: tuple[Sentence, ...] = ()
    not_checked: tuple[Sentence, ...] = ()
    fates: tuple[RuleFate, ...] = ()
    problems: tuple[Sentence, ...] = ()


def _unasked(rule: TranslatedRule) -> str:
    if rule.fate == "removed":
        return f"rule {rule.id}: {rule.reason}"
    return f"rule {rule.id}: nothing of it can be asked where {', '.join(rule.fields)} is recoded: {rule.reason}"


def rules_of_release(
    job: Job, described: DescribedRelease | None, original: Source | None, given: Given, phase: str | None = None
) -> RulesAgain:
    """Return a job with the rules as they are asked of a released file.

    The rulebook of the manifest is translated again where fields were recoded. The translated one that was released
    is taken as it is, and so is any other.

    Parameters
    ----------
    job : Job
        Of the released file.
    described : DescribedRelease or None
    original : Source or None
        Its layout is that by which the rules were understood.
    given : Given
        The documents that rules read.
    phase : str, optional
        That of the rules of the job.
    """
    known = None if described is None else rules_hash(job.rulebook.path)
    if described is None or known != described.rules:
        return RulesAgain(job, described is not None and known == described.translated)
    if not described.treatments:
        return RulesAgain(job, True)
    recodings = recodings_in(described.treatments)
    translation = _translated(job, described, original or job.source)
    lost = tuple(_unasked(rule) for rule in translation.rules if rule.fate in ("removed", "lost"))
    if not any(rule.changed for rule in translation.rules):
        return RulesAgain(job, True, problems=tuple(_another(None, described, phase)))
    content = translation.schematron(title_of(recodings), names_in(described.treatments))
    changed = [rule.id for rule in translation.rules if rule.fate not in ("kept", "removed", "lost")]
    were = "was" if len(recodings) == 1 else "were"
    notes = (
        f"{', '.join(recodings)} {were} recoded, so that {counted(len(changed), 'rule')} of the rulebook "
        f"{'is' if len(changed) == 1 else 'are'} asked as the manifest translates: {', '.join(changed) or 'none'}",
    )
    found = sha256(content).hexdigest()
    problems = tuple(_another(found, described, phase))
    if found != described.translated and not problems:
        lost = (
            "translated rulebook of the manifest: this version of masktron translates otherwise (another SHA-256)",
            *lost,
        )
    rulebook = bound(read_translated(content, Path(f"{job.rulebook.path} (translated)")), given)
    fates = tuple(RuleFate.of(rule) for rule in translation.rules if rule.changed)
    return RulesAgain(job_on(job.source, rulebook), True, notes, lost, fates, problems)


def _translated(job: Job, described: DescribedRelease, read: Source) -> Translation:
    """Translate the rules as they were for the release, given the file by which they were understood."""
    recodings, layout = recodings_in(described.treatments), read.layout
    if read.tree is not None:
        fields = described.nested.fields
        return translated_by_level(
            job.rulebook,
            read.tree,
            recodings,
            let_go=described.allowed,
            masked=[one.name for one in fields if {*one.wide}.intersection(described.masked)],
            removed=[one.name for one in fields if {*one.wide}.intersection(described.removed)],
        )
    return translated(
        job.rulebook,
        classify(job.rulebook, layout),
        recodings,
        layout,
        let_go=described.allowed,
        masked=described.masked,
        removed=described.removed,
    )


def _phase(name: str | None) -> str:
    return "the default phase" if name is None else f"phase {name}"


def _another(found: str | None, described: DescribedRelease, phase: str | None) -> Iterator[Sentence]:
    """Say that a manifest names another translated rulebook than this version of masktron, which wrote it, makes."""
    if described.phase != phase:
        yield Note(
            "the file was masked under the rules of {own}, and these are those of {other}: use [[--phase {given}]]",
            own=_phase(described.phase),
            other=_phase(phase),
            given=described.phase or "#DEFAULT",
        )
    elif found != described.translated and described.version == versions()["masktron"]:
        yield (
            "the translated rulebook is not the one that the manifest describes (its SHA-256 differs): its "
            "treatments, or the hash, are not those of the run"
        )

"""What a map cannot tell, and what was taken for granted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from masktron.counts import counted
from masktron.jobs.prepared import Opened
from masktron.jobs.tune.asked import TuneSettings
from masktron.jobs.tune.tried import TriedCandidate, TuneRecords
from masktron.results import TuneCandidate

_UNWRITTEN = (
    "candidates are masked in memory: mask also has the written file judged by engines that are not ours, and may "
    "refuse what stands here"
)
_SAMPLED = (
    "compared on a sample of {sample:,} of {n:,} records, drawn with a fixed seed: whole strata (records that "
    "miss the same values and satisfy the same rules), and whole neighbourhoods of those that are too large. A "
    "sample makes linkage look higher, as there are fewer others to take somebody for, and pil lower, as luck "
    "plays a larger part; it may miss rare strata, and a limit that is nearly met on it may be broken on all. So "
    "only candidates that were run on all records are recommended"
)
_DRAWN = (
    "methods that draw were run with {seeds}. A release has a key of its own, and so other figures: do not draw "
    "again until they please, since a lucky draw is lucky in the figures alone"
)
_PERTURBED = (
    "figures take values that are drawn anew, and regions that are swapped, as true: they count what a draw loses, "
    "and not what it hides, so that the map speaks against drawing. Say in the settings how much is to be drawn, "
    "or take a candidate by what is said of its draws"
)


def original_notes(original: Opened) -> Iterator[str]:
    """Say what was left out of the original, and how it was understood."""
    yield from original.notes
    gone = len(original.records) - len(original.kept)
    if gone:
        breaking = counted(gone, "record that breaks a rule is", "records that break a rule are")
        yield f"{breaking} left out, as mask leaves them out"
    yield from original.originals.notes
    yield _UNWRITTEN


def measured_notes(
    tried: Sequence[TriedCandidate], candidates: Sequence[TuneCandidate], asked: TuneSettings, records: TuneRecords
) -> Iterator[str]:
    """Say how candidates were compared, and what their draws leave open."""
    yield from asked.wider
    if records.sample is not None:
        yield _SAMPLED.format(sample=records.sample, n=records.all)
    measured = [one for one in candidates if one.seeds]
    if any(one.differs for one in measured):
        seeds = (
            "one seed that everybody knows"
            if asked.seeds == 1
            else f"up to {asked.seeds} seeds that everybody knows: loss is their mean, limits have to hold in all"
        )
        yield _DRAWN.format(seeds=seeds)
    if any(one.treatment.perturbs for one in measured):
        yield _PERTURBED
    runs = [run for one in tried for whole in (True, False) for run in one.outcomes(whole)]
    yield from dict.fromkeys(note for run in runs for note in run.given_away)


def missed_note(candidates: Sequence[TuneCandidate], budget: float, *, over: bool, keeps: bool) -> Iterator[str]:
    """Say how many candidates were not reached.

    Parameters
    ----------
    candidates : sequence of TuneCandidate
    budget : float
    over : bool
        Whether nothing will be tried any more.
    keeps : bool
        Whether there is a folder for results.
    """
    missed = sum(one.state == "unreached" for one in candidates)
    if missed and not over:
        yield (
            f"so far: {missed} of {len(candidates)} candidates were not tried as yet; the run goes on, or was "
            "interrupted: the same command goes on from here then"
        )
    elif missed:
        again = "run again, it goes on" if keeps else "with a folder for results, another run goes on"
        yield (
            f"the budget of {budget:g} s ended before {missed} of {len(candidates)} candidates; {again} where this "
            "one stopped"
        )

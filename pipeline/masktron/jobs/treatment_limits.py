"""What treatments of keys do not promise in a run: rules across records are not asked, and k is of drawn values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from masktron.jobs.levels import levels_of
from masktron.jobs.run import Run
from masktron.problems.problem import Note, Sentence, fields
from masktron.step_kinds import (
    Postrandomised,
    Suppressed,
    perturbed_fields,
    perturbed_in,
    recodings_in,
    suppressed_in,
)


def limit_notes(run: Run) -> Iterator[Sentence]:
    """Say what is unmasked, which rules may tell what treatments hide, and what k counts where values are drawn.

    Parameters
    ----------
    run : Run
        With the rules as they are asked of the treated records.
    """
    done = run.account
    drawn = {name for one in done.treatments if isinstance(one, Postrandomised) for name in one.fields}
    masked = perturbed_fields(done.treatments)
    unnamed = run.given.recoded_unnamed
    yield from recoded_notes(
        [name for name in recodings_in(done.treatments) if name in unnamed and name not in masked]
    )
    for one in suppressed_in(done.treatments):
        if rules := _across(run, [one]):
            yield (
                f"{_read(rules)} suppressed fields across records, which is not looked at when cells are chosen: "
                "whoever has the rulebook may tell a cell by the other records (docs/suppression.md); recode fields "
                "that such a rule reads so that fewer cells go, or leave out what ties its records together"
            )
        if both := [name for name in one.fields if name in drawn]:
            yield (
                f"k = {one.contract.k} counts {', '.join(both)} as drawn: who knows true values, the rules and the "
                f"probabilities may have fewer than {one.contract.k} candidates for a respondent, since some records "
                "cannot have been drawn from what he knows; that k records share each combination holds of the "
                "written values (docs/pram.md)"
            )
    by_draws = [one for one in perturbed_in(done.treatments) if isinstance(one, Postrandomised)]
    if rules := _across(run, by_draws):
        yield (
            f"{_read(rules)} drawn fields across records: the run is refused until draws obey, so that confidence "
            "and odds do not hold of what is published (docs/pram.md)"
        )


def _across(run: Run, treatments: Sequence[Suppressed | Postrandomised]) -> list[str]:
    """Return the ids of rules that read treated fields and look at several records, or at those of other levels."""
    levels = levels_of(run)
    found = (levels.rules_across(levels.level_treated(one), one.changed) for one in treatments)
    return list(dict.fromkeys(chain.from_iterable(found)))


def recoded_notes(names: Sequence[str]) -> Iterator[Sentence]:
    """Say which fields are released as true classes, since the setting also spares them from masking."""
    if names:
        yield Note(
            "{names:and} {names:is|are} recoded and not masked; to mask {names:it|them} instead, leave "
            "{names:it|them} out of [[--recode]]",
            names=fields(names),
        )


def _read(rules: list[str]) -> str:
    return f"the rule {rules[0]} reads" if len(rules) == 1 else f"the rules {', '.join(rules)} read"

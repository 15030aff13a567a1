"""The audit of treatments of keys: what a manifest declares of them, tested on the released file and the original."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config, Role
from masktron.counts import counted
from masktron.errors import DocumentError, InfeasibleError, UsageError
from masktron.jobs.coded_fields import as_perturbed
from masktron.jobs.column_memory import read_columns
from masktron.jobs.job import Job
from masktron.jobs.keys_known import known_keys
from masktron.jobs.post_randomised import law_of, rules_of_law, untrue_draws
from masktron.jobs.protection import Findings
from masktron.jobs.recoded import as_treated, recoding_of, variable_of
from masktron.jobs.reweighted import untrue_weights
from masktron.jobs.swapped import untrue_swaps
from masktron.jobs.written_classes import written_classes
from masktron.problems.problem import Field, Note, Sentence
from masktron.recoding_settings import FromHierarchy, how_of
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.source import Source
from masktron.write.manifest import DescribedRelease
from masktron.write.treatments import (
    Postrandomised,
    Recoded,
    Suppressed,
    Swapped,
    perturbed_fields,
    perturbed_in,
    recodings_in,
    reweighted_in,
    suppressed_in,
)


def check_shared_keys(described: DescribedRelease, data: Dataset) -> Findings:
    """Count the records that share each combination of suppressed keys, as it is written.

    Parameters
    ----------
    described : DescribedRelease
    data : Dataset
        Of the released file.
    """
    found = Findings()
    for one in suppressed_in(described.treatments):
        if gone := [name for name in one.fields if name not in data.columns]:
            found.problems.append(f"the file has no key {', '.join(gone)}")
            continue
        _all_keys(one, data, described, found)
        if len(data):
            written = [data.columns[name].numbered() for name in one.fields]
            wrong = one.contract.broken((), written)
            found.problems += [f"of the suppressed keys {', '.join(one.fields)}, {what}" for what in wrong]
        found.checked.append(f"keys {', '.join(one.fields)}: {one.contract.says}")
    return found


def _all_keys(one: Suppressed, data: Dataset, described: DescribedRelease, found: Findings) -> None:
    """Require that the keys that k records share are all those of the roles, as `mask` takes them."""
    roles = {name: Role(role) for name, role in described.roles.items()}
    telling = [name for name in data.columns if _differs(data.columns[name])]
    known = known_keys(roles, described.quasi_identifiers, telling)
    recoded = recodings_in(described.treatments)
    keys = [name for name in known.names if name != known.weight or name in recoded]
    if left_out := [name for name in keys if name not in one.fields]:
        found.problems.append(
            f"the keys that k records share are {', '.join(one.fields)}, without {', '.join(left_out)}, by the "
            "roles of the manifest a quasi-identifier as well"
        )


def _differs(column: Column) -> bool:
    """Tell whether all cells that are there differ: others may have been suppressed."""
    codes = column.numbered()
    there = codes[codes >= 0]
    return len(np.unique(there)) == len(there)


def check_recodings(original: Source, described: DescribedRelease, memory: int | None) -> Findings:
    """Make recodings anew from the original, with labels that come from its values.

    Parameters
    ----------
    original : Source
        Where it is another one than the manifest describes, nothing is made of it.
    described : DescribedRelease
    memory : int or None
        Bytes that columns may take.
    """
    found = Findings()
    done = [one for one in described.treatments if isinstance(one, Recoded)]
    spread = reweighted_in(described.treatments)
    if not (done or spread) or original.digest != described.original:
        return found
    records = read_columns(original, missing=described.missing, memory=memory)
    keep = ~np.isin(np.arange(len(records)), np.array(sorted(described.excluded), dtype=np.intp))
    known = [one for one in done if one.recoding.field in records.columns]
    found.problems += untrue_recodings(known, original, records, keep, described)
    for one in spread:
        if {one.field, *one.within} <= records.columns.keys():
            found.problems += untrue_weights(one, as_treated(records, done, described.missing), keep)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRelease:
    """A released file whose keys were drawn anew or swapped, beside its original.

    Attributes
    ----------
    job : Job
        The rules, on the original.
    described : DescribedRelease
    original : Dataset
        Recoded as the release is.
    released : Dataset
    rows : ndarray of intp, shape (n,)
        The row of the original of each released record.
    """

    job: Job
    described: DescribedRelease
    original: Dataset
    released: Dataset
    rows: NDArray[np.intp]


def check_draws(of: DrawnRelease, *, same_rules: bool) -> Findings:
    """Test whether keys are what the treatments draw or swap that the manifest declares, in their order.

    Parameters
    ----------
    of : DrawnRelease
    same_rules : bool
        Whether the rulebook is the one of the manifest: draws are among what it admits.
    """
    found = Findings()
    drawn = perturbed_in(of.described.treatments)
    released = of.released.taken(np.argsort(of.rows))
    kept = of.original.taken(np.sort(of.rows))
    suppressed = frozenset(
        name for one in suppressed_in(of.described.treatments) for name in (*one.fields, *one.also)
    )
    for at, one in enumerate(drawn):
        if gone := [
            name for name in one.fields if name not in of.released.columns or name not in of.original.columns
        ]:
            found.problems.append(f"the file has no field {', '.join(gone)}, whose values were changed")
            continue
        before = as_perturbed(kept, drawn[:at], released, np.arange(len(kept)))
        unknown = suppressed.intersection(perturbed_fields(drawn[:at]))
        tested = _Perturbed(before, released, of.described.missing, suppressed, unknown)
        if isinstance(one, Swapped):
            _check_swaps(one, tested, found)
        elif same_rules:
            _check_law(one, of.job, tested, found)
        else:
            found.not_checked.append(f"draws of {', '.join(one.fields)}: need the rulebook of the manifest")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Perturbed:
    """The records before and after a treatment that draws, in one order.

    Attributes
    ----------
    before, released : Dataset
    missing : mapping of str to frozenset of str
        What means 'missing', by field.
    suppressed : frozenset of str
        Fields of which cells may have been left out afterwards.
    unknown : frozenset of str
        Those of them that were changed before: what they were then is not known any more.
    """

    before: Dataset
    released: Dataset
    missing: Mapping[str, frozenset[str]]
    suppressed: frozenset[str]
    unknown: frozenset[str]


def _check_swaps(one: Swapped, tested: _Perturbed, found: Findings) -> None:
    """Test whether regions were exchanged in pairs, unless that depends on what is not known any more."""
    names, how = ", ".join(one.fields), one.settings
    read = (*how.similar, *_household(how.household))
    said = f"the regions {names} cannot have been swapped as the manifest says"
    if not _known(f"swaps of {names}", read, tested, found) or not _there(said, read, tested, found):
        return
    try:
        found.problems += untrue_swaps(tested.before, tested.released, one, tested.missing, tested.suppressed)
    except UsageError as error:
        found.problems.append(Note("{said}: {problem}", said=said, problem=error.problem))
        return
    found.checked.append(f"regions {names}, swapped in {counted(one.pairs, 'pair')}")


def _check_law(one: Postrandomised, job: Job, tested: _Perturbed, found: Findings) -> None:
    """Test draws, unless their law depends on what is not known any more."""
    names, how = ", ".join(one.fields), one.settings
    rules = rules_of_law(tested.before, one, job)
    read = (*how.within, *_household(how.household))
    said = f"the values of {names} cannot have been drawn anew"
    depends = {*rules.read, *read}.difference(one.fields)
    weighted = () if one.weight is None else (one.weight,)
    if not _known(f"draws of {names}", depends, tested, found) or not _there(said, (*read, *weighted), tested, found):
        return
    try:
        law = law_of(tested.before, one, rules, tested.missing)
    except (UsageError, InfeasibleError, DocumentError) as error:
        found.problems.append(Note("{said}: {problem}", said=said, problem=error.problem))
        return
    found.problems += untrue_draws(law, tested.released, one.fields, tested.missing, tested.suppressed)
    found.checked.append(f"values of {names}, drawn anew, by the probabilities of the manifest")


def _household(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _known(what: str, read: Collection[str], tested: _Perturbed, found: Findings) -> bool:
    """Tell whether all that something depends on is known, and say where it is not."""
    depends = sorted(tested.unknown.intersection(read))
    if depends:
        found.not_checked.append(
            f"{what}: they depend on {', '.join(depends)}, changed before, of which cells are suppressed"
        )
    return not depends


def _there(said: str, read: Collection[str], tested: _Perturbed, found: Findings) -> bool:
    """Tell whether the original has all fields that something depends on, and say where it has not."""
    gone = [name for name in read if name not in tested.before.columns]
    if gone:
        found.problems.append(f"{said}: there is no field {gone[0]!r}")
    return not gone


def untrue_recodings(
    done: Iterable[Recoded], source: Source, records: Dataset, keep: NDArray[np.bool_], described: DescribedRelease
) -> Iterator[Sentence]:
    """Say which recodings of a manifest are not what its settings make of the original; hierarchies are not read.

    Parameters
    ----------
    done : iterable of Recoded
    source : Source
        The original.
    records : Dataset
        Of it.
    keep : ndarray of bool, shape (n,)
        Records that were released.
    described : DescribedRelease
    """
    for one in done:
        name = one.recoding.field
        if isinstance(how_of(f"recode.{name}", one.how), FromHierarchy):
            continue
        try:
            config = Config(k=described.k, recode={name: one.how})
            variable = variable_of(source, name)
            meant = recoding_of(name, records, keep, config, described.weight, variable)
            order = () if variable is None else variable.order
            missing = described.missing.get(name, frozenset())
            found = written_classes(meant, source, missing, order).recoding
        except (UsageError, InfeasibleError) as error:
            cannot = "the field {field} cannot have been recoded as the manifest says: {problem}"
            yield Note(cannot, field=Field(name), problem=error.problem)
            continue
        if found != one.recoding:
            yield (
                f"the field {name} is recoded to other values than {one.how} makes of the original: those of the "
                "manifest are not those of the run"
            )

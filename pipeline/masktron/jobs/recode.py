"""Search the recodings of keys for the one that loses least and reaches what is asked for."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config, Role
from masktron.counts import counted
from masktron.errors import DocumentError, InfeasibleError, RefusalFacts, UsageError
from masktron.files import refuse_outputs
from masktron.hierarchies import Hierarchy, read_hierarchy
from masktron.jobs.concerns import likely_notes
from masktron.jobs.keys_known import known_keys
from masktron.jobs.labelled_hierarchies import hierarchy_of_values
from masktron.jobs.lowering.wide_settings import refuse_treatments
from masktron.jobs.opening import open_original
from masktron.jobs.ordering import WRITTEN
from masktron.jobs.recoded import missing_codes_of, texts_of, variable_of
from masktron.jobs.run import Run
from masktron.jobs.treatment_limits import recoded_notes
from masktron.jobs.written_classes import written_classes
from masktron.measures.keys.individual_risk import population_uniques
from masktron.problems.problem import Field, Known, Note, Place, Sentence, Setting, fields, rules
from masktron.progress import Progress, no_progress
from masktron.recodings import Recoding
from masktron.results import KeyFigures, RecodedRule, RecodeResult, RecodingChoice, shown
from masktron.sources.column import Column
from masktron.thresholds import Threshold, threshold
from masktron.toml_text import toml_text
from masktron.translation import Translation, translated
from masktron.treatments.recoding_search import LOSSES, KeyDemands, RecodedNode, RecodingSearch, search_recodings
from masktron.treatments.roll_up import KeyGroups, LeveledKey, key_groups, leveled
from masktron.write.atomic import atomic_path, blamed

LOSS = next(iter(LOSSES))
SHOWN = 10
"""Recodings that the result has."""
_TRIED = 200
"""Recodings whose rules are translated in search of one that loses no rule."""
_MOST_MINIMAL = 100_000
"""Nodes of a lattice up to which all minimal ones are found."""
_ANY = "*"
_AT_NODES = ("key_uniques", "key_population_uniques", "individual_risk", "global_risk")
"""Figures that are tested at nodes."""
_LIMITS = ("key_k", "l_diversity", *_AT_NODES)
"""Figures that a limit may name."""
_ROUNDING = 1e-12
"""By how much a figure may be above its limit, relatively."""


NOTHING = Threshold(Fraction(0), False, "0")


def suppressed_records(text: str) -> Threshold:
    """Read how many records may be left to suppress: ``10``, or ``1%``.

    Raises
    ------
    UsageError
        It is neither.
    """
    try:
        return threshold(text, "suppressed")
    except UsageError:
        expected = "a number of records such as 10, or a share from 0% to 100%"
        raise UsageError.of("bad-value", name=Setting("--suppressed"), expected=expected, given=repr(text)) from None


@dataclass(frozen=True, slots=True)
class RecodeWishes:
    """What a recoding is to reach.

    Attributes
    ----------
    k : int
        Records that share each combination of keys, at least; 2 or more.
    suppressed : Threshold
        Records that may be left to local suppression: a number, or a share of the records.
    loss : str
        One of `LOSSES`.
    importance : mapping of str to float
        How much a loss in a key counts beside the others; 1 where not given.
    diversity : mapping of str to int
        For masked fields, the fewest different values beside a combination of keys.
    allow_lost : tuple of str
        Rules that the recoding may lose; ``*`` is all.
    header : bool
        Whether hierarchies have a row of names.
    """

    k: int
    suppressed: Threshold = NOTHING
    loss: str = LOSS
    importance: Mapping[str, float] | None = None
    diversity: Mapping[str, int] | None = None
    allow_lost: tuple[str, ...] = ()
    header: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """An original, its keys and their hierarchies."""

    opened: Run
    rules: Path
    hierarchies: Mapping[str, Hierarchy]
    keys: tuple[LeveledKey, ...]
    weights: NDArray[np.float64] | None
    demands: KeyDemands
    limits: Mapping[str, float]
    wishes: RecodeWishes
    notes: tuple[Sentence, ...]

    def levels(self, node: RecodedNode) -> dict[str, int]:
        """Return the levels of the fields that have a hierarchy."""
        found = {key.field: level for key, level in zip(self.keys, node.levels, strict=True)}
        return {name: found[name] for name in self.hierarchies}

    def emptied(self, node: RecodedNode) -> tuple[str, ...]:
        """Return the fields of which a node leaves nothing."""
        return tuple(key.field for key, level in zip(self.keys, node.levels, strict=True) if key.is_emptied(level))

    def translation(self, node: RecodedNode) -> Translation:
        """Return what a node makes of the rules."""
        job = self.opened.job
        recodings = {
            name: self._written(self.hierarchies[name].recoding(level))
            for name, level in self.levels(node).items()
            if level
        }
        return translated(
            job.rulebook,
            job.edits,
            recodings,
            job.source.layout,
            let_go=[job.rulebook.checks[index].id for index in self.opened.originals.released],
            masked=self.opened.masked,
            removed=self.opened.removed,
        )

    def _written(self, recoding: Recoding) -> Recoding:
        """Return what `mask` writes for the classes of a recoding."""
        name, source = recoding.field, self.opened.job.source
        variable = variable_of(source, name)
        missing, order = missing_codes_of(name, self.opened.config), () if variable is None else variable.order
        return written_classes(recoding, source, missing, order).recoding

    def forbidden(self, translation: Translation) -> tuple[str, ...]:
        """Return the rules that it loses and must not: hard ones, which hold in the original and nobody lets go."""
        checks, allowed = self.opened.job.rulebook.checks, self.wishes.allow_lost
        return tuple(
            rule.id
            for rule in translation.lost
            if not checks[rule.index].soft
            and rule.index not in self.opened.originals.released
            and rule.id not in allowed
            and _ANY not in allowed
        )


def run_recode(
    data: Path,
    rules: Path,
    hierarchies: Mapping[str, Path],
    wishes: RecodeWishes,
    *,
    config: Config | None = None,
    write: Path | None = None,
    progress: Progress = no_progress,
) -> RecodeResult:
    """Find the recodings of keys that lose least, and say what they make of the rules and of the risk.

    Keys are the fields with a hierarchy and all others that are named as quasi-identifiers and are not masked; the
    weight is none of them here.

    Parameters
    ----------
    data, rules : Path
    hierarchies : mapping of str to Path
        By field.
    wishes : RecodeWishes
    config : Config, optional
        ``limits`` may name key_k, l_diversity (of every masked field), individual_risk, global_risk, key_uniques and
        key_population_uniques.
    write : Path, optional
        A new file of settings with the section ``[recode]``.

    Raises
    ------
    UsageError
        A hierarchy, a limit or a field cannot be used.
    RulebookError, DocumentError, InvalidOriginalError
        As for `mask`; or a value has no row in its hierarchy.
    InfeasibleError
        No recoding reaches what is asked for, or all that were tried lose a hard rule.
    """
    config = config or Config()
    _require_wishes(wishes, hierarchies, config, write)
    trees = {name: read_hierarchy(path, name, header=wishes.header) for name, path in hierarchies.items()}
    for name in trees:
        if config.roles.get(name) in (Role.CONFIDENTIAL, Role.WEIGHT, Role.IDENTIFIER):
            raise UsageError.of(
                "role-does-not-fit",
                field=Field(name),
                reason=f"which has the role {config.roles[name]}, so it cannot be recoded",
                setting=Setting("--hierarchy"),
                role=Role.QUASI_IDENTIFIER,
            )
    unnamed = trees.keys() - config.roles.keys()
    config = replace(config, roles={**dict.fromkeys(trees, Role.QUASI_IDENTIFIER), **config.roles})
    files = {f"the hierarchy of {name}": path for name, path in hierarchies.items()}
    refuse_outputs({} if write is None else {"--write": write}, {"the data": data, "the rulebook": rules, **files})
    opened = open_original(data, rules, config, progress)
    refuse_treatments(["hierarchies"], opened.job.source)
    for name, read in trees.copy().items():
        column = opened.kept.columns.get(name)
        if column is not None:
            variable = variable_of(opened.job.source, name)
            trees[name] = tree = hierarchy_of_values(read, hierarchies[name], texts_of(column), variable)
            if not wishes.header:
                tree.require_no_names(hierarchies[name], _values(column, column.numbered(held=True)))
    progress("searching the recodings", 0)
    asked = _question(opened, rules, trees, wishes)
    found = _searched(asked)
    nodes = _ranked(asked, found)
    progress("translating the rules", 0)
    chosen, translation, tried = _chosen(asked, nodes)
    listed = nodes[: max(SHOWN, chosen + 1)]
    recode = {
        name: f"{hierarchies[name].as_posix()}:{level}"
        for name, level in asked.levels(nodes[chosen]).items()
        if level
    }
    if write is not None:
        _write(write, recode)
    ground = key_groups(asked.keys, asked.weights)
    return RecodeResult(
        data=shown(data),
        rulebook=shown(rules),
        records=len(opened.kept),
        keys=tuple(key.field for key in asked.keys),
        fixed=tuple(key.field for key in asked.keys if key.field not in trees),
        k=wishes.k,
        suppressed=asked.demands.suppressed,
        measure=wishes.loss,
        nodes=found.nodes,
        looked_at=found.looked_at,
        minimal=len(found.minimal),
        choices=tuple(
            RecodingChoice(
                asked.levels(node), node.loss, node.left, node.smallest, node.combinations,
                tried[at] if at < len(tried) else None, asked.emptied(node),
            )
            for at, node in enumerate(listed)
        ),
        chosen=chosen,
        before=_figures(ground),
        after=_figures(ground.rolled_up(asked.keys, nodes[chosen].levels)),
        kept=sum(not rule.changed for rule in translation.rules),
        rules=tuple(
            RecodedRule(rule.id, rule.fate, rule.old, rule.new, rule.reason)
            for rule in translation.rules
            if rule.changed
        ),
        recode=recode,
        notes=(
            *opened.notes,
            *likely_notes(opened.likely),
            *asked.notes,
            *recoded_notes([name for name in recode if name in unnamed]),
            *_told(asked, nodes[chosen], listed, found),
        ),
    )  # fmt: skip


def _require_wishes(
    wishes: RecodeWishes, hierarchies: Mapping[str, Path], config: Config, write: Path | None
) -> None:
    if not hierarchies:
        given = Setting("--hierarchy", ("AGE=age.csv",))
        raise UsageError.of("needs-setting", name="recode", needed="a hierarchy for each key", setting=given)
    if wishes.k < 2:
        raise UsageError.of("bad-value", name=Setting("--key-k"), expected="2 or more", given=wishes.k)
    if wishes.loss not in LOSSES:
        known = Known(wishes.loss, tuple(LOSSES))
        raise UsageError.of("unknown-name", kind="measure of loss", name=wishes.loss, known=known)
    if other := sorted(set(config.limits) - set(_LIMITS)):
        known = Known(other[0], tuple(_LIMITS))
        raise UsageError.of("unknown-name", kind="limit for recodings of keys", name=other[0], known=known)
    if write is not None and write.exists():
        raise UsageError.of("cannot-write-settings", write, reason="it exists", settings=())


def _question(opened: Run, rules: Path, hierarchies: Mapping[str, Hierarchy], wishes: RecodeWishes) -> _Question:
    roles = {fact.name: fact.role for fact in opened.fields}
    known = known_keys(roles, opened.config.quasi_identifiers)
    masked = [name for name in known.names if roles[name] not in WRITTEN]
    names = [name for name in known.names if name not in masked and name != known.weight]
    others = [name for name, role in roles.items() if role is Role.UNTOUCHED]
    _require_among(wishes.importance or {}, names, "key to weigh")
    confidential = [name for name, role in roles.items() if role is Role.CONFIDENTIAL]
    _require_among(wishes.diversity or {}, confidential, "masked field")
    columns = opened.kept.columns
    limits = dict(opened.config.limits)
    diversity = dict.fromkeys(confidential, math.ceil(limits["l_diversity"])) if "l_diversity" in limits else {}
    risks = [limits[name] / scale for name, scale in (("individual_risk", 1), ("global_risk", 100)) if name in limits]
    demands = KeyDemands(
        k=max(wishes.k, math.ceil(limits.get("key_k", 0))),
        suppressed=_records(wishes.suppressed, len(opened.kept)),
        diversity={**diversity, **(wishes.diversity or {})},
        mean_risk=min(risks) if risks else None,
    )
    notes: list[Sentence] = (
        [
            Note(
                "{names}: known to others and masked, so that k among recoded keys does not count it",
                names=fields(masked),
            )
        ]
        if masked
        else []
    )
    notes += [Note("{names}: written as it is, and not among the keys", names=fields(others))] if others else []
    notes += (
        [
            Note(
                "{weight}: a weight is no key here; for mask [[--key-k]] it is one where it is recoded, and never "
                "left out; a limit of mask, such as key_k, counts it as one where it is written, recoded or not, and "
                "where it differs it tells records apart",
                weight=Field(known.weight),
            )
        ]
        if known.weight
        else []
    )
    gaps = [name for name in names if (columns[name].numbered(held=True) < 0).any()]
    notes += (
        [
            Note(
                "{gaps}: a missing value is a value of its own here, and as it is written for mask "
                "[[--key-k]]; a limit of mask, such as key_k, takes it for any value, and so counts more "
                "records alike",
                gaps=fields(gaps),
            )
        ]
        if gaps
        else []
    )
    importance = wishes.importance or {}
    return _Question(
        opened,
        rules,
        hierarchies,
        tuple(_key(opened, name, hierarchies.get(name), importance.get(name, 1.0)) for name in names),
        None if known.weight is None else columns[known.weight].values,
        demands,
        limits,
        wishes,
        tuple(notes),
    )


def _require_among(named: Mapping[str, object], names: Sequence[str], kind: str) -> None:
    for name in named:
        if name not in names:
            raise UsageError.of("unknown-name", kind=kind, name=name, known=Known(name, tuple(names)))


def _records(bound: Threshold, records: int) -> int:
    return int(bound.bound * records / 100) if bound.share else int(bound.bound)


def _key(opened: Run, name: str, hierarchy: Hierarchy | None, importance: float) -> LeveledKey:
    column = opened.kept.columns[name]
    codes = column.numbered(held=True)
    values = _values(column, codes)
    if hierarchy is not None:
        unknown = np.array([value not in hierarchy.levels[0] for value in values], dtype=np.bool_)
        bad = np.flatnonzero(np.append(unknown, False)[codes])
        if len(bad):
            place = Place(str(opened.kept.path), int(opened.kept.lines[bad[0]]))
            raise DocumentError.of("hierarchy-lacks-value", place, field=Field(name), records=len(bad))
    return leveled(name, codes, values, hierarchy, importance)


def _values(column: Column, codes: NDArray[np.int32]) -> list[str]:
    """Return the value that each code stands for."""
    _, first = np.unique(codes[codes >= 0], return_index=True)
    return [str(value) for value in column.lexemes_of(np.flatnonzero(codes >= 0)[first])]


def _ranked(asked: _Question, found: RecodingSearch) -> list[RecodedNode]:
    """Order recodings by loss, those last that leave nothing of a key: they are no use where others are."""
    nodes = list(dict.fromkeys((found.best, *found.minimal)))
    if not found.minimal and asked.emptied(found.best):
        nodes = [*_leaving_something(asked), *nodes]
    return sorted(nodes, key=lambda node: bool(asked.emptied(node)))


def _leaving_something(asked: _Question) -> tuple[RecodedNode, ...]:
    """Return the best recoding that leaves something of each key; none where there is none."""
    lower = [sum(not key.is_emptied(level) for level in range(key.height + 1)) for key in asked.keys]
    keys = tuple(replace(key, labels=key.labels[:many]) for key, many in zip(asked.keys, lower, strict=True))
    try:
        return (_searched(replace(asked, keys=keys)).best,)
    except InfeasibleError:
        return ()


def _searched(asked: _Question) -> RecodingSearch:
    nodes = int(np.prod([key.height + 1 for key in asked.keys], dtype=np.float64))
    tested = {name: asked.limits[name] for name in _AT_NODES if name in asked.limits}

    def accepted(groups: KeyGroups) -> bool:
        figures = _figures(groups)
        return all(getattr(figures, name) <= limit * (1 + _ROUNDING) for name, limit in tested.items())

    return search_recodings(
        asked.keys,
        asked.demands,
        LOSSES[asked.wishes.loss](asked.keys),
        weights=asked.weights,
        confidential={name: asked.opened.kept.columns[name].numbered(held=True) for name in asked.demands.diversity},
        accepted=accepted if tested else None,
        minimal=nodes <= _MOST_MINIMAL,
    )


def _chosen(asked: _Question, nodes: Sequence[RecodedNode]) -> tuple[int, Translation, list[tuple[str, ...]]]:
    """Return the first recoding that loses no rule that it must not, and what those before it lose."""
    tried: list[tuple[str, ...]] = []
    for at, node in enumerate(nodes[:_TRIED]):
        translation = asked.translation(node)
        tried.append(asked.forbidden(translation))
        if not tried[-1]:
            return at, translation, tried
    first = asked.translation(nodes[0])
    reasons = {rule.id: rule.reason for rule in first.lost}
    why = "; ".join(reasons[name] for name in tried[0])
    facts = [RefusalFacts("keys", rules=tried[0])]
    lost = rules(tried[0])
    raise InfeasibleError.of(
        "recodings-lose-rules", asked.rules, facts=facts, tried=len(tried), rules=lost, reasons=why
    )


def _figures(groups: KeyGroups) -> KeyFigures:
    model = groups.modelled
    mean = max(groups.mean_risk, model.mean)
    return KeyFigures(
        key_k=int(groups.sizes.min()),
        key_uniques=int((groups.sizes == 1).sum()),
        key_population_uniques=max(population_uniques(groups.frequencies), model.tau1),
        individual_risk=mean,
        global_risk=100 * mean,
    )


def _told(
    asked: _Question, node: RecodedNode, listed: Sequence[RecodedNode], found: RecodingSearch
) -> list[Sentence]:
    notes = []
    if emptied := asked.emptied(node):
        notes.append(_said_of_emptied(asked, emptied, listed))
    if node.left:
        notes.append(
            f"{counted(node.left, 'record')} of the recommended recoding are left to local suppression: its key "
            "figures are those before suppression"
        )
    if not found.minimal:
        notes.append("there are so many recodings that only the best one was looked for")
    if asked.weights is None:
        notes.append("no field is the weight: risk is that of a file that has the whole population")
    return notes


def _said_of_emptied(asked: _Question, emptied: Sequence[str], listed: Sequence[RecodedNode]) -> Sentence:
    """Say of which fields the recommended recoding leaves nothing, and what leaves something."""
    other = next((one for one in listed if not asked.emptied(one)), None)
    levels = "" if other is None else ", ".join(f"{name} {level}" for name, level in asked.levels(other).items())
    instead = (
        "No usable recoding was found: none leaves something of every field. Name fewer keys, or take this one"
        if other is None
        else f"The levels {levels} lose {other.loss:.4f} and leave something of every field"
    )
    return Note(
        "nothing is left of {emptied} by the recommended recoding: all records have one value of it. {instead}; "
        "[[--importance {first}=3]] weighs a field more, and more records left to suppression ([[--suppressed]]) may "
        "keep more of it",
        emptied=fields(emptied),
        instead=instead,
        first=Field(emptied[0]),
    )


def _write(path: Path, recode: Mapping[str, str]) -> None:
    """Write the section of settings; paths in it start at its folder."""
    folder = path.parent.resolve()
    table = {}
    for name, how in recode.items():
        file, _, level = how.rpartition(":")
        table[name] = f"{Path(os.path.relpath(Path(file).resolve(), folder)).as_posix()}:{level}"
    with atomic_path(path) as temporary, blamed(path):
        temporary.write_text(toml_text({"recode": table}), encoding="utf-8")

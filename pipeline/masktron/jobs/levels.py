"""The records that steps are taken on: those of a flat file, or those of each level of a nested one.

The records of a level are flat records: steps change their own fields, and read those of the records around them.
What they come to goes back into the level, and all is judged and lowered anew, so that a rule across levels that no
step has looked at refuses the run where it breaks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from masktron.config import Config, Role, untreated
from masktron.constraints import OpaqueEdit
from masktron.errors import UsageError
from masktron.jobs.job import job_on
from masktron.jobs.keys_known import KnownKeys
from masktron.jobs.lowering.level_treatments import level_of
from masktron.jobs.lowering.lower import Flat, Lowered
from masktron.jobs.lowering.wide_settings import named_as_fields
from masktron.jobs.originals import Originals
from masktron.jobs.recoded import missing_codes_of, missing_texts_of, variable_of
from masktron.jobs.run import Account, Run, released_of
from masktron.problems.problem import Field, Known
from masktron.progress import Told
from masktron.recodings import Recoding
from masktron.roles import FieldFacts
from masktron.rulebook.expressions.tree import ANY
from masktron.rulebook.locality import locality
from masktron.rulebook.schema import Rulebook
from masktron.setting_values import ALL_FIELDS
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.level_tree import TOP, LevelPath, Tree
from masktron.sources.source import Source
from masktron.sources.wide.level_source import LevelSource, leaf_name
from masktron.sources.wide.member_rows import MemberOrder
from masktron.step_kinds import Treatment, recodings_in
from masktron.translation import (
    LevelRules,
    TranslatedRule,
    Translation,
    names_read,
    rules_of_level,
    translated,
    translated_by_level,
)


@dataclass(frozen=True, eq=False)
class FlatRun:
    """A run on a flat file: its records are those of the only level.

    Attributes
    ----------
    run : Run
    judged : int
        Treatments of the account that its records have been judged with.
    tied : frozenset of str
        Fields that suppression leaves as they are, since rules over several records have broken without them.
    """

    run: Run
    judged: int = 0
    tied: frozenset[str] = frozenset()
    paths: ClassVar[tuple[LevelPath, ...]] = (TOP,)

    @property
    def given(self) -> Config:
        """The settings of steps."""
        return self.run.config

    def level_of(self, names: Sequence[str], setting: str) -> LevelPath:
        """Return the only level; steps see whether it has some fields."""
        del names, setting
        return TOP

    def require_around(self, path: LevelPath, names: Sequence[str], setting: str) -> None:
        """Nothing: all fields are those of the record."""

    def require_households(self, path: LevelPath, household: str | None, setting: str) -> None:
        """Nothing: a field says which records are of one household."""

    def has_keys(self, path: LevelPath, keys: KnownKeys) -> bool:
        """Tell whether records have keys of their own: steps ask for some."""
        del path, keys
        return True

    def at(self, path: LevelPath, **settings: Any) -> Run:
        """Return the run with the settings of one treatment."""
        del path
        config = replace(self.run.config, **settings)
        return replace(self.run, config=config, before=self.run.original, fixed=self.tied)

    def after(self, path: LevelPath, done: Run) -> FlatRun:
        """Return the same after a step."""
        del path
        return replace(self, run=replace(done, config=self.run.config, fixed=frozenset()))

    def translation(self, recodings: Mapping[str, Recoding]) -> Translation:
        """Return the rules as they are asked of recoded records."""
        run = self.run
        return translated(
            run.job.rulebook,
            run.job.edits,
            recodings,
            run.job.source.layout,
            let_go=run.let_go,
            masked=run.masked,
            removed=run.removed,
        )

    def asking(self, account: Account, rulebook: Rulebook | None) -> FlatRun:
        """Return the same with what is known of translated rules, and with these, if any has changed."""
        run = replace(self.run, account=account)
        return replace(self, run=run if rulebook is None else replace(run, job=job_on(run.job.source, rulebook)))

    @property
    def rulebook(self) -> Rulebook:
        """The rules as they are asked of the records now."""
        return self.run.job.rulebook

    @property
    def order(self) -> MemberOrder | None:
        """The order of members: there are none."""
        return None

    def treated(self, folder: Path, told: Told) -> Source:
        """Return the records with what steps have made of them, as a file that can be judged."""
        run = self.run
        return run.source.treated(run.records, run.account.fields, run.originals.keep, folder, told)

    def missing(self, source: Source) -> dict[str, frozenset[str]]:
        """Return the codes for missing values, with those that the treated records do not declare any more.

        A column of numbers with codes beside them may have become one of texts, in which a format has no such codes.
        """
        original, given = self.run.original, self.run.given
        found = dict(given.missing)
        for name in recodings_in(self.run.account.treatments):
            variable, known = variable_of(source, name), missing_codes_of(name, given)
            declared = known if variable is None else known.union(variable.missing)
            before = original.records.columns[name]
            there = missing_codes_of(name, original.config).intersection(missing_texts_of(before))
            if there - declared:
                found[name] = known | there
        return found

    def read_by(self, rules: Collection[str]) -> frozenset[str]:
        """Return the fields that some rules may read; of a rule that is not understood, any word may be one."""
        found: set[str] = set()
        for edit in self.run.job.edits:
            if edit.check.id in rules:
                found.update(edit.variables or _NAME.findall(edit.check.test))
        return frozenset(found)

    def rules_across(self, path: LevelPath, names: Collection[str]) -> list[str]:
        """Return the ids of the rules that look at several records and read, or may read, some fields."""
        del path
        if not names:
            return []
        job, released = self.run.job, self.run.originals.released
        far = locality(job.rulebook, job.source.layout)
        return [
            edit.check.id
            for edit in job.edits
            if far[edit.check.index]
            and edit.check.index not in released
            and (isinstance(edit.constraint, OpaqueEdit) or not {*names}.isdisjoint(edit.variables))
        ]

    def level_treated(self, treatment: Treatment) -> LevelPath:
        """Return the only level."""
        del treatment
        return TOP


@dataclass(frozen=True, eq=False)
class LevelRuns:
    """A run on nested records as runs on the records of each level.

    Attributes
    ----------
    run : Run
    back : Lowered
        Of the run.
    dataset : Dataset
        The records of all levels, as they have become.
    rulebook : Rulebook
        The rules as they are asked of them now.
    judged : int
        Treatments of the account that the records have been judged with.
    tied : frozenset of str
        Fields that suppression leaves as they are, since rules over several records have broken without them.
    """

    run: Run
    back: Lowered
    dataset: Dataset
    rulebook: Rulebook
    judged: int = 0
    tied: frozenset[str] = frozenset()

    @property
    def tree(self) -> Tree:
        """The levels."""
        return self.back.source.levels

    @property
    def paths(self) -> tuple[LevelPath, ...]:
        """Those of the levels, from the top down."""
        return tuple(path for path, _ in self.tree.levels())

    @cached_property
    def _original(self) -> LevelRuns:
        found = levels_of(self.run.original)
        if not isinstance(found, LevelRuns):
            raise TypeError("the original of nested records is nested")
        return found

    @cached_property
    def given(self) -> Config:
        """The settings, with one name for each field."""
        return named_as_fields(self.run.given, self.tree, str(self.run.source.path))

    def level_of(self, names: Sequence[str], setting: str) -> LevelPath:
        """Return the level of some fields that a setting changes.

        Raises
        ------
        UsageError
            They are of several levels, or one is not there, or another level has one that is called so.
        """
        paths = [self._path(name, setting) for name in names]
        for name, path in zip(names, paths, strict=True):
            if path != paths[0]:
                raise self._unusable(name, setting, f"which is of another level than {names[0]}")
        return paths[0]

    def require_around(self, path: LevelPath, names: Sequence[str], setting: str) -> None:
        """Refuse fields that the records of a level, and those around them, do not have.

        Raises
        ------
        UsageError
        """
        for name in names:
            own = self._path(name, setting)
            if path[: len(own)] != own:
                shown = self.tree.shown(path)
                raise self._unusable(name, setting, f"which is neither of {shown} nor of a level around it")

    def require_households(self, path: LevelPath, household: str | None, setting: str) -> None:
        """Refuse a field that says which records are of one household, unless it is of a level around these.

        Raises
        ------
        UsageError
        """
        if household is not None:
            self.require_around(path, [household], f"{setting}.household")
            if household in self.own_fields(path):
                reason = f"which is of {self.tree.shown(path)} itself, and not of a level around it"
                raise self._unusable(household, f"{setting}.household", reason)

    def _path(self, name: str, setting: str) -> LevelPath:
        place = self.tree.named(name)
        if place is None:
            known = Known(name, tuple(self.tree.names))
            raise UsageError.of("unknown-name", self.run.source.path, name=Field(name), known=known, kind="field")
        if leaf_name(self.tree, *place) != self.tree.name_of[place]:
            raise self._unusable(
                name, setting, "which another level has a field like, so give one of them another name"
            )
        return place[0]

    def _unusable(self, name: str, setting: str, reason: str) -> UsageError:
        return UsageError.of(
            "field-not-usable", self.run.source.path, setting=setting, field=Field(name), reason=reason
        )

    def at(self, path: LevelPath, **settings: Any) -> Run:
        """Return the run on the records of a level.

        Parameters
        ----------
        path : tuple of str
        settings
            Those of treatments that are meant for this level.
        """
        found = self._plain(path, rules_of_level(self.rulebook, self.tree, path), **settings)
        if not self.run.account.treatments:
            return found
        earlier = self._original
        first = rules_of_level(earlier.rulebook, earlier.tree, path)
        return replace(found, before=earlier._plain(path, first), account=_at_level(self.run.account, first))

    def _plain(self, path: LevelPath, rules: LevelRules, **settings: Any) -> Run:
        run = self.run
        source = LevelSource(self.back.source.nested, path, self.dataset)
        job = job_on(source, rules.rulebook)
        records = source.records()
        keep = run.originals.keep
        stay = self.tied.union(field.name for field in source.layout.fields) - (self.own_fields(path) - self.tied)
        keep = keep[self.dataset.units(path)] if path else keep
        facts = tuple(self._facts(source))
        released = tuple(at for at, check in enumerate(rules.origins) if check in self._released)
        originals = Originals(keep, released, (), (), {})
        return Run(
            given=run.given,
            config=self._settings(source, facts, settings),
            job=job,
            fields=facts,
            records=records,
            kept=released_of(records, originals),
            originals=originals,
            back=Flat(job),
            notes=(),
            likely=run.likely,
            slow=(),
            account=run.account,
            fixed=stay,
        )

    @property
    def _released(self) -> frozenset[int]:
        """The rules that records need not obey."""
        let_go = {*self.run.let_go}
        return frozenset(check.index for check in self.rulebook.checks if check.id in let_go)

    def own_fields(self, path: LevelPath) -> frozenset[str]:
        """Return the fields of a level itself, by what they are called in its records."""
        return frozenset(leaf_name(self.tree, path, own) for own in self.tree.level(path).fields)

    def has_keys(self, path: LevelPath, keys: KnownKeys) -> bool:
        """Tell whether a level has some keys of its own.

        Raises
        ------
        UsageError
            It has, and others stand neither in it nor around it.
        """
        own = bool(self.own_fields(path).intersection(keys.names) - {keys.weight})
        if own:
            self.require_around(path, keys.names, "the list of quasi-identifiers")
        return own

    def read_by(self, rules: Collection[str]) -> frozenset[str]:
        """Return the fields that some rules may read."""
        named = frozenset[str]().union(
            *(
                names_read(self.rulebook, pattern, position, check, earlier=True)
                for pattern, position, check in self.rulebook.situated()
                if check.id in rules
            )
        )
        return frozenset(name for name, (_, own) in self.tree.names.items() if own.name in named)

    def rules_across(self, path: LevelPath, names: Collection[str]) -> list[str]:
        """Return the ids of the rules that read some fields of a level, or may, and not on its records alone."""
        places = [self.tree.named(name) for name in names]
        own = {place[1].name for place in places if place is not None and place[0] == path}
        rules = rules_of_level(self.rulebook, self.tree, path)
        return [name for name, named in self._across(rules) if own and {*own, ANY}.intersection(named)]

    def _across(self, rules: LevelRules) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield the rules that have to hold and are none of a level, with the names that they have for anything."""
        others = self._released.union(rules.origins)
        for pattern, position, check in self.rulebook.situated():
            if check.index not in others and not check.soft:
                yield check.id, names_read(self.rulebook, pattern, position, check, earlier=True)

    def level_treated(self, treatment: Treatment) -> LevelPath:
        """Return the level on which a treatment was done."""
        return level_of(treatment, self.tree)

    def _facts(self, source: LevelSource) -> Iterator[FieldFacts]:
        """Yield what is known of the fields of a level and of those around it."""
        by_name = {fact.name: fact for fact in self.run.fields}
        by_field = self.back.source.wide.by_field()
        weights = [
            (place.level_path, leaf.name)
            for place in source.wide.places
            for leaf in place.leaves
            if self.given.roles.get(self.tree.name_of[place.level_path, leaf.field]) is Role.WEIGHT
        ]
        weight = max(weights)[1] if weights else None
        for place in source.wide.places:
            for leaf in place.leaves:
                wide = by_field.get((place.level_path, leaf.field), ())
                fact = next((by_name[one.name] for one in wide if one.name in by_name), None)
                if fact is not None:
                    other = Role.UNTOUCHED if fact.role is Role.WEIGHT else fact.role
                    yield replace(fact, name=leaf.name, role=Role.WEIGHT if leaf.name == weight else other)

    def _settings(self, source: LevelSource, facts: Sequence[FieldFacts], settings: Mapping[str, Any]) -> Config:
        """Return the settings as they are said of the records of a level."""
        leaves = {
            self.tree.name_of[place.level_path, leaf.field]: leaf.name
            for place in source.wide.places
            for leaf in place.leaves
        }
        given, missing = self.given, missing_by_field(self.run)
        keys = dict(given.keys)
        if "importance" in keys:
            own = {leaves[name]: value for name, value in keys["importance"].items() if name in leaves}
            keys["importance"] = own
        changes: dict[str, Any] = {
            **untreated(),
            "roles": {fact.name: fact.role for fact in facts},
            "missing": {leaves.get(name, name): codes for name, codes in missing.items()},
            **{"nominal": (), "ordinal": {}, "numeric": ()},
            "quasi_identifiers": tuple(leaves[name] for name in given.quasi_identifiers if name in leaves),
            "keys": keys if "key_k" in settings else {},
            **settings,
        }
        return replace(given, **changes)

    def after(self, path: LevelPath, done: Run) -> LevelRuns:
        """Return the same after a step on the records of a level."""
        fields = {leaf_name(self.tree, path, own): own.name for own in self.tree.level(path).fields}
        account, new = self.run.account, done.account
        said = self.tree.shown(path)
        treatments = [one.on_level(said) for one in new.treatments[len(account.treatments) :]]
        changed = {
            own: _called(done.records.columns[leaf], own)
            for leaf, own in fields.items()
            if leaf in new.fields and leaf in done.records.columns
        }
        account = replace(
            account,
            treatments=(*account.treatments, *treatments),
            fields=new.fields,
            draws=new.draws,
            secret=new.secret,
        )
        return replace(self, run=replace(self.run, account=account), dataset=self.dataset.with_columns(changed, path))

    def translation(self, recodings: Mapping[str, Recoding]) -> Translation:
        """Return the rules as they are asked of recoded records, level by level."""
        run = self.run
        return translated_by_level(
            self.rulebook,
            self.tree,
            recodings,
            let_go=run.let_go,
            masked=run.names.names(run.masked),
            removed=run.names.names(run.removed),
        )

    def asking(self, account: Account, rulebook: Rulebook | None) -> LevelRuns:
        """Return the same with what is known of translated rules, and with these, if any has changed."""
        return replace(self, run=replace(self.run, account=account), rulebook=rulebook or self.rulebook)

    @property
    def order(self) -> MemberOrder | None:
        """The order of members in the original."""
        return self.back.source.member_order

    def treated(self, folder: Path, told: Told) -> Source:
        """Return the records with what steps have made of them, as a file that can be judged."""
        names: dict[LevelPath, list[str]] = {}
        for name in self.run.account.fields:
            path, own = self.tree.names[name]
            names.setdefault(path, []).append(own.name)
        return self.back.job.source.treated_levels(self.dataset, names, self.run.originals.keep, folder, told)

    def missing(self, source: Source) -> dict[str, frozenset[str]]:
        """Return the codes for missing values, by field of the tree."""
        del source
        return {**missing_by_field(self.run.original), **self.run.given.missing}


type Levels = FlatRun | LevelRuns
"""The records of a run as steps are taken on them."""


def levels_of(run: Run) -> Levels:
    """Return the records of a run that has been judged as steps are taken on them."""
    back = run.back
    return _nested(run, back) if isinstance(back, Lowered) else FlatRun(run, len(run.account.treatments))


def _nested(run: Run, back: Lowered) -> LevelRuns:
    missing = missing_by_field(run)
    dataset = back.source.nested.level_records(missing=missing) if missing else back.source.dataset
    return LevelRuns(run, back, dataset, back.job.rulebook, len(run.account.treatments))


_NAME = re.compile(r"[\w.-]+")


def _called(column: Column, name: str) -> Column:
    return replace(column, variable=replace(column.variable, name=name))


def _at_level(account: Account, rules: LevelRules) -> Account:
    """Return an account whose rules are those of a level, by their place among these."""
    if not account.rules:
        return account
    known: dict[int, TranslatedRule] = {rule.index: rule for rule in account.rules}
    return replace(account, rules=tuple(replace(known[check], index=at) for at, check in enumerate(rules.origins)))


def missing_by_field(run: Run) -> dict[str, frozenset[str]]:
    """Return what means 'missing' in fields of the levels of a run, by their names in the tree; ``*`` for all."""
    if not isinstance(run.back, Lowered):
        raise TypeError("a flat file has no levels")
    found = {}
    for (path, own), leaves in run.back.source.wide.by_field().items():
        codes = [run.config.missing[leaf.name] for leaf in leaves if leaf.name in run.config.missing]
        if codes:
            found[run.back.source.levels.name_of[path, own]] = frozenset[str]().union(*codes)
    if ALL_FIELDS in run.config.missing:
        found[ALL_FIELDS] = run.config.missing[ALL_FIELDS]
    return found

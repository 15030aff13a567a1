"""Steps on nested files: each is taken on the records of one level after the other, with the fields around these.

The records of a level are flat records: steps change their own fields, and read those of the records around them.
What they come to goes back into the level, and all is judged and lowered anew, so that a rule across levels that no
step has looked at refuses the run where it breaks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.jobs.job import job_on
from masktron.jobs.lowering.lower import Flat, Lowered
from masktron.jobs.lowering.wide_settings import named_as_fields
from masktron.jobs.originals import Originals
from masktron.jobs.run import Account, Run, released_of
from masktron.problems.problem import Field, Known, Rule
from masktron.roles import FieldFacts
from masktron.rulebook.expressions.tree import ANY
from masktron.setting_values import ALL_FIELDS
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.level_tree import LevelPath, Tree
from masktron.sources.wide.level_source import LevelSource, leaf_name
from masktron.translation import LevelRules, TranslatedRule, names_read, rules_of_level
from masktron.write.treatments import Suppressed


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
    tied : frozenset of str
        Fields that suppression leaves as they are, since rules over several records have broken without them.
    """

    run: Run
    back: Lowered
    dataset: Dataset
    tied: frozenset[str] = frozenset()

    @classmethod
    def of(cls, run: Run) -> LevelRuns:
        """Read the records of the levels of a run.

        Raises
        ------
        UsageError
            Members are protected alone.
        """
        if not isinstance(run.back, Lowered):
            raise TypeError("a flat file has no levels")
        missing = missing_by_field(run)
        source = run.back.source
        dataset = source.nested.level_records(missing=missing) if missing else source.dataset
        return cls(run, run.back, dataset)

    @property
    def tree(self) -> Tree:
        """The levels."""
        return self.back.source.levels

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

    def refuse_households(self, household: str | None, setting: str) -> None:
        """Refuse a field that says which records are of one household: in a nested file, the levels say it.

        Raises
        ------
        UsageError
        """
        if household is not None:
            raise self._unusable(
                household,
                f"{setting}.household",
                "which is not needed, as the levels of the file say what belongs together",
            )

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
        run, before = self.run, self.run.before
        rules = rules_of_level(self.back.job.rulebook, self.tree, path)
        found = self._plain(path, rules, **settings)
        if before is None:
            return found
        earlier = LevelRuns.of(before)
        first = rules_of_level(earlier.back.job.rulebook, earlier.tree, path)
        original = earlier._plain(path, first)
        return replace(found, before=original, account=_at_level(run.account, first))

    def _plain(self, path: LevelPath, rules: LevelRules, **settings: Any) -> Run:
        run = self.run
        source = LevelSource(self.back.source.nested, path, self.dataset)
        job = job_on(source, rules.rulebook)
        records = source.records()
        keep = run.originals.keep
        stay = self.tied.union(field.name for field in source.layout.fields) - (self.own_fields(path) - self.tied)
        keep = keep[self.dataset.units(path)] if path else keep
        facts = tuple(self._facts(source))
        released = set(self.back.originals.released)
        originals = Originals(
            keep, tuple(at for at, check in enumerate(rules.origins) if check in released), (), (), {}
        )
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

    def own_fields(self, path: LevelPath) -> frozenset[str]:
        """Return the fields of a level itself, by what they are called in its records."""
        return frozenset(leaf_name(self.tree, path, own) for own in self.tree.level(path).fields)

    def read_by(self, rules: Collection[object]) -> frozenset[str]:
        """Return the fields that some rules may read and that suppression has not left as they are yet."""
        rulebook, names = self.back.job.rulebook, {one.name for one in rules if isinstance(one, Rule)}
        named = frozenset[str]().union(
            *(
                names_read(rulebook, pattern, position, check, earlier=True)
                for pattern, position, check in rulebook.situated()
                if check.id in names
            )
        )
        return frozenset(name for name, (_, own) in self.tree.names.items() if own.name in named) - self.tied

    def rules_across(self, path: LevelPath, names: Collection[str]) -> list[str]:
        """Return the ids of the rules that read some fields of a level, or may, and not on its records alone."""
        places = [self.tree.named(name) for name in names]
        own = {place[1].name for place in places if place is not None and place[0] == path}
        rules = rules_of_level(self.back.job.rulebook, self.tree, path)
        return [name for name, named in self._across(rules) if own and {*own, ANY}.intersection(named)]

    def _across(self, rules: LevelRules) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield the rules that have to hold and are none of a level, with the names that they have for anything."""
        rulebook, released = self.back.job.rulebook, {*self.back.originals.released, *rules.origins}
        for pattern, position, check in rulebook.situated():
            if check.index not in released and not check.soft:
                yield check.id, names_read(rulebook, pattern, position, check, earlier=True)

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
            **{"recode": {}, "pram": {}, "swap": {}, "key_k": None, "reweight": ()},
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
        treatments = [
            replace(one, says=f"of {said}, {one.says}") if isinstance(one, Suppressed) else one
            for one in new.treatments[len(account.treatments) :]
        ]
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

    def names(self) -> dict[LevelPath, list[str]]:
        """Return the fields that steps have changed, by level, by their own names."""
        found: dict[LevelPath, list[str]] = {}
        for name in self.run.account.fields:
            path, own = self.tree.names[name]
            found.setdefault(path, []).append(own.name)
        return found


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

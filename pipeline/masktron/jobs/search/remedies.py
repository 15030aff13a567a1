"""What may help where `mask` is refused: other settings that suit the facts of a refusal, the cheapest first.

A maker states other settings, in a sentence, and what they reveal. The options that give these settings, and those to
leave out, follow from the difference to the settings of the run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, get_args

from masktron.config import Config, Kind, Role
from masktron.counts import counted
from masktron.declared import Declared, Shape, declared_in
from masktron.errors import RefusalFacts, RefusalKind
from masktron.figures import OF_KEYS_ALONE, figure_of
from masktron.hierarchies import read_hierarchy
from masktron.jobs.lowering.lower import Lowered
from masktron.jobs.lowering.wide_settings import named_as_fields
from masktron.jobs.outside_limits import KEY_K, fewest_alike, weight_classes
from masktron.jobs.run import Run
from masktron.likely_roles import MOST_CODES
from masktron.methods import method_named
from masktron.methods.base import Partitioning
from masktron.problems.problem import Setting
from masktron.recoding_settings import Breaks, FromHierarchy, how_of
from masktron.results.refusal import RemedyKind, RemedyResult
from masktron.roles import FieldFacts
from masktron.sources.column import Column

MOST_FIELDS = 4
"""Fields, or rules, that are looked at one by one: fields with few values first."""
MOST_VALUES = 100
"""Different whole numbers of a field up to which it may be taken as categories in their order."""
DRAWING = ("noise", "cart")
"""Methods that draw values for each record: one for numbers, and one for categories, too."""
_CLASSES = (10, 5)
"""Classes in which a key is written, about."""
_WIDTH = re.compile(r"width:([0-9]+)")
_COST: tuple[RemedyKind, ...] = get_args(RemedyKind.__value__)
"""From what leaves the protection as it was to what gives most up."""


@dataclass(frozen=True, slots=True)
class RefusedRun:
    """A run that was refused.

    Attributes
    ----------
    config : Config
        As it was stated.
    fields : mapping of str to FieldFacts
        By the names that settings have for them; empty where the original was refused.
    rules : mapping of str to frozenset of str
        Fields that a rule reads, by its id.
    columns : mapping of str to Column
        Of the fields.
    records : int or None
        How many would be released, where that is known.
    heights : mapping of str to int
        Of fields recoded by a hierarchy: its highest level that leaves more than one value.
    whole_units : bool
        Whether records are units with members, which are grouped over all masked fields.
    """

    config: Config
    fields: Mapping[str, FieldFacts] = field(default_factory=dict)
    rules: Mapping[str, frozenset[str]] = field(default_factory=dict)
    columns: Mapping[str, Column] = field(default_factory=dict)
    records: int | None = None
    heights: Mapping[str, int] = field(default_factory=dict)
    whole_units: bool = False

    @classmethod
    def of(cls, run: Run, config: Config) -> RefusedRun:
        """Return what is known of a run whose original could be read, with the settings that were stated."""
        columns = run.kept.columns
        if isinstance(run.back, Lowered):
            tree, levels = run.back.source.levels, run.back.source.dataset.levels
            config = named_as_fields(config, tree, str(run.source.path))
            columns = {name: levels[path].columns[own.name] for name, (path, own) in tree.names.items()}
        rules: dict[str, frozenset[str]] = {}
        for edit in run.job.edits:
            rule, read = run.rule_id(edit.check.index), run.names.names(edit.variables)
            rules[rule] = rules.get(rule, frozenset()).union(read).intersection(columns)
        facts = ((run.names.name(fact.name), fact) for fact in reversed(run.fields))
        fields = {name: replace(fact, name=name) for name, fact in facts if name in columns}
        return cls(
            config,
            dict(reversed(fields.items())),
            rules,
            columns,
            len(run.kept),
            dict(_heights(config)),
            isinstance(run.back, Lowered) and run.back.source.has_members,
        )

    def named(self, role: Role) -> tuple[str, ...]:
        """Return the fields that have a role."""
        return tuple(name for name, fact in self.fields.items() if fact.role is role)

    @property
    def masked_keys(self) -> tuple[str, ...]:
        """The quasi-identifiers that are masked, or may be where the fields are not known."""
        masked = self.named(Role.CONFIDENTIAL)
        return tuple(name for name in self.config.quasi_identifiers if name in masked or not self.fields)

    def values(self, name: str) -> int:
        """Return how many different values a field has."""
        return len(self.columns[name].texts()) if name in self.columns else 0

    def width(self, name: str, classes: int) -> int:
        """Return the width that makes at most so many classes: 1, 2 or 5 by a power of ten; 0 for texts."""
        if name not in self.columns or not self._numbers(name):
            return 0
        values = self.columns[name].values[self.columns[name].present]
        least = (float(values.max()) - float(values.min())) / classes if values.size else math.inf
        widths = (step * 10**power for power in range(15) for step in (1, 2, 5))
        return next((width for width in widths if width >= least), 0)

    def _numbers(self, name: str) -> bool:
        column = self.columns[name]
        return bool(column.is_number[column.present].all())

    def whole(self, name: str) -> bool:
        """Tell whether all values of a field are whole numbers."""
        return name in self.columns and not self.columns[name].decimals and self._numbers(name)

    def remedy(self, kind: RemedyKind, what: str, after: Config, reveals: str = "") -> RemedyResult:
        """Return other settings as a remedy, with the options that give them."""
        before, now = _stated(self.config), _stated(after)
        settings = {name: now[name] for name in now if now[name] != before[name]}
        adds, drops = list[Setting](), list[Setting]()
        for name in settings:
            said = declared_in(Config)[name]
            option = said.short or said.spelled(name)
            if option:
                come, gone = _options(said, option, before[name], now[name])
                adds, drops = adds + come, drops + gone
        return RemedyResult(kind, what, tuple(adds), tuple(drops), settings, reveals=reveals)

    def changing(self, kind: RemedyKind, what: str, reveals: str = "", **changes: Any) -> RemedyResult:
        """Return changes of settings as a remedy."""
        return self.remedy(kind, what, replace(self.config, **changes), reveals)


def _heights(config: Config) -> Iterator[tuple[str, int]]:
    """Yield the fields that a hierarchy recodes, with its highest level that leaves more than one value."""
    for name, text in config.recode.items():
        how = how_of(name, text)
        if isinstance(how, FromHierarchy):
            levels = read_hierarchy(how.path, name).levels
            yield name, max(at for at, level in enumerate(levels) if not at or len({*level.values()}) > 1)


def _stated(config: Config) -> dict[str, Any]:
    """Return settings as plain data, with the roles that recoding does not give by itself."""
    found = {name: _plain(getattr(config, name)) for name in declared_in(Config)}
    given = config.recoded_unnamed.intersection(config.recode)
    return found | {"roles": {name: role for name, role in found["roles"].items() if name not in given}}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return [*value] if isinstance(value, tuple) else str(value) if isinstance(value, Role) else value


def _options(said: Declared, option: str, old: Any, new: Any) -> tuple[list[Setting], list[Setting]]:
    """Return the options that are given for a setting, and those that are left out, where it changes."""
    if said.flags:
        chosen = [[Setting(said.flags[one][0])] if one in said.flags else [] for one in (new, old)]
        return chosen[0], chosen[1]
    if said.form is Shape.SWITCH:
        return ([Setting(option)], []) if new else ([], [Setting(option)])
    former, texts = _texts(old), _texts(new)
    come, gone = [one for one in texts if one not in former], [one for one in former if one not in texts]
    if come and said.form is Shape.LIST and said.merge is None:  # the options take the place of the whole list
        come = texts
    if come and said.form is Shape.VALUE:
        gone = []
    return [Setting(option, tuple(come))] if come else [], [Setting(option, tuple(gone))] if gone else []


def _texts(value: Any) -> list[str]:
    """Return a setting as its options have it, one text for each."""
    if isinstance(value, Mapping):
        texts = {name: ",".join(one) if isinstance(one, list) else one for name, one in value.items()}
        return [f"{name}={text}" if text != "" else name for name, text in texts.items()]
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [f"{one:g}" if isinstance(one, float) else str(one) for one in values]


def cost_of(remedy: RemedyResult) -> int:
    """Return the place of a remedy among the kinds of remedies, from those that give nothing up."""
    return _COST.index(remedy.kind)


def remedies_for(facts: Sequence[RefusalFacts], now: RefusedRun) -> tuple[RemedyResult, ...]:
    """Return what may help against a refusal, the cheapest first; none twice.

    Parameters
    ----------
    facts : sequence of RefusalFacts
        Why `mask` was refused; that of a method where there are none.
    now : RefusedRun

    Returns
    -------
    tuple of RemedyResult
        Untried.
    """
    found: dict[str, RemedyResult] = {}
    for fact in facts or (RefusalFacts("method"),):
        for remedy in (one for part in _PARTS[fact.kind] for one in part(fact, now)):
            if remedy.settings:  # else they are what they are to become
                found.setdefault(remedy.pasted, remedy)
    return tuple(sorted(found.values(), key=cost_of))


def _observed_values(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    share = math.ceil(10_000 * fact.groups / fact.records) / 100
    yield now.changing(
        "observed-share",
        f"let {counted(fact.groups, 'group')} of a block publish one record's values",
        f"the values of {fact.groups} respondents in {', '.join(fact.fields)} are published as they were",
        max_observed_share=share,
    )


def _few_records(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from _groups_of((fact.records, fact.records // 2 if fact.records >= 6 else 0), now)


def _rare_units(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield now.changing(
        "exclude",
        "leave out what fewer than k are composed like",
        "totals and counts are without these units, and that some are left out tells something of them",
        rare_units="exclude",
    )
    if fact.records < now.config.k:
        yield from _groups_of((fact.records,), now)


def _missing_taken_over(_: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield now.changing(
        "missing",
        "let records with a rare pattern of missing values take over another's",
        "nothing more; some values become missing, or stop being so",
        keep_missing=False,
    )


def _other_aggregators(_: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield now.changing("aggregator", "let the least loss decide which aggregator masks a block", aggregator=None)
    yield from (_aggregated_by(name, now) for name in ("mean", "median") if name != now.config.aggregator)


def _limits(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    if any("keys" in figure_of(one).needs and figure_of(one).group == "risk" for one in fact.figures):
        yield from _keys_shared(now)
    if fact.figures and {*OF_KEYS_ALONE}.issuperset(fact.figures) and not now.masked_keys:
        return
    for part in (_other_grouping, _larger_groups, _other_methods, _smaller_groups):
        yield from part(fact, now)


def _order_kept(_: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    if now.config.order != "keep":
        reveals = "the order of the original, by which a record may be found"
        yield now.changing("order", "write the records in the order of the original", reveals, order="keep")


def _original(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    if fact.records:
        yield now.changing(
            "exclude",
            f"leave out {counted(fact.records, 'record that breaks', 'records that break')} a rule",
            "totals and counts are without these records, and that some are left out tells something of them",
            invalid="exclude",
        )
    if own := [rule for rule in dict.fromkeys(fact.rules) if rule not in now.config.allow]:
        yield _allowed(own, now)


def _keys(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from _groups_of((fact.records,), now)  # a tail that is coded has so few
    for name in fact.conditions:
        if name in now.config.recode:
            recode = _without(now.config.recode, name)
            yield now.changing("role", f"do not recode {name}", f"every value of {name}", recode=recode)
    if not fact.rules:
        yield from _keys_in_classes(fact.conditions, now)
        yield from _keys_shared_by_fewer(now)
    elif not fact.conditions:
        yield from _let_go(fact, now)
    for rule in fact.rules if fact.conditions else ():
        yield now.changing(
            "allow-lost",
            f"let recoding leave nothing of {rule}",
            f"nothing is asked any more of what {rule} said",
            allow_lost=(*now.config.allow_lost, rule),
        )


def _suppression(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield coarser and fewer keys, fewer records that share them, and rules that keep cells from being left out."""
    keys, config = fact.conditions, now.config
    yield from _coarser_keys(keys, now)
    yield from _keys_in_classes(keys, now)
    yield from _keys_shared_by_fewer(now)
    for name in keys[:MOST_FIELDS] if len(keys) > 1 else ():
        yield now.changing(
            "role",
            f"leave {name} out of the file",
            f"nothing more; rules that read {name} are not asked",
            roles={**config.roles, name: Role.IDENTIFIER},
            recode=_without(config.recode, name),
        )
    own = {rule: [keys.index(name) for name in read & {*keys}] for rule, read in now.rules.items()}
    yield from _each_let_go(sorted((rule for rule in own if own[rule]), key=lambda rule: min(own[rule])), now)
    yield from _let_go(fact, now)


def _by_median(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    nominal = any(now.fields[name].kind is Kind.NOMINAL for name in fact.fields if name in now.fields)
    if now.config.aggregator is None and not nominal:
        yield _aggregated_by("median", now)


def _of_other_kinds(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield other kinds of values for fields that may have them: codes in order, codes without, quantities."""
    for name in _fewest_values_first(fact.fields, now):
        whole, values = now.whole(name), now.values(name)
        for kind, setting, words, fits in (
            (Kind.ORDINAL, "ordinal", "categories in the order of their numbers", whole and values <= MOST_VALUES),
            (Kind.NOMINAL, "nominal", "categories without an order", values <= MOST_CODES),
            (Kind.NUMBER, "numeric", "a quantity", whole),
        ):
            if fits and kind is not now.fields[name].kind:
                given = {setting: {name: ()} if setting == "ordinal" else (name,)}
                yield now.remedy("kind", f"mask {name} as {words}", now.config.with_options(given))


def _aggregated_by(name: str, now: RefusedRun) -> RemedyResult:
    reveals = "a median is a value that some respondent had" if name == "median" else ""
    what = f"mask by the {name} of a group wherever that suits the fields"
    return now.changing("aggregator", what, reveals, aggregator=name)


def _other_grouping(_: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that groups are formed over all fields, or where they are, by rules; not where there is no choice."""
    if now.whole_units:
        return
    if now.config.grouping == "rules":
        yield now.changing("grouping", "form groups once, over all masked fields", grouping="all")
    else:
        what = "form groups for each block of fields that share a rule"
        reveals = "records are alike block by block, and no more in all masked fields together"
        yield now.changing("grouping", what, reveals, grouping="rules")


def _groups_of(sizes: Iterable[int], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield groups of other sizes, of which there are at least two as far as that is known."""
    was = now.config.k
    for k in sizes:
        if 2 <= k < was:
            reveals = f"values are shared by {k} records instead of {was}"
            yield now.changing("smaller-k", f"groups of at least {k} records", reveals, k=k)
        elif k > was and (now.records is None or now.records >= 2 * k):
            yield now.changing("larger-k", f"groups of at least {k} records", k=k)


def _larger_groups(_: RefusalFacts, now: RefusedRun, times: Iterable[int] = (2, 4)) -> Iterator[RemedyResult]:
    """Yield groups of twice as many, and more."""
    yield from _groups_of((time * now.config.k for time in times), now)


def _smaller_groups(_: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield groups of 3, where k is larger."""
    yield from _groups_of((3,) if now.config.k > 3 else (), now)


def _other_methods(
    _: RefusalFacts, now: RefusedRun, names: Iterable[str] = ("mdav", *DRAWING)
) -> Iterator[RemedyResult]:
    """Yield other methods than that of the run, by name; none that draws where nothing could be drawn."""
    numbers = any(now.fields[name].numeric for name in now.named(Role.CONFIDENTIAL))
    for name in names:
        method = method_named(name)
        draws = not issubclass(method, Partitioning)
        if name != now.config.method and (numbers or method.categories or not draws):
            reveals = "values are drawn: no groups of k records share them" if draws else ""
            yield now.changing("method", f"mask by {name}", reveals, method=name, params={})


def _masked_as_well(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that the unmasked fields which rules read beside masked ones are masked, too."""
    config, written = now.config, (Role.IDENTIFIER, Role.CONFIDENTIAL, Role.WEIGHT)
    more = [name for name in fact.conditions if name in now.fields and now.fields[name].role not in written]
    if more:
        codes = [name for name in more if now.fields[name].numeric and now.values(name) <= MOST_CODES]
        codes = [name for name in codes if config.kind_of(name) is None]
        roles = {**config.roles, **dict.fromkeys(more, Role.CONFIDENTIAL)}
        what = f"mask {', '.join(more)} as well"
        yield now.changing("mask-more", what, roles=roles, nominal=(*config.nominal, *codes))


def _one_unmasked(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield for each field that it is released as it is, if another one is left to mask."""
    for name in _fewest_values_first(fact.fields, now):
        yield from _unmasked([name], now)


def _all_unmasked(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that fields are released as they are, all at once, if another one is left to mask."""
    yield from _unmasked(fact.fields, now)


def _unmasked(names: Sequence[str], now: RefusedRun) -> Iterator[RemedyResult]:
    if names and not {*now.named(Role.CONFIDENTIAL)} <= {*names}:
        listed, are = ", ".join(names), "they are" if len(names) > 1 else "it is"
        yield now.changing(
            "role",
            f"release {listed} as {are}, and measure the risk of that",
            f"every value of {listed}",
            roles={**now.config.roles, **dict.fromkeys(names, Role.QUASI_IDENTIFIER)},
        )


def _fewest_values_first(names: Iterable[str], now: RefusedRun) -> list[str]:
    """Order masked fields from the fewest different values, and take some."""
    masked = now.named(Role.CONFIDENTIAL)
    return sorted((name for name in names if name in masked), key=lambda name: (now.values(name), name))[:MOST_FIELDS]


def _let_go(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield for each rule that stands in the way that it may be broken in the masked file."""
    yield from _each_let_go(fact.rules, now)


def _each_let_go(rules: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    own = [rule for rule in dict.fromkeys(rules) if rule not in now.config.allow]
    yield from (_allowed([rule], now) for rule in own[:MOST_FIELDS])


def _allowed(rules: Sequence[str], now: RefusedRun) -> RemedyResult:
    listed, allow = ", ".join(rules), (*now.config.allow, *rules)
    return now.changing("allow", f"do not keep {listed}", f"the masked file may break {listed}", allow=allow)


def _in_the_way(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that rules may be broken: those that are known to stand in the way, else those that read the fields."""
    own = {*fact.fields, *fact.conditions}
    reading = {rule: names & own for rule, names in now.rules.items() if not names.isdisjoint(fact.fields)}
    yield from _each_let_go(fact.rules or sorted(reading, key=lambda rule: -len(reading[rule])), now)


def _keys_shared(now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that keys are recoded or suppressed, by themselves and all at once."""
    keys = now.named(Role.QUASI_IDENTIFIER)
    always = [*_weight_in_classes(now), *_suppressed(now)]
    yield from always
    yield from _coarser_keys(keys, now)
    yield from _keys_in_classes(keys, now)
    for several in (always, *([*_keys_in_classes(keys, now, (classes,)), *always] for classes in _CLASSES)):
        if len(several) > 1:
            recode = {name: how for one in several for name, how in one.settings.get("recode", {}).items()}
            key_k = next((one.settings["key_k"] for one in several if "key_k" in one.settings), now.config.key_k)
            kind, what = max(several, key=cost_of).kind, "; ".join(one.what for one in several)
            yield now.changing(kind, what, recode={**now.config.recode, **recode}, key_k=key_k)


def _suppressed(now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that keys are suppressed, until as many share them as a limit asks for."""
    k = fewest_alike(now.config.limits)
    if now.config.key_k is None or now.config.key_k < k:
        what = f"leave out cells of keys until {k} records share each combination"
        yield now.changing("suppress", what, key_k=k)


def _keys_shared_by_fewer(now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield a smaller k for keys, and that none is suppressed."""
    if (k := now.config.key_k) is None:
        return
    for fewer in sorted({one for one in (KEY_K, 2) if one < k}, reverse=True):
        what = f"let {fewer} records share each combination of keys"
        yield now.changing("smaller-key-k", what, f"keys are shared by {fewer} records instead of {k}", key_k=fewer)
    yield now.changing(
        "smaller-key-k", "suppress no key", "records may be alone with their keys", key_k=None, keys={}
    )


def _weight_in_classes(now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that the weight, which is a key where it is written, takes few values."""
    for weight in now.named(Role.WEIGHT)[:1]:
        if weight in now.columns and weight not in now.config.recode:
            how = weight_classes(now.columns[weight], now.config.k)
            yield _recoded(weight, how, f"write the means of classes of {weight}", now)


def _keys_in_classes(names: Iterable[str], now: RefusedRun, some: Sequence[int] = _CLASSES) -> Iterator[RemedyResult]:
    """Yield that keys with many numbers are written in some ten or five classes; those in classes, in wider ones."""
    for name in names:
        how = now.config.recode.get(name)
        widths: Iterable[int] = ()
        if how is None and now.values(name) > _CLASSES[0]:
            widths = dict.fromkeys(now.width(name, classes) for classes in some)
        elif how is not None and (found := _WIDTH.fullmatch(how)):
            widths = (2 * int(found[1]),)
        for width in filter(None, widths):
            yield _recoded(name, f"width:{width}", f"write {name} in classes of {width}", now)


def _coarser_keys(names: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield the next level of hierarchies, and every other break."""
    for name in names:
        how = how_of(name, now.config.recode[name]) if name in now.config.recode else None
        if isinstance(how, FromHierarchy) and how.level < now.heights.get(name, 0):
            level = how.level + 1
            yield _recoded(name, f"{how.path.as_posix()}:{level}", f"write {name} by level {level}", now)
        elif isinstance(how, Breaks) and how.statistic is None and len(how.breaks) > 2:
            breaks = now.config.recode[name].partition(":")[2].split(",")[::2]
            yield _recoded(name, f"breaks:{','.join(breaks)}", f"write {name} in half as many classes", now)


def _recoded(name: str, how: str, what: str, now: RefusedRun) -> RemedyResult:
    return now.changing("recode", what, recode={**now.config.recode, name: how})


def _without(recode: Mapping[str, str], name: str) -> dict[str, str]:
    return {key: how for key, how in recode.items() if key != name}


type _Part = Callable[[RefusalFacts, RefusedRun], Iterator[RemedyResult]]
_REGROUPED: tuple[_Part, ...] = (
    *(_of_other_kinds, _by_median, _other_grouping, _larger_groups),
    partial(_other_methods, names=DRAWING),
)
"""What leaves the groups at least as large as they are."""
_NO_PROTOTYPE = (*_REGROUPED, _masked_as_well, _smaller_groups, _one_unmasked, _in_the_way)
_ACROSS: tuple[_Part, ...] = (partial(_larger_groups, times=(2,)), _smaller_groups, _all_unmasked, _let_go)
_PARTS: Mapping[RefusalKind, tuple[_Part, ...]] = {
    "copied": (*_REGROUPED, _observed_values, _smaller_groups, _one_unmasked, _in_the_way),
    "no-prototype": _NO_PROTOTYPE,
    "few-records": (_few_records,),
    "rare-units": (_rare_units,),
    "missing-pattern": (_missing_taken_over, _smaller_groups, _one_unmasked),
    "across-records": _ACROSS,
    "total": _ACROSS,
    "aggregator": (_other_aggregators, _let_go),
    "no-aggregator": (_of_other_kinds, _one_unmasked, _let_go),
    "solved-loss": _NO_PROTOTYPE,
    "method": (_other_methods, _smaller_groups, _one_unmasked),
    "contract": (partial(_other_methods, names=("mdav",)), _one_unmasked),
    "limits": (_limits,),
    "written": (_order_kept, *_ACROSS),
    "original": (_original,),
    "keys": (_keys,),
    "suppression": (_suppression,),
}
"""What may help against each kind of refusal, in this order among what costs the same."""

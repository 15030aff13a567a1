"""Remedies of keys: recoded more coarsely or not at all, suppressed, shared by fewer, or left out of the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from typing import Any

from masktron.config import Role
from masktron.figures import figure_of
from masktron.jobs.outside_limits import KEY_K, fewest_alike, weight_classes
from masktron.jobs.remedies.field_remedies import roles_with
from masktron.jobs.remedies.refused_run import RefusedRun
from masktron.jobs.remedies.remedy_cost import cost_of
from masktron.problems.problem import Setting
from masktron.recoding_settings import Breaks, FromHierarchy, how_of
from masktron.results.refusal import RemedyResult

_CLASSES = (10, 5)
"""Classes in which a key is written, about."""
_WIDTH = re.compile(r"width:([0-9]+)")


def key_left_out(name: str, now: RefusedRun) -> RemedyResult:
    """Return that a key is not released."""
    recode = {key: how for key, how in now.config.recode.items() if key != name}
    return RemedyResult(
        "role",
        f"leave {name} out of the file",
        (Setting("--role", (f"{name}={Role.IDENTIFIER}",)),),
        _recoding_of(name, now.config.recode.get(name)),
        {
            "roles": roles_with(now.config, {name: Role.IDENTIFIER}),
            **({"recode": recode} if recode != dict(now.config.recode) else {}),
        },
        reveals=f"nothing more; rules that read {name} are not asked",
    )


def keys_shared(figures: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that keys are recoded or suppressed, by themselves and all at once, where a limit on keys is broken."""
    broken = [one for one in map(figure_of, figures) if "keys" in one.needs and one.group == "risk"]
    if not broken:
        return
    always = [*_weight_in_classes(now), *_suppressed(now)]
    yield from always
    yield from coarser_keys(now.keys, now)
    yield from keys_in_classes(now.keys, now)
    for several in (always, *([*keys_in_classes(now.keys, now, (classes,)), *always] for classes in _CLASSES)):
        if len(several) > 1:
            yield _together(several)


def _suppressed(now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that keys are suppressed, until as many share them as a limit asks for."""
    k = fewest_alike(now.config.limits)
    if now.config.key_k is None or now.config.key_k < k:
        yield RemedyResult(
            "suppress",
            f"leave out cells of keys until {k} records share each combination",
            (_key_k(k),),
            settings={"key_k": k},
        )


def _weight_in_classes(now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that the weight, which is a key where it is written, takes few values."""
    weight = next((name for name, fact in now.fields.items() if fact.role is Role.WEIGHT), None)
    if weight is None or now.records is None or weight in now.config.recode:
        return
    how = weight_classes(now.records.columns[weight], now.config.k)
    yield RemedyResult(
        "recode",
        f"write the means of classes of {weight}",
        _recoding_of(weight, how),
        settings={"recode": {**now.config.recode, weight: how}},
    )


def keys_in_classes(names: Iterable[str], now: RefusedRun, some: Sequence[int] = _CLASSES) -> Iterator[RemedyResult]:
    """Yield that keys with many numbers are written in some ten or five classes; those in classes, in wider ones."""
    for name in names:
        how = now.config.recode.get(name)
        if how is None and now.values(name) > _CLASSES[0]:
            for width in dict.fromkeys(now.width(name, classes) for classes in some):
                if width:
                    yield _of_width(name, width, now)
        elif how is not None and (found := _WIDTH.fullmatch(how)):
            yield _of_width(name, 2 * int(found[1]), now)


def coarser_keys(names: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield the next level of hierarchies, and every other break."""
    for name in names:
        how = how_of(name, now.config.recode[name]) if name in now.config.recode else None
        if isinstance(how, FromHierarchy) and how.level < now.heights.get(name, 0):
            yield _recoded_as(
                name, f"{how.path.as_posix()}:{how.level + 1}", f"write {name} by level {how.level + 1}", now
            )
        elif isinstance(how, Breaks) and how.statistic is None and len(how.breaks) > 2:
            breaks = now.config.recode[name].partition(":")[2].split(",")[::2]
            yield _recoded_as(name, f"breaks:{','.join(breaks)}", f"write {name} in half as many classes", now)


def _recoded_as(name: str, text: str, what: str, now: RefusedRun) -> RemedyResult:
    """Return that a field is recoded in another way than it is, if it is."""
    return RemedyResult(
        "recode",
        what,
        _recoding_of(name, text),
        _recoding_of(name, now.config.recode.get(name)),
        settings={"recode": {**now.config.recode, name: text}},
    )


def _of_width(name: str, width: int, now: RefusedRun) -> RemedyResult:
    return _recoded_as(name, f"width:{width}", f"write {name} in classes of {width}", now)


def _together(several: Sequence[RemedyResult]) -> RemedyResult:
    """Join remedies of keys into one: none of them may help by itself."""
    recode = {name: how for one in several for name, how in one.settings.get("recode", {}).items()}
    changed: dict[str, Any] = {key: value for one in several for key, value in one.settings.items()}
    return RemedyResult(
        max(several, key=cost_of).kind,
        "; ".join(one.what for one in several),
        _joined(setting for one in several for setting in one.adds),
        _joined(setting for one in several for setting in one.drops),
        {**changed, **({"recode": recode} if recode else {})},
    )


def _joined(settings: Iterable[Setting]) -> tuple[Setting, ...]:
    """Return settings, each once with all its values."""
    values: dict[str, tuple[str, ...]] = {}
    for one in settings:
        values[one.option] = (*values.get(one.option, ()), *one.values)
    return tuple(starmap(Setting, values.items()))


def _recoding_of(name: str, how: str | None) -> tuple[Setting, ...]:
    return () if how is None else (Setting("--recode", (f"{name}={how}",)),)


def _key_k(k: int) -> Setting:
    return Setting("--key-k", (str(k),))


def not_recoded(names: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield for each recoded field that it is not."""
    for name in names:
        if how := now.config.recode.get(name):
            yield RemedyResult(
                "role",
                f"do not recode {name}",
                drops=_recoding_of(name, how),
                settings={"recode": {key: one for key, one in now.config.recode.items() if key != name}},
                reveals=f"every value of {name}",
            )


def keys_shared_by_fewer(now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield a smaller k for keys, and that none is suppressed."""
    k = now.config.key_k
    if k is None:
        return
    for fewer in sorted({KEY_K, 2}, reverse=True):
        if fewer < k:
            yield RemedyResult(
                "smaller-key-k",
                f"let {fewer} records share each combination of keys",
                (_key_k(fewer),),
                settings={"key_k": fewer, "keys": dict(now.config.keys)},
                reveals=f"keys are shared by {fewer} records instead of {k}",
            )
    yield RemedyResult(
        "smaller-key-k",
        "suppress no key",
        drops=(_key_k(k),),
        settings={"key_k": None, "keys": {}},
        reveals="records may be alone with their keys",
    )


def rules_lost(rules: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that recoding may leave nothing of a rule."""
    for rule in rules:
        yield RemedyResult(
            "allow-lost",
            f"let recoding leave nothing of {rule}",
            (Setting("--allow-lost", (rule,)),),
            settings={"allow_lost": [*now.config.allow_lost, rule]},
            reveals=f"nothing is asked any more of what {rule} said",
        )

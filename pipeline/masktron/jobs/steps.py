"""The steps of a run that change fields before the others are masked: recode, spread weights, draw, swap, suppress.

Each is given the records of the levels of a file (`levels`) and returns them as it leaves them, with what it has done
in the account; recoding changes the rules, too. `treated_records` takes them one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from masktron.config import Config
from masktron.errors import UsageError
from masktron.jobs.keys_known import needs_keys
from masktron.jobs.levels import Levels
from masktron.jobs.post_randomised import draw_categories
from masktron.jobs.recoded import checked_recoding, missing_codes_of, missing_texts_of, recoding_of, variable_of
from masktron.jobs.reweighted import spread_weights
from masktron.jobs.run import Run
from masktron.jobs.suppressed import suppress_keys
from masktron.jobs.swapped import swap_regions
from masktron.jobs.translated_rules import refuse_lost, rules_beside, rules_read_back, title_of
from masktron.jobs.written_classes import written_classes
from masktron.perturbation_settings import pram_settings, together
from masktron.problems.problem import Setting, SettingName
from masktron.progress import Progress, no_progress, told_as
from masktron.sources.column import Column
from masktron.sources.level_tree import LevelPath
from masktron.step_kinds import (
    Postrandomised,
    Recoded,
    Reweighted,
    Suppressed,
    Swapped,
    Treatment,
    names_in,
    recodings_in,
    steps_of,
)


def chain_of(config: Config) -> dict[type[Treatment], tuple[str, ...]]:
    """Return the steps that settings ask for, in the order in which they are taken, with the fields that they name.

    Raises
    ------
    UsageError
        Settings say how keys are suppressed, and not until how many records share them.
    """
    if config.key_k is None and config.keys:
        said = SettingName("keys", (next(iter(config.keys)),))
        raise UsageError.of("needs-setting", name=said, setting=Setting("--key-k", ("3",)), needed="another option")
    return steps_of(config)


def take_step(
    kind: type[Treatment], levels: Levels, rules_out: Path | None = None, progress: Progress = no_progress
) -> Levels:
    """Take one step of the settings.

    Parameters
    ----------
    kind : type of Treatment
    levels : FlatRun or LevelRuns
    rules_out : Path, optional
        What a translated rulebook is going to be called; where nothing is published, None.
    progress : callable

    Returns
    -------
    FlatRun or LevelRuns
        The records of the levels with what it has done in the account.
    """
    return TAKEN[kind](levels, rules_out, progress)


def _recode_fields(levels: Levels, rules_out: Path | None, progress: Progress) -> Levels:
    """Recode fields, and ask the rules as they are translated: written, and read back.

    Raises
    ------
    UsageError, DocumentError, InfeasibleError
        A field cannot be recoded so; or a rule is lost that nobody let go.
    """
    del progress
    by_level: dict[LevelPath, dict[str, str]] = {}
    for name, how in levels.given.recode.items():
        by_level.setdefault(levels.level_of([name], f"recode.{name}"), {})[name] = how
    for path, recode in by_level.items():
        level = levels.at(path, recode=recode)
        columns, done = recoded_columns(level)
        levels = levels.after(path, level.after(columns, *done))
    treatments = levels.run.account.treatments
    translation = levels.translation(recodings_in(treatments))
    refuse_lost(levels.run, translation)
    account = replace(levels.run.account, rules=translation.rules)
    if not any(rule.changed for rule in translation.rules):
        return levels.asking(account, None)
    account = replace(
        account, rulebook=translation.schematron(title_of(recodings_in(treatments)), names_in(treatments))
    )
    place = rules_out or rules_beside(levels.run.original.source.path)
    return levels.asking(account, rules_read_back(levels.run, account.rulebook, place))


def recoded_columns(run: Run) -> tuple[dict[str, Column], list[Recoded]]:
    """Recode the fields of the settings, and say how.

    Raises
    ------
    UsageError, DocumentError, InfeasibleError
        A field cannot be recoded so.
    """
    config, records, keep, job = run.config, run.records, run.originals.keep, run.job
    done: list[Recoded] = []
    columns: dict[str, Column] = {}
    for name, how in config.recode.items():
        variable, missing = variable_of(job.source, name), missing_codes_of(name, config)
        meant = recoding_of(name, records, keep, config, config.weight, variable)
        order = () if variable is None else variable.order
        written = written_classes(meant, job.source, missing, order)
        columns[name] = checked_recoding(written.recoding, records, keep, missing)
        kept = missing_texts_of(columns[name].taken(np.flatnonzero(keep)))
        own = next((one for one in job.source.own_variables if one.name == name), None)
        if (form := written.form(own, missing, kept)) is not None:
            columns[name] = replace(columns[name], variable=job.source.recoded(name, form))
        done.append(Recoded(written.recoding, how, written.names))
    return columns, done


def _spread_weights(levels: Levels, *_: object) -> Levels:
    """Spread the weights of records left out over others of their level."""
    setting, within = "reweight", levels.given.reweight
    path = levels.level_of(Reweighted.fields_of(levels.given), setting)
    levels.require_around(path, within, setting)
    return levels.after(path, spread_weights(levels.at(path, reweight=within)))


def _draw_fields(levels: Levels, *_: object) -> Levels:
    """Draw fields anew, each on its level, given values of fields of this level and of those around."""
    for name, text in levels.given.pram.items():
        setting = f"pram.{name}"
        path, how = levels.level_of(together(name), setting), pram_settings(setting, text)
        levels.require_around(path, how.within, setting)
        levels.require_households(path, how.household, setting)
        levels = levels.after(path, draw_categories(levels.at(path, pram={name: text})))
    return levels


def _swap_regions(levels: Levels, *_: object) -> Levels:
    """Exchange regions between records of a level, which move with all that is within them."""
    swap = levels.given.swap
    path = levels.level_of(swap["regions"], "swap")
    levels.require_around(path, (*swap.get("keys", ()), *swap.get("similar", ())), "swap")
    levels.require_households(path, swap.get("household"), "swap")
    return levels.after(path, swap_regions(levels.at(path, swap=swap)))


def _suppress_keys(levels: Levels, rules_out: Path | None, progress: Progress) -> Levels:
    """Leave out keys of each level, from the top down: k records of it share them with those of what is around.

    Raises
    ------
    UsageError
        There is no key.
    """
    del rules_out
    told = told_as(progress, "suppressing keys", "sets of keys")
    key_k, before = levels.given.key_k, len(levels.run.account.treatments)
    for path in levels.paths:
        level = levels.at(path, key_k=key_k)
        if levels.has_keys(path, level.keys):
            levels = levels.after(path, suppress_keys(level, told))
    if len(levels.run.account.treatments) == before:
        raise needs_keys(Setting("--key-k", (str(key_k),)), str(levels.run.source.path))
    return levels


TAKEN: Mapping[type[Treatment], Callable[[Levels, Path | None, Progress], Levels]] = {
    Recoded: _recode_fields,
    Reweighted: _spread_weights,
    Postrandomised: _draw_fields,
    Swapped: _swap_regions,
    Suppressed: _suppress_keys,
}
"""What takes a step of each kind."""

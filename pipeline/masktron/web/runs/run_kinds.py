"""Kinds of runs: what each is called, and what of a project its result depends on.

A page starts a run of a kind (`web_page.Visit.start`), and `pages.step_runs.is_current` asks the kind which changes
make its result speak of something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from masktron.config import Config
from masktron.declared import about, declared_in
from masktron.web.runs.one_run import Argument, InRun
from masktron.web.store.project_settings import NAME

_READING, _FIELDS, _JUDGING, _TREATING = (
    about(Config, topic) for topic in ("reading", "fields", "judging", "treating")
)
_ALL = frozenset(declared_in(Config))
"""All settings; ``tune`` is none, as it changes nothing for other commands."""
_WAY = about(Config, "way")
"""Settings that say which way to mask was taken: `tune` tries several."""


@dataclass(frozen=True, slots=True)
class RunKind:
    """A kind of run.

    Attributes
    ----------
    step : str
        What the folders of its runs are called after their number: ``mask``.
    data : bool
        Whether its result depends on the microdata.
    without_data : bool
        Whether it is also done where there are no data.
    rules : bool
        Whether it depends on the rulebook, and on what that takes in.
    settings : frozenset of str
        The settings on which it depends.
    takes_settings : bool
        Whether the command gets the copy of the settings in the folder of the run. Without ``--config`` a command
        takes the settings of the folder in which it works, so the same command would do something else as soon as
        they change.
    """

    step: str
    data: bool = True
    without_data: bool = False
    rules: bool = True
    settings: frozenset[str] = _ALL
    takes_settings: bool = True

    def command(self, words: Sequence[Argument]) -> tuple[Argument, ...]:
        """Return the words of a command with those that every run of this kind has."""
        return (*words, "--config", InRun(NAME)) if self.takes_settings else tuple(words)


DESCRIBE = RunKind("describe", rules=False, settings=_READING | _FIELDS)
RECORDS = RunKind("records", rules=False, settings=_READING | _FIELDS)
"""Reads other records than the first ones."""
RULES_CHECK = RunKind("rules", without_data=True, settings=_READING | _JUDGING | {"missing", "allow"})
DRAFT = RunKind("draft", without_data=True, rules=False, settings=RULES_CHECK.settings)
"""Tries a rule out alone: its rulebook is what was typed."""
DRAFT_WHOLE = RunKind("draft-whole", without_data=True, rules=False, settings=RULES_CHECK.settings)
"""Tries a rule out beside all others."""
SUGGEST = RunKind("suggest", rules=False, settings=_READING | _FIELDS)
VALIDATE = RunKind("validate", settings=_READING | _JUDGING)
KEYS = RunKind("keys", settings=_READING | _FIELDS | _JUDGING | _TREATING | {"allow", "protect", "member_order"})
"""Says what keys tell, and tries the treatments of the settings."""
KEYS_DRAFT = RunKind("keys-draft", rules=KEYS.rules, settings=KEYS.settings)
"""Tries treatments out that nobody has saved: its settings are what was typed."""
HIERARCHY = RunKind("hierarchy", rules=False, settings=_READING | {"missing"})
"""Proposes classes for the values of a field."""
CHOOSE = RunKind("choose", settings=_ALL - _WAY)
PLAN = RunKind("plan")
MASK = RunKind("mask")
CHECK = RunKind("check", data=False, rules=False, settings=frozenset(), takes_settings=False)
"""Works with the files of the run that has masked, and names the copy of settings of that run."""
CONVERT = RunKind("convert", data=False, rules=False, settings=frozenset(), takes_settings=False)
"""Works with the files of the run that has masked; the command reads no settings."""

KINDS: Mapping[str, RunKind] = {
    kind.step: kind
    for kind in (
        DESCRIBE, RECORDS, RULES_CHECK, DRAFT, DRAFT_WHOLE, SUGGEST, VALIDATE, KEYS, KEYS_DRAFT, HIERARCHY, CHOOSE,
        PLAN, MASK, CHECK, CONVERT,
    )
}  # fmt: skip
"""All kinds, by what folders of their runs are called."""

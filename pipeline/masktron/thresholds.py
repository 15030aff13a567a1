"""How many failures a rule may have before they decide the exit code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from masktron.errors import UsageError
from masktron.problems.problem import SettingName

OTHERS = "*"
"""Stands for the rules that no threshold names; soft ones only count where they are named."""

_COUNT = re.compile(r"[0-9]+")
_HINT = "for example: income-sum=5, income-sum=0.5%, or *=1% for all other rules"
_SHARE = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+) ?%")


@dataclass(frozen=True, slots=True)
class Threshold:
    """Most failures of a rule.

    Attributes
    ----------
    bound : Fraction
        A number of nodes, or per cent of the nodes on which the rule fired.
    share : bool
        Whether it is per cent.
    text : str
        As somebody wrote it.
    """

    bound: Fraction
    share: bool
    text: str

    def admits(self, failures: int, fired: int) -> bool:
        """Whether a rule may fail so often, errors included; exact, also for shares."""
        return 100 * failures <= self.bound * fired if self.share else failures <= self.bound

    def __str__(self) -> str:
        return self.text


def threshold(value: object, name: str) -> Threshold:
    """Read ``5`` or ``0.5%``; `name` is the rule's, for the message.

    Raises
    ------
    UsageError
        It is neither a number of nodes nor a share from 0 % to 100 %.
    """
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if _COUNT.fullmatch(text):
        return Threshold(Fraction(text), False, text)
    share = _SHARE.fullmatch(text)
    if share is None or Fraction(share[1]) > 100:
        expected = "a number of failures, or a share from 0% to 100%"
        setting = SettingName("max_failures", (name,))
        raise UsageError.of("bad-value", name=setting, expected=expected, given=repr(value), hint=_HINT)
    return Threshold(Fraction(share[1]), True, f"{share[1]}%")


def thresholds(table: object) -> dict[str, Threshold]:
    """Read a table RULE = bound, where `OTHERS` stands for the rules that it does not name.

    Raises
    ------
    UsageError
        It is no table, or a bound cannot be read.
    """
    if not isinstance(table, Mapping) or not all(isinstance(rule, str) for rule in table):
        setting, expected = SettingName("max_failures"), "a table RULE = bound"
        raise UsageError.of("bad-value", name=setting, expected=expected, given=repr(table), hint=_HINT)
    return {rule: bound if isinstance(bound, Threshold) else threshold(bound, rule) for rule, bound in table.items()}

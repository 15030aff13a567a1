"""Spell an expression in another way: white space, comments and prefixes where XPath lets them stand."""

from __future__ import annotations

import re
from collections.abc import Collection
from random import Random

_TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<string>"[^"]*"|'[^']*')|(?P<place>\$par\w)|(?P<variable>\$[\w.\-]+)"""
    r"""|(?P<number>\d+(?:\.\d+)?(?:e\d+)?|\.\d+)"""
    r"""|(?P<name>[A-Za-z_][\w.\-]*(?::(?!:)(?:[A-Za-z_][\w.\-]*|\*))?)"""
    r"""|(?P<symbol>::|//|!=|<=|>=|<<|>>|:=|=>|\|\||\.\.|\S)"""
)
_SPACES = (" ", "  ", "\n", "\t", " \n  ")
_COMMENTS = ("(: note :)", "(:':)", "(: a (: b :) ] :)", "(::)", '(: " or ( :)')
_SIGNS = "( [ , / // :: = != < <= > >= + - * | || ! => << >> :="
_WORDS = "and or div mod idiv in return satisfies then else eq ne lt le gt ge union intersect except to is"
_OPENERS = frozenset((*_SIGNS.split(), *_WORDS.split()))
"""After these an operand follows, and no operator."""


class Speller:
    """Spells expressions.

    Parameters
    ----------
    random : Random
    elements : collection of str
        Names that get the prefix.
    prefix : str
        Empty for none.
    comments : bool
        Whether they may stand there: from XPath 2.0 on.
    loose : float
        Share of the places where something is put in.
    """

    def __init__(
        self, random: Random, elements: Collection[str], prefix: str, *, comments: bool, loose: float
    ) -> None:
        self.random, self.elements, self.prefix, self.comments, self.loose = random, elements, prefix, comments, loose

    def __call__(self, text: str) -> str:
        """Return the expression, spelled otherwise."""
        made, before, apart = "", "(", False
        for found in _TOKEN.finditer(text):
            token = found[0]
            if found.lastgroup == "space":
                apart = True
                continue
            if made and (apart or self.random.random() < self.loose):
                made += self._between(needed=apart)
            if self.prefix and token in self.elements and before in _OPENERS:
                made += f"{self.prefix}:"
            elif found.lastgroup == "variable" and self.random.random() < self.loose / 2:
                token = f"${self.random.choice(_SPACES)}{token[1:]}"
            made, before, apart = made + token, found[0], False
        if self.random.random() < self.loose:
            made = f"{self._between(needed=False)}{made}{self._between(needed=False)}"
        return made

    def _between(self, *, needed: bool) -> str:
        usual = needed and self.random.random() > self.loose
        if usual:
            return " "
        choices = (*_SPACES, *(_COMMENTS if self.comments else ()))
        return "".join(self.random.choice(choices) for _ in range(self.random.choice((1, 1, 2))))

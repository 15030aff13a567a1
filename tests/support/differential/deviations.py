"""Disagreements that are known: whose they are, and what the standard says. What none of them explains fails a run.

The rows that `engines_table` has too are named by its ids; ``docs/engines.md`` shows them with an example. No row
excuses a disagreement between the tiers of masktron.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from differential.told import ERROR, NOT_FIRED
from masktron.sources.lexical import reads_alike


@dataclass(frozen=True, slots=True)
class Difference:
    """One check on which two evaluations disagree, in one record.

    Attributes
    ----------
    engines : tuple of (str, str)
        Who disagree, for example libxml2 and saxon.
    expressions : str
        Test, context and variables.
    labels, let_labels : frozenset of str
        Operators in them, and in the variables alone.
    lexemes : tuple of str
        Values of the record.
    marks : tuple of (str, str)
        What each says of the record.
    confirmed : bool
        Whether Saxon, optimising, gives the second answer where it is asked for that node alone.
    """

    engines: tuple[str, str]
    expressions: str
    labels: frozenset[str]
    let_labels: frozenset[str]
    lexemes: tuple[str, ...]
    marks: tuple[str, str]
    confirmed: bool = False

    @property
    def texts(self) -> frozenset[str]:
        """Values and literals without white space around them."""
        return frozenset(text.strip() for text in (*self.lexemes, *_literals(self.expressions)))

    @property
    def made(self) -> tuple[str, ...]:
        """Values and literals."""
        return (*self.lexemes, *_literals(self.expressions))


def _literals(expressions: str) -> list[str]:
    return [*re.findall(r"'([^']*)'", expressions), *re.findall(r"[0-9]*\.?[0-9]+\.?", expressions)]


@dataclass(frozen=True, slots=True)
class Deviation:
    """A known disagreement.

    Attributes
    ----------
    id : str
    engine : str
        Which one departs from the standard, or whom the standard lets choose.
    says : str
    paragraph : str
    applies : callable
    """

    id: str
    engine: str
    says: str
    paragraph: str
    applies: Callable[[Difference], bool]


def _saxon_1(d: Difference) -> bool:
    return "saxon 1.0" in d.engines


def _libxml2(d: Difference) -> bool:
    return "libxml2" in d.engines


_EXPONENT = re.compile(r"[0-9.][eE]")


_INFINITE = re.compile(r"[+-]?(inf|infinity)", re.IGNORECASE)


def _prints(d: Difference) -> bool:
    """Whether a number may be written as text: by string(), or by a function that takes a string."""
    return _saxon_1(d) and bool(d.labels & _TEXTS)


_TEXTS = frozenset({"string", "concat", "contains", "starts-with", "substring", "translate", "normalize-space"}) | {
    "substring-before",
    "substring-after",
    "string-length",
}

_ASKED = re.compile(r"\bif \(.*\bthen\b.*\belse\b.*\) instance of xs:")
"""A condition whose value is asked for its type."""
_ORDERS = frozenset({"<", "<=", ">", ">="})

DEVIATIONS = (
    Deviation(
        "saxon-plus-sign",
        "Saxon",
        "+5 is a number in its 1.0 mode.",
        "XPath 1.0, 4.4; XPath 2.0, I.1",
        lambda d: _saxon_1(d) and any(text.startswith("+") for text in d.texts),
    ),
    Deviation(
        "saxon-infinity",
        "Saxon",
        "INF is a number in its 1.0 mode.",
        "XPath 1.0, 4.4; XPath 2.0, I.1",
        lambda d: _saxon_1(d) and any(_INFINITE.fullmatch(text) for text in d.texts),
    ),
    Deviation(
        "saxon-exponent",
        "Saxon",
        "1e3 is a number in its 1.0 mode.",
        "XPath 1.0, 3.7, production 30",
        lambda d: _saxon_1(d) and any(_EXPONENT.search(text) for text in d.made),
    ),
    Deviation(
        "libxml2-exponent",
        "libxml2",
        "1e3 is a number.",
        "XPath 1.0, 3.7, production 30",
        lambda d: _libxml2(d) and any(_EXPONENT.search(text) for text in d.made),
    ),
    Deviation(
        "libxml2-rounding",
        "libxml2",
        "1.14 is one unit in the last place off.",
        "XPath 1.0, 3.5 and 4.4",
        lambda d: _libxml2(d) and not all(map(reads_alike, d.texts)),
    ),
    Deviation(
        "libxml2-digits",
        "libxml2",
        "Numbers are written with 15 digits, and with an exponent.",
        "XPath 1.0, 4.2",
        lambda d: _libxml2(d) and bool(d.labels & _TEXTS),
    ),
    Deviation(
        "saxon-sum-text",
        "Saxon",
        "sum() of a text is an error in its 1.0 mode, where the standard has NaN.",
        "XPath 1.0, 4.4",
        lambda d: _saxon_1(d) and "sum" in d.labels and ERROR in d.marks,
    ),
    Deviation(
        "saxon-number-text",
        "Saxon",
        "A number as text is that of 2.0 in its 1.0 mode: 1.0E6, -0.",
        "XPath 1.0, 4.2",
        lambda d: _prints(d) and ERROR not in d.marks,
    ),
    Deviation(
        "saxon-variable-type",
        "Saxon",
        "A variable that is floor(), ceiling() or round() of an integer is an error in its 1.0 mode: a false type.",
        "XPath 1.0, 4.4",
        lambda d: _saxon_1(d) and d.marks[1] == ERROR and bool(d.let_labels & {"floor", "ceiling", "round"}),
    ),
    Deviation(
        "saxon-keyword-name",
        "Saxon",
        "A field with the name for stands before a word, and is read as the beginning of an expression.",
        "XPath 1.0, 3.7; XPath 2.0 and 3.1, A.3: only names of some functions are reserved",
        # the whole rulebook is refused
        lambda _: False,
    ),
    Deviation(
        "saxon-nan-text",
        "Saxon",
        "A number is less than the text NaN: not in every place alike, and never in the standard.",
        "XPath 2.0 and 3.1, 3.5.2 (3.7.2)",
        lambda d: not _saxon_1(d) and ERROR not in d.marks and "NaN" in d.texts and bool(d.labels & _ORDERS),
    ),
    Deviation(
        "errors-and-optimisation",
        "Saxon",
        "Whether an error is raised in an operand that does not decide the result.",
        "XPath 2.0 and 3.1, 2.3.4",
        # where an earlier context has the error, the later rules of the pattern are silent
        lambda d: not _saxon_1(d) and bool({ERROR, NOT_FIRED} & {*d.marks}) and d.confirmed,
    ),
    Deviation(
        "static-type-of-instance",
        "Saxon",
        "Its XQuery knows that no branch is an instance of a type, and does not evaluate a condition with an error.",
        "XPath 2.0 and 3.1, 2.3.4",
        lambda d: (
            d.engines[0] == "xquery" and d.marks[0] != ERROR == d.marks[1] and bool(_ASKED.search(d.expressions))
        ),
    ),
)


def explained(difference: Difference) -> str:
    """Return the id of the deviation that a difference is, or nothing."""
    return next((row.id for row in DEVIATIONS if row.applies(difference)), "")


def refusal(version: str, message: str) -> str:
    """Return the id of the deviation for which an engine takes no rulebook that others take, or nothing."""
    if version == "1.0" and "required item type of the supplied value for variable" in message:
        return "saxon-variable-type"
    return "saxon-keyword-name" if re.search(r"After `for` expected \$, found `[a-z]", message) else ""

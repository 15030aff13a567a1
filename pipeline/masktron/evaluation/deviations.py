"""Where engines depart from the standards or from each other: a table, every row of which a test runs.

``docs/engines.md`` is generated from it. A row with a predicate also explains disagreements: when the engine that
decides for us and pyschematron differ on a check that the predicate recognises, on a record that holds the kind of
value the row needs, the disagreement is reported and does not block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from masktron.evaluation.traits import (
    EQUALITIES,
    ORDERS,
    Kind,
    Oddity,
    Reading,
    chained,
    compares,
    converts,
    kind,
    prints_numbers,
    uses,
)
from masktron.rulebook.schema import XPathVersion

type Engine = Literal["pyschematron", "libxml2", "Saxon"]
type Outcome = Literal["true", "false", "error", "not fired", "valid"]
"""What became of the check ``a``; ``valid`` is the answer to the question whether the document is valid."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """One way in which an engine departs from a standard.

    Attributes
    ----------
    id : str
    engine : str
        pyschematron stands for pyschematron and the elementpath below it.
    title : str
    versions : tuple of str
        The XPath versions in which it was measured.
    test : str
        The test of an assert whose context is ``Record``; empty where `rulebook` shows it.
    record : str
        The document.
    standard, measured : str
        The outcome that the standard asks for, and the engine's.
    confirmed : tuple of str
        The other engines that give the standard's outcome.
    says : str
        Why, in a sentence.
    paragraph : str
        Where the standard says so.
    remedy : str
        What masktron does about it.
    rulebook : str
        The inside of a ``schema`` element, or the whole document where that matters.
    files : tuple of (str, str)
        Files beside the rulebook.
    phase : str
    explains : callable, optional
        Recognises a check to which this applies.
    needs : Oddity
        What a record must hold for it to matter.
    """

    id: str
    engine: Engine
    title: str
    versions: tuple[XPathVersion, ...]
    test: str
    record: str
    standard: Outcome
    measured: Outcome
    confirmed: tuple[Engine, ...]
    says: str
    paragraph: str
    remedy: str
    rulebook: str = ""
    files: tuple[tuple[str, str], ...] = ()
    phase: str | None = None
    explains: Callable[[Reading], bool] | None = None
    needs: Oddity = Oddity.NONE


_OURS = (
    "The check is decided by the Recommendation (XPath 1.0) or Saxon (2.0 and later); the disagreement is reported."
)
_STANDARD = "The verdict is the Recommendation's; what libxml2 alone says is a note with its count."
_SAXON_1 = "The verdict is the Recommendation's; mask writes only what Saxon accepts too."
_REFUSED = "Reading the rulebook repairs it or refuses it, with the line."
_WRITTEN = f"{_STANDARD} Masked values are such that libxml2 accepts them too."
_ONE: tuple[XPathVersion, ...] = ("1.0",)
_TWO: tuple[XPathVersion, ...] = ("2.0", "3.1")
_ALL: tuple[XPathVersion, ...] = ("1.0", "2.0", "3.1")
_BOTH: tuple[Engine, ...] = ("libxml2", "Saxon")
_SAXON: tuple[Engine, ...] = ("Saxon",)
_LIBXML2: tuple[Engine, ...] = ("libxml2",)


def _same_order(reading: Reading) -> bool:
    pairs = ((Kind.NODES, Kind.NODES), (Kind.NODES, Kind.NUMBER), (Kind.STRING, Kind.STRING))
    more = ((Kind.NODES, Kind.STRING), (Kind.STRING, Kind.NUMBER))
    return compares(reading, ORDERS, *pairs, *more)


def _number_is_truth(reading: Reading) -> bool:
    return reading.test is not None and kind(reading.test) in (Kind.NUMBER, Kind.UNKNOWN)


def _attribute_context(reading: Reading) -> bool:
    return any(context.symbol in ("@", "attribute") for context in reading.contexts)


def _text_context(reading: Reading) -> bool:
    return any(token.symbol == "text" for context in reading.contexts for token in context.iter())


_COMPARISONS = (
    Deviation(
        id="equal-number-text",
        engine="pyschematron",
        title="A number never equals a field",
        versions=_ONE,
        test="V1 = 5",
        record="<Record><V1>5</V1></Record>",
        standard="true",
        measured="false",
        confirmed=_BOTH,
        says="If one operand is a number the other is converted to one; elementpath compares the text '5' with 5.",
        paragraph="XPath 1.0, 3.4",
        remedy=_OURS,
        explains=lambda r: compares(
            r,
            EQUALITIES,
            (Kind.NODES, Kind.NUMBER),
            (Kind.STRING, Kind.NUMBER),
            (Kind.NODES, Kind.BOOLEAN),
            (Kind.STRING, Kind.BOOLEAN),
            (Kind.NUMBER, Kind.BOOLEAN),
        ),
    ),
    Deviation(
        id="unequal-number-text",
        engine="pyschematron",
        title="A number always differs from a field",
        versions=_ONE,
        test="V1 != 5",
        record="<Record><V1>5</V1></Record>",
        standard="false",
        measured="true",
        confirmed=_BOTH,
        says="The same conversion applies to !=, so 5 does not differ from 5.",
        paragraph="XPath 1.0, 3.4",
        remedy=_OURS,
        explains=lambda r: compares(r, EQUALITIES, (Kind.NODES, Kind.NUMBER), (Kind.STRING, Kind.NUMBER)),
    ),
    Deviation(
        id="equal-boolean-nodes",
        engine="pyschematron",
        title="An absent field is not false",
        versions=_ONE,
        test="V9 = false()",
        record="<Record><V1>5</V1></Record>",
        standard="true",
        measured="false",
        confirmed=_BOTH,
        says="If one operand is a boolean the node-set is converted to one, and an empty one is false.",
        paragraph="XPath 1.0, 3.4",
        remedy=_OURS,
        explains=lambda r: compares(r, EQUALITIES, (Kind.NODES, Kind.BOOLEAN)),
    ),
    Deviation(
        id="decimal-literal",
        engine="pyschematron",
        title="Decimal fractions in an expression are not doubles",
        versions=_ONE,
        test="number(D) = 0.3",
        record="<Record><D>0.3</D></Record>",
        standard="true",
        measured="false",
        confirmed=_BOTH,
        says="Every number is a double; elementpath keeps 0.3 as an exact decimal, which no double equals.",
        paragraph="XPath 1.0, 3.5",
        remedy=_OURS,
        explains=lambda r: uses(r, "(decimal)"),
    ),
    Deviation(
        id="decimal-arithmetic",
        engine="pyschematron",
        title="Decimal arithmetic is exact",
        versions=_ONE,
        test="0.1 + 0.2 = 0.3",
        record="<Record/>",
        standard="false",
        measured="true",
        confirmed=_BOTH,
        says="In doubles 0.1 + 0.2 is not 0.3; elementpath adds decimals.",
        paragraph="XPath 1.0, 3.5",
        remedy=_OURS,
        explains=lambda r: uses(r, "(decimal)"),
    ),
    Deviation(
        id="integer-literal",
        engine="pyschematron",
        title="Large integers are exact",
        versions=_ALL,
        test="number(B) = 9007199254740993",
        record="<Record><B>9007199254740993</B></Record>",
        standard="true",
        measured="false",
        confirmed=_SAXON,
        says="Both sides are the double 9007199254740992; elementpath compares it with the exact integer.",
        paragraph="XPath 1.0, 3.5; XQuery and XPath Functions 6.3.1",
        remedy=_OURS,
        explains=lambda r: any(t.symbol == "(integer)" and abs(t.value) >= 2**53 for t in r.tokens) or converts(r),
        needs=Oddity.BIG,
    ),
    Deviation(
        id="order-text",
        engine="pyschematron",
        title="Comparing a field without a number is an error",
        versions=_ONE,
        test="V2 < 5",
        record="<Record><V2/></Record>",
        standard="false",
        measured="error",
        confirmed=_BOTH,
        says="Both operands are converted to numbers, and every comparison with NaN is false.",
        paragraph="XPath 1.0, 3.4",
        remedy=_OURS,
        explains=_same_order,
        needs=Oddity.NOT_A_NUMBER,
    ),
    Deviation(
        id="order-missing-negated",
        engine="pyschematron",
        title="A negated comparison of an empty field is an error",
        versions=_ONE,
        test="not(V2 < 5)",
        record="<Record><V2/></Record>",
        standard="true",
        measured="error",
        confirmed=_BOTH,
        says="NaN < 5 is false, so its negation is true.",
        paragraph="XPath 1.0, 3.4",
        remedy=_OURS,
        explains=_same_order,
        needs=Oddity.NOT_A_NUMBER,
    ),
    Deviation(
        id="order-untyped",
        engine="pyschematron",
        title="Fields are compared as numbers",
        versions=_TWO,
        test="V3 <= V4",
        record="<Record><V3>7</V3><V4>10</V4></Record>",
        standard="false",
        measured="true",
        confirmed=_SAXON,
        says="Two untyped values are compared as strings, and '7' comes after '10'.",
        paragraph="XPath 2.0, 3.5.2",
        remedy="A lint names the rule; " + _OURS[0].lower() + _OURS[1:],
        explains=lambda r: compares(r, ORDERS, (Kind.NODES, Kind.NODES), (Kind.NODES, Kind.STRING)),
    ),
    Deviation(
        id="order-untyped-text",
        engine="pyschematron",
        title="Comparing two texts by order is an error",
        versions=_TWO,
        test="T <= T",
        record="<Record><T>abc</T></Record>",
        standard="true",
        measured="error",
        confirmed=_SAXON,
        says="Two untyped values are compared as strings.",
        paragraph="XPath 2.0, 3.5.2",
        remedy=_OURS,
        explains=lambda r: compares(r, ORDERS, (Kind.NODES, Kind.NODES), (Kind.NODES, Kind.STRING)),
        needs=Oddity.NOT_A_NUMBER,
    ),
    Deviation(
        id="chained-comparison",
        engine="pyschematron",
        title="Chained comparisons are a syntax error",
        versions=_ONE,
        test="V1 = 5 = true()",
        record="<Record><V1>5</V1></Record>",
        standard="true",
        measured="error",
        confirmed=_LIBXML2,
        says="EqualityExpr is left-recursive: a = b = c is (a = b) = c. Saxon's 1.0 mode keeps the 2.0 grammar.",
        paragraph="XPath 1.0, 3.4, production 23",
        remedy=_OURS,
        explains=lambda r: any(chained(source) for source in r.sources),
    ),
    Deviation(
        id="index-of-number",
        engine="pyschematron",
        title="index-of finds a number among untyped values",
        versions=_TWO,
        test="exists(index-of(R, 3))",
        record="<Record><R>1</R><R>3</R></Record>",
        standard="false",
        measured="true",
        confirmed=_SAXON,
        says="Untyped values are compared as strings, and no string equals a number.",
        paragraph="XQuery and XPath Functions 2.0, 15.1.3",
        remedy=_OURS,
        explains=lambda r: uses(r, "index-of"),
    ),
    Deviation(
        id="distinct-values-number",
        engine="pyschematron",
        title="distinct-values merges numbers and untyped values",
        versions=_TWO,
        test="count(distinct-values((R, 3))) = 2",
        record="<Record><R>3</R></Record>",
        standard="true",
        measured="false",
        confirmed=_SAXON,
        says="Untyped values are compared as strings, so '3' and 3 are distinct.",
        paragraph="XQuery and XPath Functions 2.0, 15.1.6",
        remedy=_OURS,
        explains=lambda r: uses(r, "distinct-values"),
    ),
    Deviation(
        id="float-promotion",
        engine="pyschematron",
        title="Single precision is ignored",
        versions=_TWO,
        test="xs:float(D) = number(D)",
        record="<Record><D>0.3</D></Record>",
        standard="false",
        measured="true",
        confirmed=_SAXON,
        says="A float is promoted to the double of the same value, which is not 0.3.",
        paragraph="XPath 2.0, B.1",
        remedy=_OURS,
        explains=lambda r: any("float" in source for source in r.sources),
    ),
    Deviation(
        id="or-error",
        engine="pyschematron",
        title="An error in the first operand of or",
        versions=_TWO,
        test="T = 5 or V1 = 5",
        record="<Record><V1>5</V1><T>abc</T></Record>",
        standard="true",
        measured="error",
        confirmed=_SAXON,
        says="Either is allowed: the order of the operands is the engine's choice, and Saxon takes the other first.",
        paragraph="XPath 2.0, 3.6",
        remedy="Saxon's answer counts; write number(T) = 5 to get the same answer everywhere.",
        explains=lambda r: uses(r, "or", "and"),
        needs=Oddity.NOT_A_NUMBER,
    ),
)

_NUMBERS = (
    Deviation(
        id="underscore",
        engine="pyschematron",
        title="1_000 is a number",
        versions=_ALL,
        test="number(V) = 1000",
        record="<Record><V>1_000</V></Record>",
        standard="false",
        measured="true",
        confirmed=_BOTH,
        says="No grammar of numbers has underscores: NaN. Python's float() allows them.",
        paragraph="XPath 1.0, 4.4; XML Schema Part 2, 3.2.5",
        remedy=_OURS,
        explains=converts,
        needs=Oddity.UNDERSCORE,
    ),
    Deviation(
        id="foreign-digits",
        engine="pyschematron",
        title="Digits of other scripts are numbers",
        versions=_ALL,
        test="number(V) = 3",
        record="<Record><V>\u0663</V></Record>",
        standard="false",
        measured="true",
        confirmed=_BOTH,
        says="Digits are 0 to 9. Python's float() reads the digits of every script.",
        paragraph="XPath 1.0, 4.4; XML Schema Part 2, 3.2.5",
        remedy=_OURS,
        explains=converts,
        needs=Oddity.FOREIGN,
    ),
    Deviation(
        id="no-break-space",
        engine="pyschematron",
        title="A no-break space is white space",
        versions=_ALL,
        test="number(V) = 5",
        record="<Record><V>\u00a05</V></Record>",
        standard="false",
        measured="true",
        confirmed=_BOTH,
        says="White space is space, tab and line ends. Python's float() strips every Unicode space.",
        paragraph="XPath 1.0, 4.4; XML Schema Part 2, 4.3.6",
        remedy=_OURS,
        explains=converts,
        needs=Oddity.FOREIGN,
    ),
    Deviation(
        id="plus-sign",
        engine="pyschematron",
        title="+5 is a number",
        versions=_ONE,
        test="number(V) = 5",
        record="<Record><V>+5</V></Record>",
        standard="false",
        measured="true",
        confirmed=_LIBXML2,
        says="Number has an optional minus sign only.",
        paragraph="XPath 1.0, 4.4",
        remedy=_OURS,
        explains=converts,
        needs=Oddity.PLUS,
    ),
    Deviation(
        id="saxon-plus-sign",
        engine="Saxon",
        title="+5 is a number in 1.0 mode",
        versions=_ONE,
        test="number(V) = 5",
        record="<Record><V>+5</V></Record>",
        standard="false",
        measured="true",
        confirmed=_LIBXML2,
        says="The 1.0 mode of Saxon keeps the conversions of 2.0.",
        paragraph="XPath 1.0, 4.4; XPath 2.0, I.1",
        remedy=_SAXON_1,
    ),
    Deviation(
        id="infinity",
        engine="pyschematron",
        title="INF is a number",
        versions=_ONE,
        test="number(V) > 5",
        record="<Record><V>INF</V></Record>",
        standard="false",
        measured="true",
        confirmed=_LIBXML2,
        says="Only digits are converted; anything else is NaN.",
        paragraph="XPath 1.0, 4.4",
        remedy=_OURS,
        explains=converts,
        needs=Oddity.INFINITE,
    ),
    Deviation(
        id="saxon-infinity",
        engine="Saxon",
        title="INF is a number in 1.0 mode",
        versions=_ONE,
        test="number(V) > 5",
        record="<Record><V>INF</V></Record>",
        standard="false",
        measured="true",
        confirmed=_LIBXML2,
        says="The 1.0 mode of Saxon keeps the conversions of 2.0.",
        paragraph="XPath 1.0, 4.4; XPath 2.0, I.1",
        remedy=_SAXON_1,
    ),
    Deviation(
        id="exponent",
        engine="pyschematron",
        title="1e3 is a number in XPath 1.0",
        versions=_ONE,
        test="number(V) = 1000",
        record="<Record><V>1e3</V></Record>",
        standard="false",
        measured="true",
        confirmed=(),
        says="Number has no exponent. All three engines read one.",
        paragraph="XPath 1.0, 3.7, production 30",
        remedy=_OURS,
        explains=converts,
        needs=Oddity.EXPONENT,
    ),
    Deviation(
        id="libxml2-exponent",
        engine="libxml2",
        title="1e3 is a number in XPath 1.0",
        versions=_ONE,
        test="number(V) = 1000",
        record="<Record><V>1e3</V></Record>",
        standard="false",
        measured="true",
        confirmed=(),
        says="Number has no exponent. All three engines read one.",
        paragraph="XPath 1.0, 3.7, production 30",
        remedy=_WRITTEN,
    ),
    Deviation(
        id="saxon-exponent",
        engine="Saxon",
        title="1e3 is a number in 1.0 mode",
        versions=_ONE,
        test="number(V) = 1000",
        record="<Record><V>1e3</V></Record>",
        standard="false",
        measured="true",
        confirmed=(),
        says="Number has no exponent. All three engines read one.",
        paragraph="XPath 1.0, 3.7, production 30",
        remedy=_SAXON_1,
    ),
    Deviation(
        id="libxml2-rounding",
        engine="libxml2",
        title="1.14 is one unit in the last place off",
        versions=_ONE,
        test="number(V) = 114 div 100",
        record="<Record><V>1.14</V></Record>",
        standard="true",
        measured="false",
        confirmed=_SAXON,
        says="A number is the double nearest to the decimal; libxml2 adds 1 and 14 / 100, which rounds twice.",
        paragraph="XPath 1.0, 3.5 and 4.4",
        remedy=_WRITTEN,
    ),
    Deviation(
        id="libxml2-big-integer",
        engine="libxml2",
        title="Integers beyond 2 to the 53 are rounded digit by digit",
        versions=_ONE,
        test="number(V) = 1000000000000000000",
        record="<Record><V>999999999999999999</V></Record>",
        standard="true",
        measured="false",
        confirmed=_SAXON,
        says="The double nearest to 999999999999999999 is 10 to the 18; libxml2 rounds after every digit.",
        paragraph="XPath 1.0, 4.4",
        remedy=_WRITTEN,
    ),
    Deviation(
        id="saxon-negative-zero",
        engine="Saxon",
        title="An untyped -0.0 does not equal the integer 0",
        versions=_TWO,
        test="V = 0",
        record="<Record><V>-0.0</V></Record>",
        standard="true",
        measured="false",
        confirmed=("pyschematron",),
        says="The untyped value becomes the double -0, and negative zero equals positive zero.",
        paragraph="XQuery and XPath Functions, 6.3.1",
        remedy="Masked values are never written as -0.",
        explains=lambda r: compares(r, EQUALITIES, (Kind.NODES, Kind.NUMBER)),
        needs=Oddity.NEGATIVE_ZERO,
    ),
    Deviation(
        id="negative-zero",
        engine="pyschematron",
        title="A field of -0 does not equal 0",
        versions=_ONE,
        test="V = 0",
        record="<Record><V>-0</V></Record>",
        standard="true",
        measured="false",
        confirmed=_BOTH,
        says="The field is converted to a number, and negative zero equals positive zero.",
        paragraph="XPath 1.0, 3.4 and 3.5",
        remedy=_OURS,
        explains=lambda r: compares(r, EQUALITIES, (Kind.NODES, Kind.NUMBER)),
        needs=Oddity.NEGATIVE_ZERO,
    ),
    Deviation(
        id="plus-infinity",
        engine="pyschematron",
        title="+INF is not a number",
        versions=_TWO,
        test="number(V) > 5",
        record="<Record><V>+INF</V></Record>",
        standard="true",
        measured="false",
        confirmed=_SAXON,
        says="XML Schema 1.1 reads +INF; 1.0 does not, and either may be chosen.",
        paragraph="XML Schema 1.1 Part 2, 3.3.5",
        remedy=_OURS,
        explains=converts,
        needs=Oddity.PLUS,
    ),
    Deviation(
        id="mod-sign",
        engine="pyschematron",
        title="mod with a negative divisor",
        versions=_ALL,
        test="5 mod -3 = 2",
        record="<Record/>",
        standard="true",
        measured="false",
        confirmed=_BOTH,
        says="The remainder has the sign of the dividend.",
        paragraph="XPath 1.0, 3.5; XQuery and XPath Functions, 6.2.6",
        remedy=_OURS,
        explains=lambda r: uses(r, "mod"),
    ),
    Deviation(
        id="mod-zero",
        engine="pyschematron",
        title="A field mod 0 is an error",
        versions=_ALL,
        test="not(V1 mod 0 = 0)",
        record="<Record><V1>5</V1></Record>",
        standard="true",
        measured="error",
        confirmed=_BOTH,
        says="For doubles the remainder of a division by zero is NaN.",
        paragraph="XPath 1.0, 3.5; XQuery and XPath Functions, 6.2.6",
        remedy=_OURS,
        explains=lambda r: uses(r, "mod"),
    ),
    Deviation(
        id="half-to-even-untyped",
        engine="pyschematron",
        title="round-half-to-even refuses a field",
        versions=_TWO,
        test="round-half-to-even(V1, 2) = 5",
        record="<Record><V1>5</V1></Record>",
        standard="true",
        measured="error",
        confirmed=_SAXON,
        says="An untyped argument is cast to double.",
        paragraph="XPath 2.0, 3.1.5",
        remedy=_OURS,
        explains=lambda r: uses(r, "round-half-to-even"),
    ),
    Deviation(
        id="floor-empty",
        engine="pyschematron",
        title="floor of an empty text is nothing",
        versions=_TWO,
        test="floor(V2) = 0",
        record="<Record><V2/></Record>",
        standard="error",
        measured="false",
        confirmed=_SAXON,
        says="'' cannot be cast to double: FORG0001.",
        paragraph="XPath 2.0, 3.1.5",
        remedy="Either fails the check, so it does not count.",
    ),
    Deviation(
        id="saxon-number-text",
        engine="Saxon",
        title="A million is written 1.0E6 in 1.0 mode",
        versions=_ONE,
        test="string(number(V)) = '1000000'",
        record="<Record><V>1000000</V></Record>",
        standard="true",
        measured="false",
        confirmed=_LIBXML2,
        says="XPath 1.0 writes numbers without exponent; the 1.0 mode of Saxon keeps the conversions of 2.0.",
        paragraph="XPath 1.0, 4.2",
        remedy=_SAXON_1,
    ),
    Deviation(
        id="saxon-nan-text",
        engine="Saxon",
        title="A number is less than the text NaN",
        versions=_TWO,
        test="2 < V",
        record="<Record><V>NaN</V></Record>",
        standard="false",
        measured="true",
        confirmed=("pyschematron",),
        says="The untyped value becomes the double NaN, with which every order is false; Saxon says so of V > 2 too.",
        paragraph="XPath 2.0, 3.5.2",
        remedy="Write number(V), which both read alike; a field that says NaN is no data.",
    ),
    Deviation(
        id="saxon-internal-error",
        engine="Saxon",
        title="Comparing two sequences of numbers ends with an internal error",
        versions=_TWO,
        test="(number(V1), number(V2)) < (1, 2e0, 3)",
        record="<Record/>",
        standard="false",
        measured="error",
        confirmed=(),
        says="NaN is less than no number; Saxon stops with a NullPointerException, unless it does not optimise.",
        paragraph="XPath 2.0, 3.5.2",
        remedy="Each rule and record is then asked alone, and what still fails by a Saxon that does not optimise.",
    ),
    Deviation(
        id="errors-and-optimisation",
        engine="Saxon",
        title="An error in an operand that does not decide the result is not raised",
        versions=_TWO,
        test="exists((string(V), ''))",
        record="<Record><V>1</V><V>2</V></Record>",
        standard="error",
        measured="true",
        confirmed=("pyschematron",),
        says="string() of two nodes is an error, but a processor need not evaluate what cannot change the result.",
        paragraph="XPath 2.0 and 3.1, 2.3.4",
        remedy="What Saxon raises counts; the standard leaves it open.",
    ),
    Deviation(
        id="saxon-sum-text",
        engine="Saxon",
        title="sum of a text is an error in 1.0 mode",
        versions=_ONE,
        test="sum(V2) = 0",
        record="<Record><V2/></Record>",
        standard="false",
        measured="error",
        confirmed=("libxml2", "pyschematron"),
        says="Each node is converted to a number, so the sum is NaN.",
        paragraph="XPath 1.0, 4.4",
        remedy=_SAXON_1,
    ),
)

_TRUTHS = (
    Deviation(
        id="nan-is-true",
        engine="pyschematron",
        title="NaN is true",
        versions=_ALL,
        test="number(T)",
        record="<Record><T>abc</T></Record>",
        standard="false",
        measured="true",
        confirmed=_BOTH,
        says="A number is true unless it is zero or NaN; pyschematron asks Python's bool().",
        paragraph="XPath 1.0, 4.3; XPath 2.0, 2.4.3",
        remedy=_OURS,
        explains=_number_is_truth,
        needs=Oddity.NOT_A_NUMBER,
    ),
    Deviation(
        id="sequence-is-true",
        engine="pyschematron",
        title="A sequence of values has a truth value",
        versions=_TWO,
        test="for $x in R return $x > 0",
        record="<Record><R>1</R><R>3</R></Record>",
        standard="error",
        measured="true",
        confirmed=_SAXON,
        says="Two values that are not nodes have no truth value: FORG0006. pyschematron asks for all of them.",
        paragraph="XPath 2.0, 2.4.3",
        remedy=_OURS,
        explains=lambda r: r.test is not None and kind(r.test) is Kind.UNKNOWN,
    ),
    Deviation(
        id="untyped-is-false",
        engine="pyschematron",
        title="An untyped value is false",
        versions=_TWO,
        test="data(T)",
        record="<Record><T>abc</T></Record>",
        standard="true",
        measured="false",
        confirmed=_SAXON,
        says="A text that is not empty is true.",
        paragraph="XPath 2.0, 2.4.3",
        remedy=_OURS,
        explains=lambda r: r.test is not None and kind(r.test) in (Kind.UNKNOWN, Kind.TYPED),
    ),
    Deviation(
        id="duration-is-false",
        engine="pyschematron",
        title="A duration has a truth value",
        versions=_TWO,
        test="xs:duration('P1D')",
        record="<Record/>",
        standard="error",
        measured="false",
        confirmed=_SAXON,
        says="A value that is no boolean, text, URI or number has no truth value: FORG0006.",
        paragraph="XPath 2.0, 2.4.3",
        remedy="Either fails the check, so it does not count.",
    ),
)

_STRINGS = (
    Deviation(
        id="large-number-text",
        engine="pyschematron",
        title="Large numbers are written without an exponent",
        versions=_TWO,
        test="string(number(V)) = '1.0E6'",
        record="<Record><V>1000000</V></Record>",
        standard="true",
        measured="false",
        confirmed=_SAXON,
        says="A double of a million or more, or below 0.000001, is written with an exponent.",
        paragraph="XQuery and XPath Functions, 17.1.2",
        remedy=_OURS,
        explains=prints_numbers,
    ),
    Deviation(
        id="decimal-digits",
        engine="pyschematron",
        title="Digits of a decimal quotient",
        versions=_TWO,
        test="string(1 div 3) = '0.333333333333333333'",
        record="<Record/>",
        standard="true",
        measured="false",
        confirmed=_SAXON,
        says="How many digits a decimal keeps is the engine's choice, from 18 on; elementpath keeps 28.",
        paragraph="XQuery and XPath Functions, 6.2.4",
        remedy=_OURS,
        explains=prints_numbers,
    ),
    Deviation(
        id="libxml2-digits",
        engine="libxml2",
        title="Numbers are written with 15 digits",
        versions=_ONE,
        test="string(0.1 + 0.2) = '0.30000000000000004'",
        record="<Record/>",
        standard="true",
        measured="false",
        confirmed=_SAXON,
        says="A number has as many digits as tell it from all others.",
        paragraph="XPath 1.0, 4.2",
        remedy=_STANDARD,
    ),
    Deviation(
        id="infinity-text",
        engine="pyschematron",
        title="Infinity is written INF in XPath 1.0",
        versions=_ONE,
        test="string(1 div 0) = 'Infinity'",
        record="<Record/>",
        standard="true",
        measured="false",
        confirmed=_LIBXML2,
        says="Positive infinity is the string Infinity.",
        paragraph="XPath 1.0, 4.2",
        remedy=_OURS,
        explains=prints_numbers,
    ),
)


_DATA = '<Data><Record a="1"><V1>5</V1><V2/></Record></Data>'
_RULE = '<rule context="Record"><assert id="a" test="V1 = \'5\'">m</assert></rule>'
_ISO = "ISO/IEC 19757-3:2016, "


def _silence(
    *,
    name: str,
    title: str,
    rulebook: str,
    standard: Outcome,
    measured: Outcome,
    says: str,
    paragraph: str,
    versions: tuple[XPathVersion, ...] = _ONE,
    remedy: str = _REFUSED,
    record: str = _DATA,
    files: tuple[tuple[str, str], ...] = (),
    phase: str | None = None,
    explains: Callable[[Reading], bool] | None = None,
) -> Deviation:
    """Return a row about a whole rulebook, on which only pyschematron is asked."""
    where = paragraph if paragraph.startswith("XPath") else _ISO + paragraph
    return Deviation(
        id=name,
        engine="pyschematron",
        title=title,
        versions=versions,
        test="",
        record=record,
        standard=standard,
        measured=measured,
        confirmed=(),
        says=says,
        paragraph=where,
        remedy=remedy,
        rulebook=rulebook,
        files=files,
        phase=phase,
        explains=explains,
    )


def _rule(context: str, test: str = "false()") -> str:
    return f'<pattern><rule context="{context}"><assert id="a" test="{test}">m</assert></rule></pattern>'


_RULEBOOKS = (
    _silence(
        name="reports-ignored",
        title="A fired report leaves the document valid",
        rulebook="""<pattern><rule context="Record"><report id="a" test="V1 = '5'">m</report></rule></pattern>""",
        standard="true",
        measured="valid",
        says="is_valid() counts failed asserts only, unless it is told otherwise.",
        paragraph="5.4.11",
        remedy="A fired report is a violation.",
    ),
    _silence(
        name="comment-before-schema",
        title="A comment before the schema element empties the rulebook",
        rulebook=f'<!-- Edits --><schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern>{_RULE}</pattern></schema>',
        standard="true",
        measured="not fired",
        says="Comments are allowed everywhere. Where the root element has siblings, elementpath looks for the "
        "patterns from the document, not from the schema: it finds none, and every document is valid.",
        paragraph="5.1",
    ),
    _silence(
        name="old-namespace",
        title="Rulebooks of Schematron 1.5 are empty",
        rulebook=f'<schema xmlns="http://www.ascc.net/xml/schematron"><pattern>{_RULE}</pattern></schema>',
        standard="true",
        measured="not fired",
        says="Elements of the old namespace, or of none, are skipped: no pattern, so every document is valid.",
        paragraph="annex A (the namespace is not that of the standard)",
        remedy="The old namespace and none are read like the standard's.",
    ),
    _silence(
        name="attribute-context",
        title="The context @a never fires",
        rulebook=_rule("@a", ". = '2'"),
        standard="false",
        measured="not fired",
        says="Rules apply to attributes. pyschematron visits attributes only where an expression has asked for them "
        "before: Record/@a fires, @a does not.",
        paragraph="5.4.12",
        remedy="The attribute is judged by libxml2 or Saxon.",
        explains=_attribute_context,
    ),
    _silence(
        name="text-context",
        title="The context text() never fires",
        rulebook=_rule("V1/text()", ". = '6'"),
        standard="false",
        measured="not fired",
        says="The XSLT bindings allow text nodes as contexts; pyschematron skips them.",
        paragraph="annexes C, H and J",
        remedy="The text node is judged by libxml2 or Saxon.",
        explains=_text_context,
    ),
    _silence(
        name="context-comparison",
        title="A number in a context predicate never matches",
        rulebook=_rule("Record[V1 = 5]"),
        standard="false",
        measured="not fired",
        says="The deviation equal-number-text, where it decides whether a rule fires at all.",
        paragraph="XPath 1.0, 3.4",
        remedy=_OURS,
    ),
    _silence(
        name="namespaced-data",
        title="Unprefixed names match nothing in a namespace",
        rulebook=_rule("Record"),
        standard="not fired",
        measured="not fired",
        says="As the standard says, but the document counts as valid, without a warning.",
        paragraph="5.4.7",
        remedy="A rule that never fires is reported.",
        record='<Data xmlns="urn:x"><Record><V1>5</V1></Record></Data>',
    ),
    _silence(
        name="include-order",
        title="Included rules come after the others",
        rulebook='<pattern><include href="first.sch"/><rule context="*">'
        '<assert id="b" test="true()">m</assert></rule></pattern>',
        standard="false",
        measured="not fired",
        says="The included element stands in the place of the include, so its rule is the first that matches.",
        paragraph="5.4.4",
        files=(
            (
                "first.sch",
                '<rule xmlns="http://purl.oclc.org/dsdl/schematron" context="Record">'
                '<assert id="a" test="false()">m</assert></rule>',
            ),
        ),
    ),
    _silence(
        name="schema-extends",
        title="extends href of a schema is ignored",
        rulebook='<extends href="more.sch"/>'
        '<pattern><rule context="V2"><assert id="b" test="true()">m</assert></rule></pattern>',
        standard="false",
        measured="not fired",
        says="The patterns of the other schema belong to this one.",
        paragraph="5.4.3",
        files=(("more.sch", f'<schema xmlns="http://purl.oclc.org/dsdl/schematron">{_rule("Record")}</schema>'),),
    ),
    _silence(
        name="pattern-documents",
        title="The documents of a pattern are ignored",
        rulebook="""<pattern documents="'other.xml'"><rule context="Record">"""
        """<assert id="a" test="true()">m</assert></rule></pattern>""",
        standard="not fired",
        measured="true",
        says="The pattern applies to the named documents, not to this one.",
        paragraph="5.4.9",
        versions=("2.0", "3.1"),
        files=(("other.xml", "<Other/>"),),
    ),
    _silence(
        name="comment-in-assert",
        title="A comment inside an assert crashes",
        rulebook=f"""<pattern>{_RULE.replace("m</assert>", "m<!-- why --></assert>")}</pattern>""",
        standard="true",
        measured="error",
        says="Comments are allowed everywhere.",
        paragraph="5.1",
    ),
    _silence(
        name="instruction-in-assert",
        title="A processing instruction inside an assert crashes",
        rulebook=f"""<pattern>{_RULE.replace("m</assert>", "m<?mark up?></assert>")}</pattern>""",
        standard="true",
        measured="error",
        says="Processing instructions are allowed everywhere.",
        paragraph="5.1",
    ),
    _silence(
        name="name-in-message",
        title="name in a message crashes under the default binding",
        rulebook=f"""<pattern>{_RULE.replace("m</assert>", "<name/></assert>")}</pattern>""",
        standard="true",
        measured="error",
        says="It becomes ./name(), which XPath 1.0 does not have.",
        paragraph="5.4.6",
        remedy="Messages are not rendered by pyschematron.",
    ),
    _silence(
        name="is-a-without-params",
        title="is-a without parameters crashes",
        rulebook=f'<pattern abstract="true" id="p">{_RULE}</pattern><pattern is-a="p"/>',
        standard="true",
        measured="error",
        says="Parameters are optional.",
        paragraph="5.4.9",
    ),
    _silence(
        name="unknown-phase",
        title="An unknown phase crashes",
        rulebook=f"<pattern>{_RULE}</pattern>",
        standard="error",
        measured="error",
        says="It is an error, but pyschematron gives a traceback.",
        paragraph="5.4.10",
        phase="none",
    ),
    _silence(
        name="phase-variables",
        title="Variables of a phase are unknown",
        rulebook="""<phase id="p"><let name="x" value="'5'"/><active pattern="q"/></phase>"""
        """<pattern id="q"><rule context="Record"><assert id="a" test="V1 = $x">m</assert></rule></pattern>""",
        standard="true",
        measured="error",
        says="A let in a phase is calculated where the phase is active.",
        paragraph="5.4.5",
        phase="p",
    ),
    _silence(
        name="document-function",
        title="document() is unknown",
        rulebook=_rule("Record", "document('')"),
        standard="true",
        measured="error",
        says="XSLT 1.0 has document(); pyschematron adds functions to XPath 2.0 and later only.",
        paragraph="annex C",
        remedy="From XPath 2.0 on it is bound to the original file; in 1.0 pyschematron is not needed for a verdict.",
        explains=lambda r: uses(r, "document"),
    ),
    _silence(
        name="xslt-functions",
        title="The functions of XSLT are unknown",
        rulebook=_rule("Record", "current()/V1 = '5'"),
        standard="true",
        measured="error",
        says="XSLT adds current(), key(), format-number() and others.",
        paragraph="annexes C and H",
        versions=("1.0", "2.0"),
        remedy=_OURS,
        explains=lambda r: uses(r, "current", "key", "format-number", "generate-id", "system-property"),
    ),
    _silence(
        name="position-in-rule",
        title="position() in a test is 1",
        rulebook=_rule("Record[2]", "position() = 1"),
        standard="false",
        measured="true",
        says="In the XSLT bindings the position of a node is the one among all nodes that are visited.",
        paragraph="annex C",
        record="<Data><Record/><Record/></Data>",
        remedy="A check that looks at more than one record is not compared.",
    ),
    _silence(
        name="namespace-axis",
        title="Namespace nodes crash the validator",
        rulebook=_rule("Record", "count(namespace::*) = 1"),
        standard="true",
        measured="error",
        says="Every element has the namespace xml. pyschematron cannot write the location of the node.",
        paragraph="XPath 1.0, 5.4",
        remedy="Locations are not asked for.",
    ),
)

DEVIATIONS: tuple[Deviation, ...] = (*_COMPARISONS, *_NUMBERS, *_TRUTHS, *_STRINGS, *_RULEBOOKS)


def explanations(reading: Reading) -> tuple[Deviation, ...]:
    """Return the deviations that can make pyschematron and us differ about a check.

    Parameters
    ----------
    reading : Reading
        The expressions that decide about it.

    Returns
    -------
    tuple of Deviation
        Those of pyschematron before those of Saxon, where that decides for us; among them, those that need a certain
        value in the record before the others.
    """
    measured = "3.1" if reading.version == "3.0" else reading.version
    # the verdict in XPath 1.0 is the Recommendation's
    decider = "" if reading.version == "1.0" else "Saxon"
    found = [
        d
        for d in DEVIATIONS
        if d.explains and measured in d.versions and d.engine in ("pyschematron", decider) and d.explains(reading)
    ]
    return tuple(sorted(found, key=lambda d: (d.engine != "pyschematron", not d.needs)))

"""What functions of XPath return, as far as it decides how a predicate or a comparison reads their values."""

from __future__ import annotations

from masktron.unrolling.unrolled_values import ValueType

_NUMBERS = "number count sum floor ceiling round string-length position last abs round-half-to-even"
_STRINGS = (
    "string concat substring-before substring-after substring normalize-space translate string-join upper-case "
    "lower-case replace local-name name namespace-uri"
)
_BOOLEANS = "not boolean true false contains starts-with ends-with matches exists empty contains-token deep-equal"
_OTHERS = (
    "avg max min data distinct-values index-of reverse subsequence insert-before remove head tail tokenize "
    "zero-or-one one-or-more exactly-one unordered string-to-codepoints codepoints-to-string compare "
    "codepoint-equal years-from-duration months-from-duration days-from-duration year-from-date month-from-date "
    "day-from-date year-from-dateTime month-from-dateTime day-from-dateTime hours-from-dateTime "
    "minutes-from-dateTime seconds-from-dateTime hours-from-time minutes-from-time seconds-from-time dateTime "
    "format-number pi exp exp10 log log10 pow sqrt sin cos tan asin acos atan atan2"
)
RETURNS: dict[str, ValueType] = {
    **dict.fromkeys(_NUMBERS.split(), "number"),
    **dict.fromkeys(_STRINGS.split(), "string"),
    **dict.fromkeys(_BOOLEANS.split(), "boolean"),
    **dict.fromkeys(_OTHERS.split(), "any"),
}
"""Functions that read nothing but their arguments (and the context item where they have none)."""
OF_CONTEXT = frozenset({"string", "number", "string-length", "normalize-space"})
"""Functions that read the context item where they have no argument."""
NAMES = frozenset({"name", "local-name", "namespace-uri"})

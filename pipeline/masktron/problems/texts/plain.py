"""Rules in plain text."""

TEXTS = {
    "plain-slip": ("a rule cannot have {construct}", "write {instead}"),
    "plain-sign": ("{sign!r} is no sign of plain rules", "put a name with such a sign in backquotes: `a b`"),
    "plain-open": ("nothing closes the {sign}", "close it, in the same rule"),
    "plain-closed": ("nothing opens the {sign}", "remove it, or open the bracket before"),
    "plain-unexpected": ("{found} cannot stand after {after!r}", "here may stand {wanted:or}"),
    "plain-two-names": (
        "{left} and {right} stand beside each other",
        "put a sign or a word between them, or one name with a blank in backquotes: `{left} {right}`",
    ),
    "plain-by": ("by can only stand behind sum(), mean(), min(), max() or count()", "write sum(FIELD) by GROUP"),
    "plain-arguments": ("{name}() is not written like this", "write {shape}"),
    "plain-too-long": ("the rule is too long once its definitions are filled in", "split it into several rules"),
    "plain-too-deep": ("the rule has too many brackets within each other", "split it into several rules"),
    "plain-no-condition": (
        "here stands {what}, and a condition is needed",
        "compare it with something: ==, !=, <, <=, >, >= or in",
    ),
    "plain-no-number": ("here stands {what}, and a number is needed", "compute with numbers and fields alone"),
    "plain-no-text": ("a text is compared with what is none", "compare a text with a field or a text"),
    "plain-no-field": ("here a field is needed", "write its name"),
    "plain-text-order": ("{operator} compares numbers, and here stands no number", "compare by ==, != or in"),
    "plain-power": ("a power must be a whole number from 1 to {most}", "write a product"),
    "plain-levels": (
        "no record has all of {fields:and}",
        "tally what stands within a record: sum(LEVEL.FIELD), count(LEVEL)",
    ),
    "plain-encoding": ("the text is not in UTF-8", "save the file as UTF-8"),
    "plain-name": (
        "{name!r} is no name of a rule",
        "begin it with a letter, and go on with letters, digits, _ . or -; warn or info before it makes it soft",
    ),
    "rules-no-table": (
        "rules must be a table",
        'write [rules], and in the lines below it rules such as age_range = "age in 16..110"; a file of rules is '
        "named by [[--rules FILE]]",
    ),
    "rules-not-there": (
        "the settings have no rules",
        'write [rules], and in the lines below it rules such as age_range = "age in 16..110"',
    ),
    "plain-empty": ("the file has no rule", "write one on a line of its own, such as age >= 16"),
    "plain-yaml": (
        "this is no rule file of R's package validate: {reason}",
        "write rules:, and - expr: RULE below it",
    ),
    "plain-include": ("{name!r} cannot be included: {reason}", "name another file in the folder of the rulebook"),
    "plain-several": ("{count:rule} cannot be read:{problems:each}", ""),
}

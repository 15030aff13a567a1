"""Rulebooks: Schematron, XPath, and changes of rules."""

TEXTS = {
    "not-a-rulebook": (
        'the root element is <{element}>, not <schema xmlns="http://purl.oclc.org/dsdl/schematron">',
        'name the file with the rules; a schema takes in others by <include href="..."/> and <extends href="..."/>',
    ),
    "element-not-allowed": ("{child} is not allowed in {parent}", "{known}"),
    "attribute-missing": ("<{element}> has no {attribute}", 'write <{element} {attribute}="...">'),
    "unknown-attribute": ("<{element}> has no attribute {attribute} in any edition of Schematron", "{known}"),
    "not-supported": ("masktron does not support {construct}", "{instead}"),
    "exclude-each-other": ("{element} cannot have both {one} and {other}", "keep one of them"),
    "name-taken": ("the {kind} {name!r} is taken already, {first}", "give each {kind} a name of its own"),
    "refers-to-itself": ("{name} includes or extends itself", "break the cycle: remove an <include> or <extends>"),
    "rule-out-of-reach": (
        "the abstract rule {name!r} is in another {scope}, at {home}",
        "move it into this {scope}, or into <rules> of the schema",
    ),
    "bad-href": (
        "the href {href!r} {reason}",
        "give a path relative to this file, of a file in the folder of the rulebook or below it",
    ),
    "cannot-include": (
        "<{element}> cannot take in the <{found}> of {href}",
        'write <extends href="..."/> in a schema for a schema or library, and in a rule for a rule; to <include> one '
        "element, add #ID to the href",
    ),
    "newer-edition": (
        "{feature} came with edition {edition} of Schematron; the schema declares {declared}",
        'declare schematronEdition="{edition}"',
    ),
    "not-a-path-down": (
        "{part} must be a path down without variables, not {expression!r}",
        "write for example Record, Record[Status = 'EMP'] or Household/Person",
    ),
    "nothing-to-check": (
        "{scope} has no {lacking}, so there is nothing to check",
        "a rulebook needs a <pattern> with a <rule> that has an <assert> or <report>",
    ),
    "not-escaped": ("{owner} has {sign}, which XML reads as markup", "write {instead}"),
    "xpath-error": ("XPath error in {expression}: {reason}", ""),
    "xpath-slip": ("XPath has no {construct}", "write {instead}"),
    "not-in-version": (
        "XPath {version} has no {construct}",
        'XPath {first} has it: put queryBinding="{binding}" on the schema; texts and numbers then compare in other '
        "ways (docs/writing-rules/traps.md)",
    ),
    "prefix-not-declared": (
        "the prefix {prefix!r} is not declared",
        'add <ns prefix="{prefix}" uri="..."/> to the schema',
    ),
    "forbidden-function": (
        "the function {function}() is not allowed here: {reason}",
        "write {instead}; rules read only the data and, by document('original.xml'), the file of [[--original]]",
    ),
}

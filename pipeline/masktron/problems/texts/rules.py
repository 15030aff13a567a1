"""Rulebooks: Schematron, XPath, and changes of rules."""

TEXTS = {
    "not-a-rulebook": (
        'the root element is <{element}>, not <schema xmlns="http://purl.oclc.org/dsdl/schematron">',
        'name the file with the rules; a schema takes in others by <include href="..."/> and <extends href="..."/>',
    ),
    "not-allowed-here": ("{child} is not allowed in {parent}", "{known}"),
    "attribute-missing": ("<{element}> has no {attribute}", 'write <{element} {attribute}="...">'),
    "not-supported": ("masktron does not support {construct}", "{instead}"),
    "name-taken": ("the {kind} {name!r} is taken already, {first}", "give each {kind} a name of its own"),
    "refers-to-itself": ("{name} includes or extends itself", "break the cycle: remove an <include> or <extends>"),
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
        "ways ([[docs/writing-rules/traps.md]])",
    ),
    "prefix-not-declared": (
        "the prefix {prefix!r} is not declared",
        'add <ns prefix="{prefix}" uri="..."/> to the schema',
    ),
    "forbidden-function": (
        "the function {function}() is not allowed here: {reason}",
        "write {instead}; rules read only the data and, by document('original.xml'), the file of [[--original]]",
    ),
    "message-braces": (
        "the {part} has {found}",
        "{{Income}} shows the value of the record; double a brace that is meant: {{{{",
    ),
    "not-in-place": ("{what} cannot be {done} here: {reason}", "change the file in a text editor"),
    "not-well-formed": (
        "not well-formed XML: {reason}",
        "correct that line: close every element, and write < and & as &lt; and &amp;",
    ),
    "rule-too-slow": (
        "{engine} takes more than {seconds:g} s for {expression} {on}",
        "simplify the test or its context, and write patterns so that each text has one reading: a+, not (a+)+; or "
        "give engines more time: [[--rule-timeout SECONDS]]",
    ),
    "cannot-evaluate": (
        "{engine} cannot evaluate {expression}: {reason}",
        "look at the test, its context and its variables; a message shows nodes, values or, with <name path>, the "
        "names of nodes",
    ),
    "domain-not-read": (
        "the path {path} to values in {file} cannot be evaluated: {reason}",
        "correct the path; it begins at the root of that document",
    ),
    "engines-disagree": (
        "{engine} and {other} disagree on {about}",
        "please report this rulebook and file: the result cannot be trusted",
    ),
    "engine-ended": (
        "the process of {name} {how}",
        "most likely memory ran out, or a limit was reached (ulimit -a): free some, or give the container more; else "
        "please report this rulebook",
    ),
    "too-few-addresses": (
        "{name} got no memory: this run may use {limit:,} bytes of addresses (ulimit -v)",
        "{name} reserves far more addresses than it uses: lift this limit (ulimit -v unlimited), and bound memory by "
        "other means, such as a container or systemd-run -p MemoryMax=",
    ),
    "rule-untested": ("rule {rule} tests nothing: {reasons:and}", ""),
    "rules-untested": ("{rules:lines}", ""),
    "may-be-untested": ("rule {rule} may test nothing", "if this is intended: [[--allow-unfired {rule}]]"),
    "reads-unknown": ("it reads {names:and}, which no {level} has", ""),
    "name-differs": ("the file's {name} is {there}, and the rule asks for it {asked}", "write {instead}"),
    "fires-on-nothing": ("it fires on nothing, since {reasons:and} ({context})", ""),
    "no-node-matches": (
        "no node of the file is left for it",
        "the records are {records}; look at the values that the context asks for, since '1' is not '01', and at the "
        "rules before it in its pattern",
    ),
    "nodes-taken": (
        "all its nodes are taken by {taker}",
        "put it before that rule, or into a pattern of its own",
    ),
}

"""Runs of mask: settings that name fields, treatments of keys, groups and rules, and what may be published."""

TEXTS = {
    # settings that name fields
    "role-does-not-fit": (
        "{setting} names {field}, {reason}",
        "set [[--role {field}={role}]], or leave {field} out of {setting}",
    ),
    "masked-around-members": (
        "{field} of {unit} would be masked, but [[--protect {level}]] masks {level} alone, and no rule makes it a "
        "sum over {level}",
        "write it as it is ([[--role {field}=untouched]]), or give [[--protect {top}]]",
    ),
    "field-not-usable": ("{setting} names {field}, {reason}", "leave it out of {setting}, or name another field"),
    # treatments
    "too-many-values": (
        "{number:,} {things} are more than the {most:,} that masktron can handle",
        "use fewer fields or coarser classes: a larger width, fewer levels, or values that are recoded first{more?}",
    ),
    "household-differs": (
        "{households:household} of {total:,} {households:has|have} more than one value of {fields:and}",
        "correct the field or the number of the household, or leave the setting household out to treat each record "
        "by itself",
    ),
    "own-value-refused": (
        "the rules refuse this record, or one of its household, as it is",
        "leave out records that break rules before fields are treated: [[--invalid exclude]]",
    ),
    "bad-matrix": (
        "the matrix cannot be used: {detail}",
        "write a square table: the published values in the first line, then a line for each true value with its "
        "probabilities, which sum to 1",
    ),
    "pram-no-choice": (
        "the rules leave {alone:,} of {records:,} records one possible value, so PRAM cannot change it",
        "recode the field or those that rules tie to it, draw these together, draw within fewer fields, or let such "
        "values stay with alone:keep",
    ),
    "pram-share-too-large": (
        "PRAM cannot change {change:.4g} % of the records; the values and the rules allow at most {most:.4g} %",
        "ask for less, lower the setting stay, draw within fewer fields, or draw the field together with those that "
        "rules tie to it",
    ),
    "no-swaps": (
        "no records changed places: {reason}",
        "use fewer similar fields, coarser regions or a lower least_regions, or leave [[--swap]] out",
    ),
    "small-class": (
        "{part} has {reason}, so its {statistic} would tell about single records",
        "move the bound so that at least {k} records of like weight are in it",
    ),
    "value-without-class": (
        "{field} has values without a class in {records:record}",
        "add classes for them, lower the first break, or name a hierarchy: [[--recode {field}=FILE.csv:1]] (masktron "
        "hierarchy writes one); if they mean that a value is missing, give [[--missing {field}=CODE]]",
    ),
    "recoding-needs-numbers": (
        "{kind} recodes numbers, and {field} holds {held}",
        "name a file that gives each value its group: [[--recode {field}=FILE.csv:1]] (masktron hierarchy writes "
        "one)",
    ),
    "recoding-out-of-reach": (
        "no recoding is enough: with every key at its highest level {reason}",
        "{suppressed}ask for less, or add levels to the hierarchies of {keys:and}; missing values stay missing at "
        "every level",
    ),
    "keys-stay-rare": (
        "{reason}; {keys:and} cannot be suppressed so that {k} records share each combination",
        "recode them into fewer classes ([[--recode FIELD=width:10]]), lower [[--key-k]], or remove one with "
        "[[--role FIELD=identifier]]",
    ),
    "rules-need-keys": (
        "{rules:and} {rules:does|do} not let {fields:and} be missing",
        "allow {fields:and} to be missing in {rules:and}, if that is right; change these rules together:\n     "
        "{changes:lines}\n     and mask again",
    ),
    "weights-not-spread": (
        "weights cannot be spread within {fields:and}: {reason}",
        "spread them within fewer or coarser fields, or leave [[--reweight]] out",
    ),
    "rule-lost": (
        "recoding {fields:and} leaves nothing to check of {rules:and}: {reason}",
        "let it go with [[--allow-lost {rules}]], recode the field differently, or write the rule with ranges and "
        "lists of values",
    ),
    # rules and groups
    "rules-not-kept": (
        "changing {fields:and} would break {rules:and}: {reason}",
        "leave {fields:the field as it is|these fields as they are} "
        "([[--role {fields}=untouched]]), or let go of the rule: [[--allow {rules}]]",
    ),
    "steps-break-rules": (
        "changing {fields:and} would break {rules:and}: {reason}",
        "{helps:or}{again?}, or let go of the rule: [[--allow {rules}]]",
    ),
    "unmasked-in-the-way": (
        "by {rules:and}, {fields:and} {fields:depends|depend} on the unmasked {conditions:and}: {reason}",
        "mask {conditions:and} as well ([[--role {conditions}=confidential]]), leave {fields:and} "
        "{fields:as it is|as they are} ([[--role {fields}=untouched]]), or let go of a rule with [[--allow RULE-ID]]",
    ),
    "values-published": (
        "too many groups have no mean that satisfies the rules and would publish a real record: {groups}; at most "
        "{most:g} % of the records may ({allowed})",
        "raise [[--max-observed-share]], change k, let go of a rule with [[--allow RULE-ID]], or leave a field as it "
        "is with [[--role FIELD=untouched]]",
    ),
    "aggregator-unsuitable": (
        "{fields:and} cannot be masked by {aggregator}: {reasons}",
        "choose another aggregator or none, leave a field as it is ([[--role FIELD=untouched]]), or let go of a rule "
        "with [[--allow RULE-ID]]",
    ),
    "small-stratum": (
        "the smallest stratum of {fields:and} has {records:record}, but {user} needs {least:,}",
        "use fewer or coarser strata, lower k, or name the fields as conditions of the method, which are pooled",
    ),
    "rare-missing-pattern": (
        "fewer than k = {k} records share a pattern of missing values in {fields:and}; masking them would change "
        "which values are missing",
        "leave [[--keep-missing]] out, or lower k",
    ),
    # what is published
    "original-breaks-rules": (
        "{records:,} of {total:,} original records {records:breaks|break} {rules:and}",
        "correct them, leave them out with [[--invalid exclude]], or let go of a rule: [[--allow {rules}]]"
        "{also}{notes}",
    ),
    "original-breaks-file-rules": (
        "the original breaks {rules:and}, which no single record can mend",
        "correct the file, or let go of the rules: [[--allow {rules}]]",
    ),
    "self-check-failed": (
        "the masked file failed a last check, so nothing is published: {detail}",
        "this is a fault of masktron: please report it with the rules and the settings",
    ),
    "outside-limits": (
        "the masked file is outside its limits, so nothing is published: {over}",
        "set another limit, or change what it is about",
    ),
    "contract-not-kept": (
        "the masked file does not keep what {method} promises, so nothing is published: {reasons}",
        "run it again for other draws, choose another method or parameters, or leave these fields as they are: "
        "[[--role FIELD=untouched]]",
    ),
    "records-differ": (
        "the records do not belong together: {field} is unmasked and differs between them",
        "give the manifest of the run ([[--manifest FILE]]), or [[--role {field}=confidential]] if it was masked",
    ),
    "released-before": (
        "{earlier}; whoever has all these releases may compute values of single respondents, so nothing is published",
        "[[--secret MANIFEST]] repeats the earlier release to the byte; [[--again REASON]] publishes another one and "
        "keeps the reason: masktron assess with [[--against MANIFEST]] shows what both tell together",
    ),
    "weak-seed": (
        "the seed is not a random number of 128 bits or more, so it can be found by trying; with it, {protects} is "
        "undone",
        "leave [[--seed]] out: masktron makes a secret and writes it to the manifest, and [[--secret MANIFEST]] "
        "repeats the run{otherwise}",
    ),
    "names-would-shift": (
        "the first line has no names, so removing {fields:and} would rename the columns after them, and rules would "
        "read the wrong ones",
        "put a line of names before the records ({first} ... {last}), and leave out [[--format-option header=no]]",
    ),
    # masking in units
    "memory-too-small": (
        "{memory:,} MB of memory cannot hold {records:,} of {total:,} records of {fields} fields at a time",
        "give at least {least:,} MB: [[--memory {least}MB]]",
    ),
    # what may help
    "reason-hidden": ("{detail}", "run it again without [[--release-safe]] to see why"),
}

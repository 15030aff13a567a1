"""Settings, options and keywords: their values, and what they say together."""

TEXTS = {
    "given-twice": ("{one} and {other} are both given{to?}", "keep one of them{why?}"),
    "weight-made-text": (
        "{setting}: this field is the weight, and recoding would make it text",
        "write classes as their means (breaks:0,5,20:mean), or round it (round:5)",
    ),
    "not-toml": ("not valid TOML: {reason}", "correct the line, and run the command again"),
    "key-twice": ("{key} is given twice", "keep one of the two; all lines of a table stand under one heading"),
    "text-without-quotes": ("{said} is no value of TOML, in which texts stand in quotes", "write {whole}"),
    "not-suggested-rules": (
        "the file was not written by masktron suggest{reason?}",
        "`masktron suggest DATA --json FILE` writes one",
    ),
    "untrusted-setting": ("{setting}: {why}", "if you trust the whole file, name it: {config}{instead?}"),
    "secret-in-settings": (
        "{setting} may not stand in a file of settings: these travel with a release, and whoever knows it undoes "
        "the protection",
        "delete the line: mask makes a secret for each release, and [[--secret MANIFEST]] repeats one",
    ),
    "candidate-without-figures": (
        "candidate {candidate} has no figures, so its settings are not written: {reasons:;}",
        "name another one with [[--candidate N]]",
    ),
    "report-missing": ("{problem:alone}", "what is shown above holds; only this report is missing"),
    "pages-missing": (
        "the file is masked and in its place, but its pages are not written: {problem:alone}",
        "do not mask again: `masktron report {manifest} --masked {masked} --original {original}{rulebook}` "
        "makes them ([[--html]], [[--html-public]])",
    ),
    "does-not-work": ("masktron does not work here: {reason}", "{hint}"),
}

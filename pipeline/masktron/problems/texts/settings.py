"""Settings, options and keywords: their values, and what they say together."""

TEXTS = {
    "bad-setting": ("{setting} must be {expected}, not {given}", "{hint}"),
    "not-an-integer": ("{setting} must be an integer, not {given}", "write {setting} = {whole}"),
    "not-a-path": ("{setting} must be the path of a file, not {given}", "give the name of a file"),
    "address-as-path": ("{setting} is an address, not a path", "give it as a text: a path has no double slashes"),
    "code-is-decimal": (
        "{setting}: a file may show the number {code} in more than one way",
        'put the code into quotes as the file has it, for example "{code}"',
    ),
    "unknown-setting": ("there is no setting {setting}", "{known}"),
    "unknown-role": ("{setting}: there is no role {role}", "{known}"),
    "setting-without-value": ("{setting} has no value", "leave it out, or give it one"),
    "setting-not-taken": ("{command} takes no setting {setting}", "leave it out"),
    "setting-in-table": ("there is no setting {setting} outside {table}", '{table}={{"{setting}": ...}}'),
    "bad-option-form": ("{option} {given} is not of the form {form}", "for example {example}"),
    "option-given-twice": ("{option} gives {key} twice", "{hint}"),
    "given-twice": ("{one} and {other} are both given", "{hint}"),
    "needs-option": ("{option} has no effect alone", "give {needed}, too"),
    "field-declared-twice": ("{fields} {fields:is|are} declared {one} and {other}", "keep one of them"),
    "swap-without-regions": (
        "{setting} is given without regions, so nothing would be swapped",
        "name the fields to swap, from coarse to fine: [[--swap COUNTY,MUNICIPALITY]]",
    ),
    "weight-made-text": (
        "{setting}: this field is the weight, and recoding would make it text",
        "write classes as their means (breaks:0,5,20:mean), or round it (round:5)",
    ),
    "treated-field-not-written": (
        "{setting}: the field {said}",
        "only fields that are written as they are can be {done}: [[--role {field}=quasi-identifier]], "
        "or leave {setting} out",
    ),
    "not-toml": ("not valid TOML: {reason}", "correct the line, and run the command again"),
    "not-json": ("not valid JSON: {reason}", "give a file that masktron has written, unchanged"),
    "not-suggested-rules": (
        "the file was not written by masktron suggest",
        "`masktron suggest DATA --json FILE` writes one",
    ),
    "untrusted-setting": (
        "{setting}: {why}",
        "if you trust the whole file, name it: {config}",
    ),
    "untrusted-option": (
        "{setting}: {why}",
        "if you trust the whole file, name it: {config}; or delete line {line}, and give {option}",
    ),
    "untrusted-section": (
        "{setting}: {why}",
        "if you trust the whole file, name it: {config}; or delete the section [{setting}]",
    ),
    "secret-in-settings": (
        "{setting} may not stand in a file of settings: these travel with a release, and whoever knows it undoes "
        "the protection",
        "delete the line: mask makes a secret for each release, and [[--secret MANIFEST]] repeats one",
    ),
    "result-as-data": (
        "{setting} must be a path or a data frame, not the result of a run",
        "give result.data of a data frame that was masked, else result.output",
    ),
    "not-data": (
        "{setting} must be a path or a data frame, not of type {given}",
        "give the name of a file, or a data frame of pandas, polars, pyarrow or DuckDB; a lazy one after collect()",
    ),
    "manifest-of-frame": (
        "a manifest describes files, not data frames",
        "give the paths of the files, or no manifest",
    ),
    "index-in-other-order": (
        "the indices of the data frames contradict same_order",
        "leave same_order out: the index leads each masked row to its original",
    ),
    "format-of-frame": ("a data frame has no {setting} {format}", "leave it out"),
    "bad-config": (
        "config must be a Config, not of type {given}",
        "config=masktron.load_config({path}), masktron.Config(k=5), or settings by name: k=5",
    ),
    "no-output-named": ("mask needs the name of a file to write", 'mask("in.xml", "rules.sch", "out.xml")'),
    "resume-of-frame": ("a data frame is masked in one run, so none can be resumed", "leave [[--resume]] out"),
    "rulebook-given-twice": (
        "the rulebook is given twice",
        "`masktron explain RULES.sch --data DATA`, or `masktron explain DATA --rules RULES.sch`",
    ),
    "not-to-standard-output": ("{option} needs a file", "only JSON can go to standard output: [[--json -]]"),
    "candidate-without-figures": (
        "candidate {candidate} has no figures, so its settings are not written: {reasons}",
        "name another one with [[--candidate N]]",
    ),
    "figure-needs": ("{figure} needs {wanted:and}", "or ask for other measures"),
    "settings-of-manifest": (
        "rerun takes such settings from the manifest",
        "rerun takes such settings from the manifest; for others, run `masktron mask`",
    ),
    "report-missing": ("{problem}", "what is shown above holds; only this report is missing"),
    "pages-missing": (
        "the file is masked and in its place, but its pages are not written: {problem}",
        "do not mask again: `masktron report {manifest} --masked {masked} --original {original}{rulebook}` "
        "makes them ([[--html]], [[--html-public]])",
    ),
    "does-not-work": ("masktron does not work here: {reason}", "{hint}"),
}

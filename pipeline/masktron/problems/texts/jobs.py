"""What commands do with files, rules and releases."""

TEXTS = {
    "needs-setting": ("{name} needs {needed}", "give {setting:or}"),
    "records-not-flat": (
        "the records are not rows of single values: {reason}",
        "name the element of a record with [[--record NAME]], or write one record for each person or unit; "
        "masktron validate tests rules on such a file as it is",
    ),
    "no-rules": (
        "no rules were given",
        "write some into a file such as edits.rules, and give it with [[--rules edits.rules]], or into [rules] of "
        "the settings; `masktron suggest DATA` proposes some",
    ),
    "no-records": (
        "the file has no records; they are looked for as {path}",
        "name the element of a record with [[--record NAME]]; validate and check accept an empty file with "
        "[[--allow-empty]]",
    ),
    "not-of-one-run": (
        "these files are not of one run: {reason}",
        "give the original and the files of one run of mask; masktron check says what else differs",
    ),
    "records-not-paired": (
        "{figures:and} {figures:needs|need} to know which masked record belongs to which of the original; they "
        "may be in random order",
        "give [[--manifest FILE]], or name a field that identifies the record in both files with "
        "[[--role FIELD=record-id]]; [[--same-order]] says that masked records are in the order of the original",
    ),
    "bad-weights": (
        "the weight {field} is not a positive number in every record",
        "correct the file, or give the field another role: [[--role {field}=untouched]]",
    ),
    "not-a-manifest": (
        "this is no manifest of masktron: {reason}",
        "give the .manifest.json that mask wrote; this file may be damaged or incomplete",
    ),
    "manifest-too-old": (
        "an earlier version of masktron wrote the manifest: it does not say {what}",
        "run masktron mask again with this version and the same settings; [[--secret MANIFEST]] gives the same "
        "random numbers for the same file",
    ),
    "not-a-result": (
        "this is no result of masktron: {reason}",
        "give the JSON that a command of this version wrote with [[--json]], or the .manifest.json of mask",
    ),
    "nothing-to-plot": ("this result of {job} has nothing to plot", "print it: its text says why"),
    "bad-estimates": (
        "the estimates cannot be read: {reason}",
        "write a line name,estimate,variance for each quantity and release below a header of these words, with "
        'decimal points; or JSON: {{"INCOME": {{"estimates": [1.5, 1.6], "variances": [0.1, 0.2]}}}}',
    ),
    "document-not-given": (
        "no file is given for {documents:document} of the rules: {documents} (read by {rules})",
        "give [[--document {documents}=FILE]]; for the original, give [[--original FILE]], and write "
        "document('original.xml') in the rule",
    ),
    "document-unreadable": (
        "the document {document!r} of the rules cannot be read: {reason}",
        "give an XML file, and do not change it while masktron runs: [[--document {document}=FILE]]",
    ),
    "rare-units": (
        "fewer than k = {k} {unit} have as many members as each of these {units}: {composed}",
        "leave them out with [[--rare-units exclude]]; [[docs/nested-files.md]] says how to make large units less "
        "rare",
    ),
    "hierarchy-ambiguous": (
        "in the hierarchy of {field}, {values:and} can mean the same value, in rows that differ",
        "keep one of the rows, or write all values as they stand in the file: masktron describe shows values and "
        "labels",
    ),
    "recodings-lose-rules": (
        "each of the {tried} best recodings loses a hard rule; the one that loses least loses {rules}: {reasons}",
        "let rules go with [[--allow-lost {rules}]], or give no hierarchy for the fields that they read",
    ),
    "cannot-write-settings": (
        "the settings cannot be written to this file: {reason}{settings}",
        "name a file that does not exist: [[--write FILE]]",
    ),
    "budget-over": ("the budget ended before the file was read", "give more time: [[--budget 10m]]"),
    "changed-since-last-run": (
        "{changes:change/changes} since the last run {changes:prevents|prevent} repeating it; nothing is published: "
        "{changes:lines}",
        "correct the file; or where a change is right, give {setting:or}",
    ),
    "next-file-invalid": (
        "the file breaks rules {violations:time/times}: {rules}",
        "correct the file; to leave records out or to let a rule go that the last run kept, run masktron mask, as "
        "rerun takes these settings from the manifest",
    ),
    "cannot-write": (
        "{file} cannot be written: {reason}",
        "nothing was written; free space, or name a folder that you may write to",
    ),
    "tables-in-database": (
        "the table of {level} goes to a database; masktron publishes several tables together only as files",
        "name files, and load them into the database afterwards with masktron convert",
    ),
    "register-damaged": (
        "the register of releases is damaged: {reason}",
        "restore the register, its salt and its count from the newest backup; if you are sure that no line of the "
        "register is missing, write 0 into its file .count; to start a new register, name a file that does not exist "
        "yet: [[--register FILE]]",
    ),
    "register-unusable": (
        "the register of releases cannot be used: {reason}",
        "name a file that you may write to, in a folder that exists: [[--register FILE]]",
    ),
    "bad-secret": (
        "this cannot be used as a secret: {reason}",
        "make one with python -c 'import secrets; print(secrets.token_hex(32))' > FILE; to repeat a run, name its "
        "manifest",
    ),
    "cluster-unreachable": (
        "the Dask cluster cannot be used: {reason}",
        "start it with dask scheduler and dask worker ADDRESS, and name the address that the scheduler prints, as in "
        "[[--scheduler tcp://HOST:8786]]; [[--resume]] keeps the finished work ([[docs/workers.md]])",
    ),
    "worker-unfit": (
        "a worker of the cluster {reason}",
        "install the same version of masktron on all nodes; put data, rules, documents and the output into a folder "
        "that has the same path on all nodes, and that the user of the workers may read",
    ),
    "worker-lost": (
        "{reason}",
        "most likely memory ran out: give workers more, or start fewer of them; look at the limits of processes, "
        "open files and memory (ulimit -a)",
    ),
    "part-changed": (
        "the parts of the run cannot be used: {reason}",
        "repeat the command without [[--resume]]; if it happens again, look at the disk and at who else writes to "
        "the folder, which workers must see under the same path",
    ),
    "parts-taken": (
        "the folder for the parts of the run is taken: {reason}",
        "wait until the other run ends, or write the output to another file",
    ),
    "cannot-resume": (
        "the run cannot be resumed: {reason}{changes?}",
        "undo what changed, or run it again without [[--resume]], which removes what is finished",
    ),
    "nothing-to-resume": (
        "there are no finished parts of a run of yours to go on from; only runs in units keep them",
        "run it again without [[--resume]]",
    ),
    "out-of-memory": (
        "there is too little memory: {reason}",
        "free memory, split the file, or lift the limit of addresses (ulimit -v unlimited); a damaged file may ask "
        "for more than it needs",
    ),
    "package-broken": ("{what} needs {package}, which {reason}", "{install}"),
    "hierarchy-lacks-value": (
        "{field} has values that are not in its hierarchy, in {records:record}",
        "add rows for them; if they mean that a value is missing, give [[--missing {field}=CODE]]",
    ),
}

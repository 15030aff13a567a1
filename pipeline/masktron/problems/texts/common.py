"""What is said of anything: names, values, files, packages."""

TEXTS = {
    "unknown-name": ("there is no {kind} {name!r:or}{asked_by?}", "{known}{more?}"),
    "bad-value": ("{name} must be {expected}, not {given}", "{hint?}"),
    "bad-arrays": ("{detail}", ""),
    "file-damaged": (
        "the file cannot be read as {format}: {detail}",
        "check that it is {format}; if it is, save it again with the program that wrote it, or export it as CSV",
    ),
    "cannot-hold": (
        "{format} cannot hold {detail}",
        "write CSV or Parquet, or convert the field or leave it out before masking",
    ),
    "package-missing": (
        "{what} needs {package:and}, which {package:is|are} not installed",
        'pip install "masktron[{extra}]"',
    ),
}

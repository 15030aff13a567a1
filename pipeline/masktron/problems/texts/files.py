"""Files that are read and written."""

TEXTS = {
    "cannot-read": ("cannot read the {file}: {reason}", "check the path"),
    "not-a-plain-file": ("this is a pipe or a device, not a plain file", "save its content to a file first"),
    "not-utf-8": ("the {file} is not UTF-8", "convert it to UTF-8"),
    "unpacks-too-large": (
        "{part} ({packed:,} bytes) unpacks to more than {most:,} bytes",
        "no table packs more than {ratio} to 1; ask where the file comes from, or unpack it yourself",
    ),
    "output-outside-folder": (
        "this output is a link to {target}, outside its folder",
        "name the file itself, or another one",
    ),
    "would-overwrite": ("{output} would overwrite {taken}", "give another name"),
    "manifest-taken": (
        "the manifest would overwrite that of {taken}",
        "give the manifest another name, [[--manifest {name}]], or the masked file",
    ),
    "no-folder-for-output": ("the folder of {output} does not exist", "create it first"),
}

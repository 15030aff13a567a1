"""Pages of masktron web, their uploads and runs, and the server that shows them."""

TEXTS = {
    "page-outdated": (
        "this page is out of date: {reason}",
        "reload it, and make your change again if you still want it",
    ),
    "form-refused": ("the form cannot be used: {reason}", "reload the page, and send the form again"),
    "earlier-step-missing": ("this project has no {missing} yet", "begin with the page {page}"),
    "wrong-upload": ("{reason}", "choose the file that you mean, and upload it again"),
    "upload-too-large": (
        "the file exceeds {most:,} MB, the most that may be uploaded or is free on the disk",
        "copy it into the folder files/ of the project, or start the server with a larger [[--max-upload MB]]",
    ),
    "disk-not-writable": (
        "the disk cannot be written to: {reason}",
        "free space, delete finished projects, or check the permissions of the folder",
    ),
    "project-unreadable": (
        "project.json is not as this version of masktron writes it",
        "open the project with the version that wrote it, or delete it",
    ),
    "file-outside-project": (
        "{setting} names a file outside the project",
        "upload the file, and name it files/NAME; upload hierarchies on the page Protect keys",
    ),
    "not-in-projects": (
        "a project cannot have the setting {setting}: {reason}",
        "remove it, or run masktron in a shell",
    ),
    "hierarchy-in-use": (
        "this hierarchy recodes the field, so it cannot be removed",
        "recode the field another way on the page Protect keys first",
    ),
    "includes-elsewhere": (
        "the rulebook includes {file}, which a project cannot keep",
        "put its files into one folder, name each NAME.sch, and include them by these names",
    ),
    "run-under-way": ("the run {run} {reason}", "wait until it has ended, or cancel it"),
    "run-not-started": (
        "the command could not be started: {reason}",
        "look at the terminal in which masktron web runs",
    ),
    "run-crashed": ("masktron has a mistake", "please report what stands below, without data"),
    "result-unreadable": (
        "no page can show {file}: {reason}",
        "run this step again, or download the file from the page of its run",
    ),
    "system-unsupported": ("{what} needs {system}", "on Windows, run masktron in WSL"),
    "address-taken": ("cannot listen there: {reason}", "choose another port; [[--port 0]] takes any that is free"),
    "projects-folder-unusable": (
        "masktron web cannot use this folder: {reason}",
        "end the other server, or choose another folder: [[--projects FOLDER]]",
    ),
}

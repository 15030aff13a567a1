"""What the server loads, and what it takes of memory."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "numpy",
    "pandas",
    "pyarrow",
    "numba",
    "lxml",
    "scipy",
    "saxonche",
    "pyschematron",
    "sklearn",
    "masktron.jobs",
)


def loaded(code: str) -> str:
    seen = f"print([one for one in {HEAVY!r} if one in sys.modules])"
    argv = [sys.executable, "-c", f"import sys\n{code}\n{seen}"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()[-1]


def test_the_server_loads_nothing_heavy() -> None:
    code = (
        "from pathlib import Path\n"
        "import tempfile\n"
        "import masktron.commands.line, masktron.web.server\n"
        "from masktron.web.store.projects import ProjectStore\n"
        "from masktron.web.templating import rendered\n"
        "project = ProjectStore(Path(tempfile.mkdtemp())).make_sample()\n"
        "project.settings.update({'k': 7}, said='k is 7')\n"
        "rendered('nothing.html', what='', hint='', code='')"
    )
    assert loaded(code) == "[]"


def test_what_starts_a_command_loads_the_standard_library_alone() -> None:
    code = (
        "import masktron.web.runs.run_process\n"
        "own = {one.partition('.')[0] for one in sys.modules} - {*sys.stdlib_module_names}\n"
        "own = {one for one in own if not one.startswith('_')} - {'sitecustomize', 'usercustomize'}\n"
        "assert own == {'masktron'}, own\n"
        "parts = {one for one in sys.modules if one.startswith('masktron')}\n"
        "assert parts == {'masktron', 'masktron.web', 'masktron.web.runs', 'masktron.web.runs.run_process'}, parts"
    )
    assert loaded(code) == "[]"

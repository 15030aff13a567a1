"""Make the pictures of the tutorials anew, from the commands that they show.

    python docs/figures/make_tutorials.py

It takes some minutes, and needs playwright and a Chromium.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from make import FIGURES, ROOT, photograph_parts

sys.path.append(str(ROOT / "tests" / "support"))
TUTORIALS = ROOT / "docs" / "tutorials"
PAGES = ("csv", "choosing", "households")
SHOTS = (
    ("report", "", 0, 900, "tutorial-csv-report"),
    ("map", "#risk-utility-map", 0, 0, "tutorial-map"),
    ("rules", "", 0, 900, "tutorial-households-rules"),
)


def main() -> None:
    """Run the commands that write pages, with those before them, and take pictures."""
    from console_pages import commands, laid_out, saved  # noqa: PLC0415 -- of the tests

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        laid_out(folder)
        for page in PAGES:
            text = TUTORIALS / f"{page}.md"
            if page == "households":
                (folder / "masktron.toml").unlink()
            saved(text, folder)
            for command in commands(text.read_text(encoding="utf-8")):
                if "--html" in command.text or command.text.startswith("cp "):
                    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
                    subprocess.run(command.text, shell=True, check=True, cwd=folder, env={**os.environ, "PATH": path})  # noqa: S602
        photograph_parts({one: folder / f"{one}.html" for one, *_ in SHOTS}, SHOTS)
    print(FIGURES)


if __name__ == "__main__":
    main()

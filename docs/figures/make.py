"""Make the pictures of pages that README and docs show, anew and from real runs.

    python docs/figures/make.py census.csv

The risk-utility map is that of the Census file, as docs/tuning.md has it; the reports are those of the household
sample, the graph of rules is that of its rulebook. It takes some minutes, and needs playwright and a Chromium.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import masktron

ROOT = Path(__file__).resolve().parents[2]
FIGURES = Path(__file__).resolve().parent
SAMPLES, RULES = ROOT / "sample_xml", ROOT / "rules"
sys.path.append(str(SAMPLES))
WIDTH = 1000
"""Of the window, in pixels."""
SHOTS = (
    ("tune", "#risk-utility-map", 0, 0, "risk-utility-map"),
    ("internal", "", 0, 1000, "report-internal"),
    ("public", "", 0, 1180, "report-public"),
    ("internal", "#distributions .side-by-side", 640, 640, "report-before-after"),
    ("rules", "#graph-of-rules", 0, 0, "rule-graph"),
)
"""Page, what of it is shown, how many pixels of that are left out above and shown at most, and the name of the
picture; no part is the whole page, and 0 pixels are all."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run masktron, and take pictures of the pages."""
    parser = argparse.ArgumentParser(description="Make the pictures of pages in README and docs.")
    parser.add_argument("census", type=Path, help="census.csv: 1,080 records of 13 variables")
    with tempfile.TemporaryDirectory() as folder:
        photograph_parts(pages(parser.parse_args(arguments).census, Path(folder)))


def pages(census: Path, folder: Path) -> dict[str, Path]:
    """Write the pages into a folder, and return them by name."""
    from convert_csv import main as converted  # noqa: PLC0415 -- it stands in no package

    found = {name: folder / f"{name}.html" for name, *_ in SHOTS}
    converted([str(census), str(folder / "census.xml")])
    masktron.tune(
        folder / "census.xml",
        RULES / "census_real.sch",
        folder / "tuned",
        invalid="exclude",
        limits={"disclosure_risk": 20},
    )
    masktron.write_report(folder / "tuned" / "tune.json", html=found["tune"])
    household, released = SAMPLES / "household.xml", folder / "released.xml"
    settings = masktron.load_config(SAMPLES / "household.toml")
    masktron.mask(household, RULES / "household.sch", released, config=settings)
    masktron.write_report(folder / "released.manifest.json", html=found["internal"], html_public=found["public"])
    rules = masktron.explain(RULES / "household.sch", household, config=settings)
    (folder / "rules.json").write_text(json.dumps(rules.as_dict()), encoding="utf-8")
    masktron.write_report(folder / "rules.json", html=found["rules"])
    return found


def photograph_parts(found: dict[str, Path], shots: Sequence[tuple[str, str, int, int, str]] = SHOTS) -> None:
    """Take a picture of each part that is shown, in a light window."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 -- for this alone

    program = next(path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name)))
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--headless", "--no-sandbox", "--disable-gpu"])
        window = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        for page, part, above, height, name in shots:
            window.goto(found[page].as_uri())
            box = window.locator(part or "body").first.bounding_box()
            clip = {**box, "y": box["y"] + above, "height": min(box["height"] - above, height or box["height"])}
            window.screenshot(path=FIGURES / f"{name}.png", clip=clip, full_page=True)
        browser.close()


if __name__ == "__main__":
    main()

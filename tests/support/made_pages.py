"""One page of every kind, of a small file that is masked for it."""

from __future__ import annotations

import json
from pathlib import Path

import masktron
from made_up_map import crowded_map, made_up_map
from masktron.jobs.assess import AssessRequest, run_assess
from masktron.report.pages.html import html_of
from masktron.report.rendering import page_of, result_from
from masktron.results import JobResult
from secret_files import secret_file

ROLES = {"GROUP": "untouched"}
KINDS = ("validate", "counts", "explain", "rulebook", "check", "assess", "mask", "public", "tune")
"""Every kind of page; `counts` is a validation that must show no record, `rulebook` an explanation without data."""


def made_pages(folder: Path) -> dict[str, Path]:
    """Write all pages into a folder, and return them by their kind."""
    file = secret_file(folder, 1, 120)
    broken = folder / "broken.csv"
    lines = file.data.read_text().splitlines()
    # the first 30 records break the sum, two of them another rule as well
    wrong = [line.split(",") for line in lines[1:31]]
    for at, row in enumerate(wrong):
        row[0] = "1"
        if at < 2:
            row[3] = f"{row[3]}.5"
    broken.write_text("\n".join((lines[0], *map(",".join, wrong), *lines[31:], "")))
    masktron.mask(file.data, file.rules, folder / "k5.csv", k=5, roles=ROLES)
    masked, manifest = folder / "k5.csv", folder / "k5.manifest.json"
    pages = {kind: folder / f"{kind}.html" for kind in KINDS}
    results: dict[str, JobResult] = {
        "validate": masktron.validate(broken, file.rules),
        "counts": masktron.validate(broken, file.rules, release_safe=True),
        "explain": masktron.explain(file.rules, file.data, roles=ROLES),
        "rulebook": masktron.explain(file.rules),
        "check": masktron.check(masked, file.rules, original=file.data, manifest=manifest),
    }
    for kind, result in results.items():
        pages[kind].write_text(html_of(page_of(result)), encoding="utf-8")
    (folder / "validate.json").write_text(json.dumps(results["validate"].as_dict()), encoding="utf-8")
    run_assess(
        AssessRequest(
            masked, file.data, manifest=manifest, measures=("linkage", "information_loss"), html=pages["assess"]
        )
    )
    masktron.write_report(manifest, html=pages["mask"], html_public=pages["public"])
    pages["crowded"] = folder / "crowded.html"
    for kind, tried in (("tune", made_up_map()), ("crowded", crowded_map())):
        pages[kind].write_text(html_of(page_of(result_from(tried, pages[kind]))), encoding="utf-8")
    return pages

"""The main job on the samples that come with masktron: validate, mask, check."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from masktron.config import load_config
from masktron.errors import UsageError
from masktron.jobs.check import run_check
from masktron.jobs.mask import run_mask
from masktron.jobs.validate import run_validate
from masktron.progress import Progress
from masktron.report.outputs import Outputs
from masktron.report.tables import check_tables, mask_tables, show, validate_tables
from masktron.report.text import plain
from masktron.resources import resource
from masktron.results import SCHEMA_VERSION, CheckResult, MaskResult, ValidateResult
from masktron.write.atomic import atomic_path
from masktron.write.manifest import write_json

SAMPLES = ("household", "business")
KEYS = {"household": "Id", "business": "@id"}


@dataclass(frozen=True, slots=True)
class SampleRun:
    """The three jobs on one sample."""

    sample: str
    before: ValidateResult
    masked: MaskResult
    check: CheckResult


@dataclass(frozen=True, slots=True)
class DemoResult:
    """The three jobs on every sample."""

    outcomes: tuple[SampleRun, ...]

    @property
    def complies(self) -> bool:
        """Whether every masked file does."""
        return all(outcome.check.complies for outcome in self.outcomes)

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys of ``schemas/demo.schema.json``."""
        return {
            "schema_version": SCHEMA_VERSION,
            "job": "demo",
            "complies": self.complies,
            "samples": [
                {
                    "sample": outcome.sample,
                    "validate": outcome.before.as_dict(findings=False),
                    "mask": outcome.masked.as_dict(),
                    "check": outcome.check.as_dict(),
                }
                for outcome in self.outcomes
            ],
        }


def run_demo(out: Path, console: Console, progress: Progress) -> DemoResult:
    """Run the three jobs on every sample.

    The samples, their rulebooks and settings are copied beside the results, so that the commands can be repeated.

    Raises
    ------
    MasktronError
        One of the jobs stopped.
    """
    outcomes = tuple(_run_sample(sample, _prepared(sample, out), console, progress) for sample in SAMPLES)
    result = DemoResult(outcomes)
    console.rule("[bold]what came out")
    console.print(_summary(outcomes))
    for outcome in outcomes:
        folder = Path(outcome.masked.output).parent.as_posix()
        console.print(f"\nThe results of {outcome.sample} lie in {plain(folder)}/", soft_wrap=True)
        for name, meaning in _FILES.items():
            line = f"  {name.replace('SAMPLE', outcome.sample):24}{meaning}"
            console.print(line, soft_wrap=True)
    verdict = "Every masked file obeys every rule." if result.complies else "[red]A file does not comply."
    console.print(f"\n[bold]{verdict}")
    return result


_FILES = {
    "masked.xml": "the masked file",
    "masked.manifest.json": "how it was made: confidential",
    "mask.json": "the result of mask, blocks, losses, counts: confidential",
    "check.json": "the result of check",
    "invalid.svrl.xml": "what is wrong in the invalid file, record by record: confidential",
    "SAMPLE.xml": "the sample, after editing",
    "SAMPLE-invalid.xml": "the sample, before editing",
    "SAMPLE.sch": "its rules",
    "SAMPLE.toml": "the settings",
}


def _prepared(sample: str, out: Path) -> Path:
    folder = out / sample
    try:
        for one in (*reversed(folder.parents), folder):
            # not parents=True, which leaves the folders above to the umask
            if not one.exists():
                one.mkdir(mode=0o700, exist_ok=True)
        for name in (f"{sample}.xml", f"{sample}-invalid.xml", f"{sample}.toml"):
            _copy(resource(f"sample_xml/{name}"), folder / name)
        for name in (f"{sample}.sch", "patterns.sch"):
            _copy(resource(f"rules/{name}"), folder / name)
    except OSError as error:
        raise UsageError(f"cannot write the samples: {error.strerror}", where=str(folder)) from error
    return folder


def _copy(source: Path, target: Path) -> None:
    with atomic_path(target, released=True) as temporary:
        shutil.copyfile(source, temporary)


def _run_sample(sample: str, folder: Path, console: Console, progress: Progress) -> SampleRun:
    rules, data = folder / f"{sample}.sch", folder / f"{sample}.xml"
    masked, manifest = folder / "masked.xml", folder / "masked.manifest.json"

    console.rule(f"[bold]{sample}: validate a file before it is edited")
    before = run_validate(
        folder / f"{sample}-invalid.xml",
        rules,
        original=data,
        key=KEYS[sample],
        outputs=Outputs(svrl=folder / "invalid.svrl.xml"),
        progress=progress,
    )
    console.print(f"The rules that fail, of {len(before.rules)}:")
    show(validate_tables(replace(before, rules=tuple(rule for rule in before.rules if rule.violations))), console)

    console.rule(f"[bold]{sample}: mask the edited file")
    result = run_mask(
        data, rules, masked, config=load_config(folder / f"{sample}.toml"), manifest=manifest, progress=progress
    )
    write_json(folder / "mask.json", result.as_dict())
    show(mask_tables(result), console)

    console.rule(f"[bold]{sample}: check the masked file")
    verdict = run_check(masked, rules, original=data, manifest=manifest, progress=progress)
    write_json(folder / "check.json", verdict.as_dict())
    show(check_tables(verdict)[1:], console)
    return SampleRun(sample, before, result, verdict)


def _summary(outcomes: Sequence[SampleRun]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    for outcome in outcomes:
        table.add_column(outcome.sample, justify="right")
    rows = {
        "records": [f"{o.masked.records_out}" for o in outcomes],
        "rules": [f"{len(o.before.rules)}" for o in outcomes],
        "violations before editing": [f"{o.before.violations}" for o in outcomes],
        "violations after masking": [f"{o.check.violations}" for o in outcomes],
        "engines that agree": [f"{sum(e.agrees for e in o.masked.engines)}" for o in outcomes],
        "records alike in each block, at least": [f"{o.masked.min_group}" for o in outcomes],
        "information loss, %": [f"{o.masked.information_loss:.2f}" for o in outcomes],
        "linked to their original, %": [f"{o.masked.linkage:.1f}" for o in outcomes],
    }
    for name, cells in rows.items():
        table.add_row(name, *cells)
    return table

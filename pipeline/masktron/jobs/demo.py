"""The main job on the samples that come with masktron: validate, mask, check."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from masktron.errors import UsageError
from masktron.jobs.check import CheckRequest, run_check
from masktron.jobs.mask import run_mask
from masktron.jobs.run_places import MaskRequest
from masktron.jobs.validate import ValidateRequest, run_validate
from masktron.progress import Progress
from masktron.report.outputs import Outputs
from masktron.report.rendering import show, summary_of, tables_of
from masktron.report.text import plain
from masktron.resources import resource
from masktron.results import DemoResult, SampleResult
from masktron.settings_file import load_config
from masktron.write.atomic import atomic_path
from masktron.write.manifest import write_json

SAMPLES = ("household", "business", "establishments")
HIERARCHIES = {
    "household": ("household-region.csv", "household-occupation.csv", "household-tenure.csv"),
    "business": ("business-region.csv", "business-sector.csv", "business-nace.csv"),
    "establishments": (),
}
"""The last one is nested, and keys of nested files are not recoded."""
RECORD_IDS = {"household": "Id", "business": "@id", "establishments": "@id"}


def run_demo(out: Path, console: Console, progress: Progress) -> DemoResult:
    """Run the three jobs on every sample.

    The samples, their rulebooks and settings are copied beside the results, so that the commands can be repeated.

    Raises
    ------
    MasktronError
        One of the jobs stopped.
    """
    result = DemoResult(tuple(_run_sample(sample, _prepared(sample, out), console, progress) for sample in SAMPLES))
    console.rule("[bold]Results")
    show(tables_of(result), console)
    for one in result.samples:
        folder = Path(one.masked.output).parent.as_posix()
        console.print(f"\nThe results of {one.sample} are in {plain(folder)}/", soft_wrap=True)
        classes = dict.fromkeys(HIERARCHIES[one.sample], "classes of a key")
        recoded = {_RULES: "the rules for the masked file, whose keys are recoded in classes"} if classes else {}
        for name, meaning in ({_MASKED: "the masked file"} | recoded | _FILES | classes).items():
            line = f"  {name.replace('SAMPLE', one.sample):28}{meaning}"
            console.print(line, soft_wrap=True)
    verdict = "Every masked file obeys every rule." if result.complies else "[red]A file does not comply."
    console.print(f"\n[bold]{verdict}")
    return result


_MASKED, _RULES = "masked.xml", "masked.rules.sch"
_FILES = {
    "masked.manifest.json": "how the masked file was made (confidential)",
    "mask.json": "the result of mask: blocks, losses and counts (confidential)",
    "check.json": "the result of check",
    "invalid.svrl.xml": "the violations in the invalid file, record by record (confidential)",
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
        for name in (f"{sample}.xml", f"{sample}-invalid.xml", f"{sample}.toml", *HIERARCHIES[sample]):
            _copy(resource(f"sample_xml/{name}"), folder / name)
        for name in (f"{sample}.sch", "patterns.sch"):
            _copy(resource(f"rules/{name}"), folder / name)
    except OSError as error:
        raise UsageError.of("cannot-write", folder, file="the sample", reason=error.strerror) from error
    return folder


def _copy(source: Path, target: Path) -> None:
    with atomic_path(target, released=True) as temporary:
        shutil.copyfile(source, temporary)


def _run_sample(sample: str, folder: Path, console: Console, progress: Progress) -> SampleResult:
    rules, data = folder / f"{sample}.sch", folder / f"{sample}.xml"
    masked, manifest = folder / _MASKED, folder / "masked.manifest.json"

    console.rule(f"[bold]{sample}: validate a file before it is edited")
    outputs = Outputs({"svrl": folder / "invalid.svrl.xml"})
    asked = ValidateRequest(rules, original=data, record_id=RECORD_IDS[sample], outputs=outputs)
    before = run_validate(folder / f"{sample}-invalid.xml", asked, progress=progress)
    console.print(f"The rules that fail, of {len(before.rules)}:")
    show(tables_of(replace(before, rules=tuple(rule for rule in before.rules if rule.violations))), console)

    console.rule(f"[bold]{sample}: mask the edited file")
    config = load_config(folder / f"{sample}.toml")
    result = run_mask(MaskRequest(data, rules, masked, config=config, manifest=manifest), progress)
    write_json(folder / "mask.json", result.as_dict())
    show(summary_of(result), console)

    console.rule(f"[bold]{sample}: check the masked file")
    verdict = run_check(CheckRequest(masked, rules, original=data, manifest=manifest), progress)
    write_json(folder / "check.json", verdict.as_dict())
    show(summary_of(verdict), console)
    return SampleResult(sample, before, result, verdict)

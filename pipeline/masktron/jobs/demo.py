"""The main job on the samples that come with masktron: validate, mask, check."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from masktron.config import load_config
from masktron.errors import UsageError
from masktron.jobs.check import run_check
from masktron.jobs.common import Progress
from masktron.jobs.mask import run_mask
from masktron.jobs.validate import run_validate
from masktron.report.svrl import write_svrl
from masktron.report.tables import check_tables, mask_tables, show, validate_tables
from masktron.resources import resource
from masktron.write.manifest import write_json

SAMPLES = ("household", "business")


def run_demo(out: Path, console: Console, progress: Progress) -> bool:
    """Run the three jobs on every sample; return whether every masked file complies.

    Raises
    ------
    MasktronError
        One of the jobs stopped.
    """
    complied = True
    for sample in SAMPLES:
        folder = out / sample
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot create the folder: {error.strerror}", where=str(folder)) from error
        complied &= _run_sample(sample, folder, console, progress)
    console.rule("where the results lie")
    for path in sorted(out.rglob("*")):
        if path.is_file():
            console.print(f"  {path.as_posix()}", soft_wrap=True)
    verdict = "every masked file obeys every rule" if complied else "[red]a masked file does not comply[/]"
    console.print(f"\n[bold]{verdict}[/]")
    return complied


def _run_sample(sample: str, folder: Path, console: Console, progress: Progress) -> bool:
    rules = resource(f"rules/{sample}.sch")
    data = resource(f"sample_xml/{sample}.xml")
    invalid = resource(f"sample_xml/{sample}-invalid.xml")
    config = load_config(resource(f"sample_xml/{sample}.toml"))
    masked, manifest = folder / "masked.xml", folder / "manifest.json"

    console.rule(f"{sample}: a file that breaks its rules")
    findings = run_validate(invalid, rules, progress=progress)
    write_svrl(folder / "invalid.svrl.xml", findings.rulebook, findings.evaluation)
    show(validate_tables(findings), console)

    console.rule(f"{sample}: the corrected file, masked")
    result = run_mask(data, rules, masked, config=config, manifest=manifest, progress=progress)
    write_json(folder / "mask.json", result.as_dict())
    show(mask_tables(result), console)

    console.rule(f"{sample}: the masked file, checked")
    verdict = run_check(masked, rules, original=data, manifest=manifest, progress=progress)
    write_json(folder / "check.json", verdict.as_dict())
    show(check_tables(verdict), console)
    return verdict.complies

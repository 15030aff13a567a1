"""Make pages of a result that was kept, or of a manifest and its files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from masktron.addresses import is_address
from masktron.config import Config
from masktron.errors import UsageError
from masktron.files import file_hash, read_text, refuse_outputs
from masktron.jobs.compared import as_wide_records, compare, require_described
from masktron.jobs.lowering.level_files import level_files, nested_columns
from masktron.jobs.public_release import ComparedFiles, public_release
from masktron.jobs.released_tables import TABLES_GONE, of_release, tables_located
from masktron.jobs.rulebooks import open_rulebook
from masktron.jobs.side_by_side import side_by_side_of_levels
from masktron.level_settings import tables_named
from masktron.problems.level_names import LevelNames
from masktron.problems.problem import Setting
from masktron.progress import Progress, no_progress, told_as
from masktron.report.pages.html import write_pages
from masktron.report.pages.mask_page import mask_page
from masktron.report.pages.page import Page
from masktron.report.pages.public_page import public_page
from masktron.report.pictures.canvas import require_drawing
from masktron.report.rendering import page_of, read_told, result_from
from masktron.resources import NO_RULES
from masktron.results import AssessResult, CheckResult, JobResult, MaskResult, PageResult, ReportResult, shown
from masktron.results.kept_manifest import KeptManifest
from masktron.results.side_by_side import SideBySide
from masktron.rules_given import rules_again, rules_hash
from masktron.sources.opening import open_source
from masktron.trust import file_beside
from masktron.unrolling.level_names import level_names
from masktron.write.manifest import DescribedRelease, read_manifest


def run_report(
    source: Path,
    *,
    masked: Path | None = None,
    original: Path | None = None,
    rules: Path | None = None,
    html: Path | None = None,
    html_public: Path | None = None,
    own: bool = False,
    progress: Progress = no_progress,
) -> ReportResult:
    """Write pages of a result.

    Parameters
    ----------
    source : Path
        The JSON of `validate`, `explain`, `mask`, `check`, `assess` or `tune`, or a manifest.
    masked, original, rules : Path, optional
        The files of a manifest. Those that are not given are taken from the folder of the manifest, where it names
        them there. Files with another SHA-256 are refused.
    html, html_public : Path, optional
        The page for inside the agency, and the one for whoever gets the file. The second one needs a manifest.
    own : bool
        The manifest is of a run that this process has just done, so the user named all that it names.

    Raises
    ------
    UsageError
        A file is no result of masktron, or is not the one that the manifest describes; there is nothing to write.
    RulebookError, DocumentError
        A file cannot be read, or a page not be written.
    """
    if html is None and html_public is None:
        pages_to = Setting("--html", ("FILE",)), Setting("--html-public", ("FILE",))
        raise UsageError.of("needs-setting", name="report", needed="a page to write", setting=pages_to)
    outputs = {"--html": html, "--html-public": html_public}
    given = {"the result": source, "the masked file": masked, "the original": original, "the rulebook": rules}
    refuse_outputs({name: path for name, path in outputs.items() if path is not None}, given)
    require_drawing()
    content = read_result(source)
    if "manifest_version" in content:
        result: JobResult = read_told(MaskResult, content.get("result"), source)
        pages, notes = _of_manifest(source, content, masked, original, rules, html, html_public, progress, own=own)
    else:
        unused = {"--masked": masked, "--original": original, "--rules": rules, "--html-public": html_public}
        if wrong := next((name for name, path in unused.items() if path is not None), None):
            raise UsageError.of(
                "needs-setting", source, name=Setting(wrong), setting="a manifest", needed="another option"
            )
        result = result_from(content, source)
        pages, notes = {} if html is None else {html: page_of(result)}, []
    progress("drawing the pictures", 0)
    write_pages(pages)
    written = tuple(PageResult(shown(path), page.edition, len(page.pictures)) for path, page in pages.items())
    verdict = result.verdict if isinstance(result, MaskResult | CheckResult | AssessResult) else None
    return ReportResult(shown(source), result.JOB, written, tuple(notes), verdict)


def read_result(path: Path) -> Mapping[str, Any]:
    """Read the JSON of a result, or a manifest.

    Raises
    ------
    UsageError
        It cannot be read, or is none.
    """
    text = read_text(path, "result")
    try:
        content: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        raise UsageError.of("not-a-result", path, reason=reason) from error
    if not isinstance(content, dict) or not ({"job", "manifest_version"} & content.keys()):
        raise UsageError.of("not-a-result", path, reason="it names no command")
    return content


def _of_manifest(
    source: Path,
    content: Mapping[str, Any],
    masked: Path | None,
    original: Path | None,
    rules: Path | None,
    html: Path | None,
    html_public: Path | None,
    progress: Progress,
    *,
    own: bool,
) -> tuple[Mapping[Path, Page], Sequence[str]]:
    """Make the pages of a manifest and its files."""
    read_manifest(source)
    manifest = read_told(KeptManifest, content, source)
    book = manifest.rulebook
    if book is not manifest.rules and rules is not None and rules_hash(rules) == manifest.rules.sha256:
        rules = None  # the released file obeys what was translated of it
    if book.sha256 == file_hash(NO_RULES):
        rules = rules or NO_RULES
    rules = rules or rules_again(content["rules" if book is manifest.rules else "translated"], source)
    released, before, rulebook = (
        given or _named(kept.path, source, own=own)
        for given, kept in ((masked, manifest.output), (original, manifest.original), (rules, book))
    )
    refuse_outputs(
        {name: path for name, path in (("--html", html), ("--html-public", html_public)) if path is not None},
        {"the masked file": released, "the original": before, "the rulebook": rulebook},
    )
    notes = [
        f"{what} is not beside the manifest, so that pages have {lack}: name it with {option}"
        for what, place, lack, option in (
            ("the masked file", released, "no pictures and figures of values", "--masked"),
            ("the original", before, "no pictures and figures of values", "--original"),
        )
        if place is None
    ]
    files = None
    if released is not None and before is not None:
        files = _files(source, manifest, released, before, progress, own=own)
        if files is None:
            notes.append(TABLES_GONE)
    pages: dict[Path, Page] = {}
    if html is not None:
        summary = None if files is None else files.side_by_side(progress)
        pages[html] = mask_page(read_told(MaskResult, content["result"], source), manifest=manifest, files=summary)
    if html_public is not None:
        if rulebook is None:
            given = Setting("--rules", ("RULES.sch",))
            needed = "the rulebook, which is not beside the manifest"
            raise UsageError.of("needs-setting", source, name="the page for others", needed=needed, setting=given)
        if rules_hash(rulebook) != book.sha256:
            reason = "the rulebook has another SHA-256"
            raise UsageError.of("not-of-one-run", rulebook, reason=reason)
        phase = manifest.config.phase if book is manifest.rules else None
        pages[html_public] = public_page(
            public_release(
                manifest, open_rulebook(rulebook, phase), None if files is None else files.compared, str(source)
            )
        )
    return pages, notes


def _named(path: str, source: Path, *, own: bool) -> Path | None:
    """Return a file that a manifest names: only one in its folder, unless the manifest is our own."""
    return (Path(path) if own else file_beside(Path(path), source)) if path else None


def _files(
    source: Path, manifest: KeptManifest, masked: Path, original: Path, progress: Progress, *, own: bool
) -> _BothFiles | None:
    """Read both files and put each masked record beside its own original; None where a table of them is gone."""
    described = read_manifest(source)
    config = manifest.config
    told, elsewhere = (described.reading, []) if own else tables_located(described.reading, source, masked, original)
    reading = Config(
        record=config.record,
        metadata=_named(config.metadata or "", source, own=own),
    ).reading.or_as(told)
    of_masked = of_release(reading, masked, described.removed)
    if elsewhere or not all(is_address(str(table)) or table.is_file() for _, table in tables_named(of_masked.levels)):
        return None
    released, before = (
        open_source(path, reading=way, progress=progress) for path, way in ((masked, of_masked), (original, reading))
    )
    require_described(released, before, described)
    wide, wide_before = as_wide_records(released, before, described.nested)
    files, _ = compare(
        wide,
        wide_before,
        described=described,
        config=Config(),
        known={"medoid_share": described.medoid_share},
        progress=progress,
    )
    nested = nested_columns(wide_before, files, described)
    whole = config.grouping == "all"
    levels = level_files(nested, files, whole=whole)
    return _BothFiles(ComparedFiles(files, released, levels), level_names(wide), described)


@dataclass(frozen=True, slots=True, eq=False)
class _BothFiles:
    """Both files side by side, what the fields of nested records are called, and what the manifest says."""

    compared: ComparedFiles
    names: LevelNames
    described: DescribedRelease

    def side_by_side(self, progress: Progress) -> SideBySide:
        """Return what pictures need."""
        return side_by_side_of_levels(
            self.compared.files,
            self.compared.levels,
            self.described.k,
            self.names,
            told_as(progress, "summarising the two files", "steps"),
            self.described.declared.drawn,
        )

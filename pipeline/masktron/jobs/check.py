"""Prove that a masked file complies with its rules and with the contract that its manifest states."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from masktron.jobs.common import Job, Progress, no_progress, open_job, violations
from masktron.measures.achieved_k import achieved_k
from masktron.read.layout import survey
from masktron.read.microdata import read_records
from masktron.read.records import Records
from masktron.results import CheckResult, shown
from masktron.write.manifest import Contract, file_hash, read_contract


def run_check(
    masked: Path,
    rules: Path,
    *,
    original: Path | None = None,
    manifest: Path | None = None,
    record: str | None = None,
    phase: str | None = None,
    progress: Progress = no_progress,
) -> CheckResult:
    """Check edits, group sizes and, with the original, records, fields and domains.

    Parameters
    ----------
    masked, rules : Path
    original, manifest : Path, optional
        Without them the result names what could not be checked.

    Raises
    ------
    UsageError, RulebookError, DocumentError
        A file cannot be used. What is wrong with the masked data is in the result.
    """
    job = open_job(masked, rules, record=record, phase=phase)
    contract = None if manifest is None else read_contract(manifest)
    audit = _Audit(job, contract, original)
    audit.rules_apply()
    evaluation = job.evaluate(masked, original, progress)
    results = job.rule_results(evaluation, audit.left_out)
    hard, soft = violations(results)
    data = read_records(masked, job.layout) if job.shape.flat else None
    if data is None:
        audit.not_checked.append("group sizes and fields: the records are not flat")
    min_group = None if data is None else audit.groups(data)
    if data is not None:
        audit.against_original(data)
    return CheckResult(
        data=shown(masked),
        records=len(evaluation.verdicts),
        violations=hard,
        warnings=soft,
        min_group=min_group,
        problems=tuple(audit.problems),
        checked=(f"{len(results)} rules on {len(evaluation.verdicts)} records", *audit.checked),
        not_checked=tuple(audit.not_checked),
        rules=results,
    )


class _Audit:
    """Collects what was checked, what is wrong and what could not be checked."""

    def __init__(self, job: Job, contract: Contract | None, original: Path | None) -> None:
        self.job = job
        self.contract = contract
        self.original = original
        self.left_out: set[int] = set()
        self.problems: list[str] = []
        self.checked: list[str] = []
        self.not_checked: list[str] = []

    def rules_apply(self) -> None:
        """Leave out rules on removed identifiers, rules that were let go, and domains without the original."""
        removed = set(self.contract.removed) if self.contract else set()
        for edit in self.job.edits:
            index, name = edit.check.index, edit.check.id
            if gone := sorted(removed.intersection(edit.variables)):
                self.left_out.add(index)
                self.not_checked.append(f"rule {name}: reads {', '.join(gone)}, removed by masking")
            elif self.contract and name in self.contract.allowed:
                self.left_out.add(index)
                self.not_checked.append(f"rule {name}: let go when the file was masked")
            elif self.original is None and self._needs_original(index):
                self.left_out.add(index)
                self.not_checked.append(f"rule {name}: needs the original (--original)")

    def _needs_original(self, index: int) -> bool:
        """Whether a rule reads a document, itself or through its variables."""
        pattern, position, check = next(
            situated for situated in self.job.rulebook.situated() if situated[2].index == index
        )
        rule = pattern.rules[position]
        lets = (*self.job.rulebook.lets, *pattern.lets, *rule.lets)
        return any(
            uri in text
            for uri in self.job.rulebook.documents
            for text in (check.test, rule.context, *(let.value for let in lets))
        )

    def groups(self, data: Records) -> int | None:
        """Check the contract: the file is the one that was masked, and its groups hold at least k records."""
        if self.contract is None:
            self.not_checked.append("group sizes: need the manifest (--manifest)")
            return None
        if file_hash(data.source) != self.contract.output:
            self.problems.append("the file is not the one that the manifest describes (its SHA-256 differs)")
        smallest = len(data)
        for block in self.contract.blocks:
            present = [name for name in block if name in data.columns]
            if len(data) and present:
                smallest = min(smallest, achieved_k([data.columns[name].lexemes for name in present]))
        if smallest < self.contract.k:
            self.problems.append(f"a group has {smallest} records, fewer than k = {self.contract.k}")
        for name in self.contract.removed:
            if name in data.columns:
                self.problems.append(f"the identifier {name} was to be removed and is in the file")
        self.checked.append(f"group sizes of {len(self.contract.blocks)} blocks, removed identifiers, SHA-256")
        return smallest

    def against_original(self, data: Records) -> None:
        """Check that records and fields are those of the original, and unmasked cells unchanged."""
        if self.original is None:
            self.not_checked.append("records and fields: need the original (--original)")
            return
        layout, _ = survey(self.original, record=self.job.layout.record_path[-1])
        source = read_records(self.original, layout)
        if self.contract and file_hash(self.original) != self.contract.original:
            self.problems.append("the original is not the one that the manifest describes (its SHA-256 differs)")
        excluded = set(self.contract.excluded) if self.contract else set()
        if len(data) != len(source) - len(excluded):
            self.problems.append(
                f"{len(data)} records for {len(source)} of the original"
                + (f", of which {len(excluded)} were excluded" if excluded else "")
            )
        self._fields(data, source)
        self._unmasked(data, source, excluded)

    def _fields(self, data: Records, source: Records) -> None:
        for name in data.columns:
            if name not in source.columns:
                self.problems.append(f"the field {name} is not in the original")
        removed = set(self.contract.removed) if self.contract else set()
        for name in source.columns:
            if name not in data.columns and name not in removed:
                if self.contract:
                    self.problems.append(f"the field {name} of the original is gone")
                else:
                    self.not_checked.append(f"field {name}: gone; the manifest would tell whether on purpose")
        self.checked.append("records and fields against the original")

    def _unmasked(self, data: Records, source: Records, excluded: set[int]) -> None:
        if self.contract is None:
            self.not_checked.append("unmasked fields cell by cell: need the manifest (--manifest)")
            return
        keep = np.array([at for at in range(len(source)) if at not in excluded], dtype=np.intp)
        if self.contract.order is not None and len(self.contract.order) == len(keep):
            keep = keep[np.array(self.contract.order, dtype=np.intp)]
        if len(keep) != len(data):
            return
        for name in self.contract.kept:
            if name in data.columns and name in source.columns:
                changed = int((data.columns[name].lexemes != source.columns[name].lexemes[keep]).sum())
                if changed:
                    self.problems.append(f"the unmasked field {name} differs from the original in {changed} records")
        self.checked.append(f"{len(self.contract.kept)} unmasked fields cell by cell")

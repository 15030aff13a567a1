"""What a release has to satisfy before it appears, and the manifest that goes with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from masktron.addresses import AddressPath
from masktron.classify.forms import form_of
from masktron.config import Config, Role
from masktron.counts import counted
from masktron.declared import names
from masktron.errors import InfeasibleError, OutsideLimitsError, RefusalFacts, UsageError, ViolationError
from masktron.jobs.documents import digests
from masktron.jobs.levels import missing_by_field
from masktron.jobs.limits import names_over, over_limits
from masktron.jobs.lowering.level_treatments import level_of
from masktron.jobs.lowering.lower import Lowered
from masktron.jobs.lowering.wide_settings import named_as_fields
from masktron.jobs.mask_result import in_groups
from masktron.jobs.outside_limits import what_helps
from masktron.jobs.released_tables import digests_of_tables
from masktron.jobs.rerun.facts import facts_of_run
from masktron.jobs.run import Account, Run
from masktron.jobs.written import WrittenFile
from masktron.masking import Masked
from masktron.measures.figures import Measured
from masktron.problems.problem import Problem, Setting, fields, rules
from masktron.results import BlockResult, MaskResult, shown
from masktron.rules_given import rules_kept
from masktron.sources.column import Column
from masktron.sources.output_names import described_output
from masktron.sources.source import Source
from masktron.sources.wide.level_source import level_records
from masktron.sources.wide.wide_source import WideSource
from masktron.step_kinds import suppressed_in
from masktron.verify.method_contract import check_groups, check_pair, pair_of
from masktron.verify.suppressed_keys import unshared
from masktron.versions import versions
from masktron.write.declared import Declared
from masktron.write.manifest import MANIFEST_VERSION, NOTICE

_ELSEWHERE = names(Config, lambda one: one.local or one.own_place)
"""Settings that the manifest has in other places, or leaves out: they change nothing in the file."""
_OF_THE_RUN = names(Config, lambda one: one.local or one.confidential)
"""Settings that a later run does not take over: its random numbers are its own."""


def require_releasable(run: Run, result: MaskResult, measured: Sequence[Measured]) -> None:
    """Refuse what breaks a rule, is refused by an engine, has too small groups or is outside its limits.

    Raises
    ------
    InfeasibleError
        A rule would break.
    ViolationError
        Anything else.
    """
    if result.violations:
        raise _broken(run, result)
    for engine in result.engines:
        if not engine.agrees:
            raise ViolationError.of(
                "self-check-failed",
                run.source.path,
                detail="\n  ".join((f"{engine.engine} does not agree that it obeys the rules", *engine.notes)),
            )
    if result.min_group < run.config.k and in_groups(result.blocks, result.draw):
        raise ViolationError.of(
            "self-check-failed",
            run.source.path,
            detail=f"a group of {counted(result.min_group, 'record')} is smaller than k = {run.config.k}",
        )
    if over := list(over_limits(measured, run.config.limits)):
        names = tuple(names_over(measured, run.config.limits))
        raise OutsideLimitsError(
            Problem("outside-limits", run.source.path, over=tuple(over)).then(*what_helps(run, result.keys, names)),
            facts=[RefusalFacts("limits", figures=names)],
        )


def _broken(run: Run, result: MaskResult) -> InfeasibleError:
    """Return the error that rules would break."""
    broken = [rule for rule in result.rules if rule.violations]
    ids = tuple(rule.id for rule in broken)
    read = {name for edit in run.job.edits if edit.check.id in ids for name in edit.variables}
    masked = tuple(sorted(read.intersection(run.plan.by_role(Role.CONFIDENTIAL))))
    several, gone = any(rule.kind == "cross-record" for rule in broken), len(result.excluded)
    reason = f"the masked file has {counted(result.violations, 'violation')}, so nothing is published"
    if gone and several:
        reason += f"; {counted(gone, 'record was', 'records were')} left out, which changes counts and totals"
    problem = Problem(
        "rules-not-kept", run.source.path, fields=fields(masked) or "FIELD", rules=rules(ids), reason=reason
    )
    if several and run.ordering.random:
        order = Setting("--keep-order")
        problem = problem.then(
            Problem("needs-setting", name="the order of the records", needed="to be kept", setting=(order,))
        )
    return InfeasibleError(problem, facts=[RefusalFacts("written", masked, rules=ids)])


def require_shared_keys(run: Run, released: Source) -> None:
    """Count in the written file, level by level, how many records share the keys that were suppressed.

    Raises
    ------
    ViolationError
        They are too few.
    """
    if not isinstance(run.back, Lowered) or not isinstance(released, WideSource):
        return
    import pandas as pd  # noqa: PLC0415 -- most runs do without

    codes = missing_by_field(run.original)
    for one in suppressed_in(run.account.treatments):
        path = level_of(one, run.back.source.levels)
        columns = level_records(released.dataset, path).columns
        keys = {name: columns[name].declaring(codes.get(name, ())).numbered() for name in one.fields}
        if wrong := unshared(pd.DataFrame(keys), one.contract):
            raise ViolationError.of("self-check-failed", run.source.path, detail=wrong[0])


def require_contract(run: Run, declared: Declared, columns: Mapping[str, Column]) -> None:
    """Test what the method promises of what it drew, as `check` does.

    Parameters
    ----------
    columns : mapping of str to Column
        The masked fields, in the order of the original.

    Raises
    ------
    ViolationError
        The file does not keep it.
    """
    if not declared.drawn:
        return
    binding = {*run.binding}
    edits = [edit for edit in run.job.edits if edit.check.index in binding]
    pair = pair_of(
        declared,
        run.kept.columns,
        columns,
        [atom for edit in edits for disjunct in form_of(edit.constraint) for atom in disjunct],
        kept=[fact.name for fact in run.plan.fields if fact.role not in (Role.CONFIDENTIAL, Role.IDENTIFIER)],
        codes={fact.name: fact.codes for fact in run.plan.fields},
        k=run.config.k,
    )
    if problems := [*check_groups(declared, len(run.kept)).problems, *check_pair(declared, pair).problems]:
        raise ViolationError.of(
            "contract-not-kept",
            run.source.path,
            method=run.method.name,
            reasons=tuple(problems),
            facts=[RefusalFacts("contract", tuple(declared.drawn))],
        )


def declared_of(run: Run, made: Masked) -> Declared:
    """What the method promises, and what `check` needs to test it."""
    perturbed = made.perturbed
    if perturbed is None:
        return Declared(run.method.name, run.method.contract)
    groups = perturbed.parts if perturbed.labels is None else perturbed.labels
    return Declared(
        run.method.name,
        run.method.contract,
        drawn=tuple(name for one in perturbed.blocks for name in one.block.variables),
        groups=tuple(groups.tolist()),
        unmoved=perturbed.unmoved,
        settled=perturbed.settled,
        marked={name: tuple(positions.tolist()) for name, positions in perturbed.marked.items()},
    )


def manifest_of(
    run: Run,
    made: Masked,
    result: MaskResult,
    blocks: tuple[BlockResult, ...],
    written: WrittenFile,
    declared: Declared,
    entry: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the manifest: what leads back to the original and what tests the contract; its entry in a register.

    The order of the records is left to who writes it, as it is a number for each of them.

    Parameters
    ----------
    blocks : tuple of BlockResult
        As they were masked; those in the result of a nested file are by level.
    """
    before = run.original
    source, rulebook = before.job.source, before.job.rulebook
    plan = run.plan.choosing(masked.block for masked in made.blocks)
    return {
        "manifest_version": MANIFEST_VERSION,
        "notice": NOTICE,
        "versions": versions(),
        "original": {"path": shown(source.path), "sha256": source.digest, **digests_of_tables(source)},
        "rules": {"path": shown(rulebook.path), **rules_kept(rulebook.path)},
        "documents": digests(rulebook, source.digest),
        "output": {
            "path": result.output,
            "sha256": written.source.digest,
            **digests_of_tables(written.source, result.tables),
        },
        "config": _plain({name: value for name, value in run.config.settings.items() if name not in _ELSEWHERE}),
        "secret": None if run.randomness.secret is None else run.randomness.secret.hex(),
        "plan": _plain(plan.as_dict()),
        "result": result.as_dict(),
        "order": None,
        "declared": declared.as_dict(),
        "repeat": _repeat_of(run),
        **({"nested": _of_nested(before.back, run.given.roles, blocks)} if isinstance(before.back, Lowered) else {}),
        **(treatments_of(run.account, result.rules_file) if run.account.treatments else {}),
        **({} if entry is None else {"register": dict(entry)}),
    }


def _repeat_of(run: Run) -> dict[str, Any]:
    """Return what a later run is compared with; of a nested file, fields by level and rules as they are written."""
    before, given = run.original, run.given
    if isinstance(before.back, Lowered):
        given = named_as_fields(given, before.back.source.levels, str(run.source.path))
    settings = {name: value for name, value in given.settings.items() if name not in _OF_THE_RUN}
    return {"settings": _plain(settings), **facts_of_run(before, given).as_dict()}


def _of_nested(nested: Lowered, roles: Mapping[str, Role], blocks: Sequence[BlockResult]) -> dict[str, Any]:
    """Return what a manifest says of a nested file: how its units were read, and how they were masked."""
    return {**nested.release(roles).as_dict(), "blocks": [one.as_dict() for one in blocks]}


def treatments_of(done: Account, rules_file: str) -> dict[str, Any]:
    """Return what a manifest says of treatments: what `check` needs to do them again, and what the rules became."""
    return {
        "treatments": [one.as_dict() for one in done.treatments],
        "translated": {"path": rules_file, "sha256": sha256(done.rulebook).hexdigest()} if done.rulebook else None,
    }


def _plain(value: Any) -> Any:
    """Turn settings and plans into what JSON has: no sets, no infinities, no fractions."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(_plain(entry) for entry in value)
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return str(value) if isinstance(value, Path | Fraction) else value


def refuse_foreign_manifest(manifest: Path, out: Path) -> None:
    """Refuse to write over the manifest of another file.

    Raises
    ------
    UsageError
    """
    own = str(out) if isinstance(out, AddressPath) else out.name
    if manifest.exists() and (other := described_output(manifest)) != own:
        free = manifest.with_name(f"{out.name}.manifest.json")
        name = "FILE" if free.exists() else shown(free)
        raise UsageError.of("manifest-taken", manifest, taken=other or "something else", name=name)

"""What masktron says of a written case: by columns, by two passes, by engines; classes, locality and tiers."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from masktron.classify import classify
from masktron.errors import MasktronError
from masktron.judge import exact
from masktron.judge.findings import Evaluation, Verdict
from masktron.judge.nested import unit_program
from masktron.judge.request import EvaluationRequest
from masktron.judge.tiered import evaluate, tiers_asked
from masktron.rulebook.locality import locality
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.xml.nested_units import NestedUnits, survey_nested
from masktron.sources.xml.plain import PlainRecords, survey, survey_plain

_MARKS = {Verdict.NOT_FIRED: ".", Verdict.HOLDS: "h", Verdict.FAILS: "F", Verdict.ERROR: "E"}
_TABLE = np.array([_MARKS[v] for v in sorted(_MARKS)])


def judged(folder: Path, record: str, phase: str, *, engines: bool = True) -> dict[str, Any]:
    """Return what masktron says, or why it refuses the case."""
    data = folder / "data.xml"
    try:
        rulebook = read_rules(folder / "rules.sch", phase or None)
        request = _request(data, record, rulebook, folder / "original.xml")
        said: dict[str, Any] = {"columns": _told(evaluate(request))}
        if engines:
            said["engine"] = _told(exact.evaluate(request))
            if rulebook.version == "1.0":
                said["saxon"] = _told(exact.evaluate(replace(request, engine="saxon")))
        edits = classify(rulebook, request.layout)
    except MasktronError as error:
        return {"refused": str(error)}
    said["classes"] = [f"{edit.name}: {edit.constraint}" for edit in edits]
    said["names"] = [edit.name for edit in edits]
    said["locality"] = list(locality(rulebook, request.layout))
    said["tiers"] = [str(own.tier.name) for own in tiers_asked(request)]
    said["reasons"] = [own.reason for own in tiers_asked(request)]
    return said


def _request(data: Path, record: str, rulebook: Any, original: Path) -> EvaluationRequest:
    plain = survey_plain(data, record=record)
    if plain is not None:
        layout, _, records = plain
        flat = PlainRecords(data, layout, records)
        return EvaluationRequest(data, rulebook, layout, flat, original=original)
    nested = survey_nested(data, record=record)
    if nested is None:
        return EvaluationRequest(data, rulebook, survey(data, record=record)[0], original=original)
    layout, _, tree, units = nested
    return EvaluationRequest(data, rulebook, layout, original=original, nested=NestedUnits(data, tree, units))


def _told(done: Evaluation) -> list[list[Any]]:
    verdicts = done.judged
    return [
        [int(done.fired[k]), int(done.failed[k]), int(done.errors[k]), "".join(_TABLE[verdicts[:, k]])]
        for k in range(verdicts.shape[1])
    ]


if __name__ == "__main__":
    # also by a state of the package before a change, which PYTHONPATH names
    unit_program.ENOUGH = 1
    for line in sys.stdin:
        where, name, phase = line.rstrip("\n").split("\t")
        try:
            answer = judged(Path(where), name, phase, engines="--engines" in sys.argv)
        except Exception as error:  # noqa: BLE001 -- the other cases go on
            answer = {"crashed": repr(error)[:500]}
        Path(where, sys.argv[1]).write_text(json.dumps(answer), encoding="utf-8")

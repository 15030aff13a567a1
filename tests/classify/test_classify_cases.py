"""Amounts with a case for each field that may be absent: so many, and no more, have a form."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cli_runner import write_rules
from masktron.classify import classify
from masktron.constraints import OpaqueEdit
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.record_layout import Field, Layout


@pytest.mark.parametrize(("fields", "understood"), [(6, True), (40, False)])
def test_cases_that_double_with_each_field_are_left_to_engines(tmp_path: Path, fields: int, understood: bool) -> None:
    names = [f"V{at}" for at in range(fields)]
    test = " + ".join(f"number({name} = 'head')" for name in names)
    rulebook = read_rules(write_rules(tmp_path / "r.sch", f"{test} <= 1"))
    begun = time.process_time()
    (edit,) = classify(rulebook, Layout(("Data", "Record"), tuple(Field(name, name) for name in names)))
    assert isinstance(edit.constraint, OpaqueEdit) is not understood
    assert time.process_time() - begun < 30, "40 fields have a million million cases"

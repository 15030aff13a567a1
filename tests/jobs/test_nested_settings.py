"""Settings that nested files do not get are refused or told, never ignored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from masktron.config import config_from
from masktron.errors import UsageError
from masktron.jobs.opening import open_original
from masktron.jobs.run import Run
from masktron.problems.wording import sentence
from masktron.progress import no_progress
from nested_survey import ROLES, made
from refusals import refused


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return made(tmp_path_factory.mktemp("survey"), 1, 24)


def opened(survey: tuple[Path, Path], **others: Any) -> Run:
    settings = {"k": 3, "roles": ROLES, "rare_units": "exclude", **others}
    return open_original(*survey, config_from(settings), no_progress)


def test_units_of_large_files_are_refused(survey: tuple[Path, Path]) -> None:
    with refused(UsageError, "setting-not-usable", name=("--unit-records",)):
        opened(survey, unit_records=60)
    assert len(opened(survey, unit_records=0).records) == 24  # whole


def test_how_groups_are_formed_is_told(survey: tuple[Path, Path]) -> None:
    said = "groups of Household are formed over all masked fields together"
    assert said in " ".join(map(sentence, opened(survey).notes))
    assert opened(survey).config.grouping == "all"
    assert said not in " ".join(map(sentence, opened(survey, grouping="all").notes))
    persons = opened(survey, protect="Person")
    assert persons.config.grouping == "rules"
    assert said not in " ".join(persons.notes)

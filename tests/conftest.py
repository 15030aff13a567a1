"""Shared set-up: hypothesis profiles, and where the public reference data are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from paths import SHARED_DATA

os.environ["MASKTRON_NO_BACKGROUND"] = "1"

settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("full", settings.get_profile("ci"))  # tests with `examples` try all of theirs
settings.register_profile("dev", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the public reference data; the test is skipped where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the public reference data (../shared/data) are not here")
    return SHARED_DATA

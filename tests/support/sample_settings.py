"""Settings of the samples without what is done to their keys, for files of a part of their records."""

from __future__ import annotations

from masktron.config import Config, load_config
from paths import SAMPLES


def untreated(sample: str) -> Config:
    """Return the settings of a sample without its recodings and limits, which few records cannot keep."""
    return load_config(SAMPLES / f"{sample}.toml").updated(recode={}, limits={})

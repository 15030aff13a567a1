"""Settings of the samples without what is done to their keys, for files of a part of their records."""

from __future__ import annotations

from pathlib import Path

from masktron.config import Config
from masktron.settings_file import load_config
from masktron.toml_text import TomlText
from paths import SAMPLES


def untreated(sample: str) -> Config:
    """Return the settings of a sample without its recodings and limits, which few records cannot keep."""
    return load_config(SAMPLES / f"{sample}.toml").updated(recode={}, limits={})


def write_untreated(sample: str, path: Path) -> Path:
    """Write the same as a file of settings."""
    settings = TomlText((SAMPLES / f"{sample}.toml").read_text(encoding="utf-8"))
    for table in ("recode", "limits"):
        settings.remove((table,))
    path.write_text(str(settings), encoding="utf-8")
    return path

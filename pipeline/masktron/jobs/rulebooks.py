"""Where jobs get their rulebooks from: a rule language beside Schematron is entered here, and nowhere else."""

from __future__ import annotations

from pathlib import Path

from masktron.errors import RulebookError
from masktron.rulebook.schema import Rulebook
from masktron.rulebook.schematron.reader import read_rules


def open_rulebook(rules: Path, phase: str | None = None) -> Rulebook:
    """Read a rulebook; its documents are not bound yet, see `masktron.jobs.documents.bound`.

    Raises
    ------
    RulebookError
    """
    return read_rules(rules, phase=phase)


def documents_of_all_phases(rulebook: Rulebook) -> tuple[str, ...]:
    """Return what the rules of any phase read; those of the one in use where another cannot be read."""
    try:
        return open_rulebook(rulebook.path, phase="#ALL").documents
    except RulebookError:  # of a phase that is not the one in use, and can tell no names
        return rulebook.documents

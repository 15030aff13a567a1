"""Which rules stand in a file, and what becomes of one of them?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from masktron.errors import RulebookError
from masktron.files import refuse_special
from masktron.jobs.rules_written import listed
from masktron.results import RulesResult, WrittenRule, shown
from masktron.rulebook_text.rule_entries import RulesInText, rules_in
from masktron.rules_given import is_plain
from masktron.write.atomic import atomic_path, blamed

type TextChange = Callable[[RulesInText], bytes]
"""Takes the rules of a file, and returns the file with a change."""


def run_rules(
    rulebook: Path, change: TextChange | None = None, out: Path | None = None, *, begin: bytes | None = None
) -> RulesResult:
    """List the rules of one file, or change one of Schematron where it stands; all other bytes stay as they are.

    Whether the expressions mean something is not asked: `run_explain` says it.

    Parameters
    ----------
    rulebook : Path
    change : callable, optional
        See `masktron.rulebook_text.rule_changes`.
    out : Path, optional
        The changed file; by default it takes the place of the other.
    begin : bytes, optional
        What is changed where there is no rulebook as yet.

    Raises
    ------
    RulebookError
        It cannot be read, or not be changed in place.
    UsageError
        The change cannot be made.
    """
    refuse_special(rulebook, RulebookError)
    if is_plain(rulebook):
        if change is not None:
            raise RulebookError.of(
                "not-in-place", rulebook, what="a rule in plain text", done="changed", reason="each is a line of text"
            )
        return listed(rulebook)
    if begin is not None and change is not None and not rulebook.exists():
        source = begin
    else:
        try:
            source = rulebook.read_bytes()
        except OSError as error:
            raise RulebookError.of("cannot-read", rulebook, file="rulebook", reason=error.strerror) from error
    rules = rules_in(source, shown(rulebook))
    written = None
    if change is not None:
        written = rulebook if out is None else out
        changed = change(rules)
        rules = rules_in(changed, shown(written))
        with atomic_path(written, released=True) as temporary, blamed(written):
            temporary.write_bytes(changed)
    return RulesResult(
        rulebook=shown(rulebook),
        output=None if written is None else shown(written),
        rules=tuple(
            WrittenRule(
                one.number, one.id, one.kind, one.context, one.test, one.message, one.line, one.locked,
                one.message_locked, one.soft,
            )
            for one in rules.entries
        ),
    )  # fmt: skip

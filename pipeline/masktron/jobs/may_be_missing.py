"""Rules that keep a key from being left out, and how they read where it may be."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from masktron.counts import counted
from masktron.rulebook.schema import Check, Rulebook
from masktron.sources.records import Layout

_LONGEST = 300
"""Characters of a test up to which its change is written out."""


def may_be_missing(rulebook: Rulebook, layout: Layout, rules: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """Say for a hint which rules keep which field from being left out, and what changes that.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout
    rules : mapping of str to sequence of int
        By field, the rules that some records break without it, by index.
    """
    contexts = {
        check.index: rule.context for pattern in rulebook.patterns for rule in pattern.rules for check in rule.checks
    }
    for field, indices in rules.items():
        checks = [rulebook.checks[index] for index in indices]
        if not checks:
            continue
        yield (
            f"{counted(len(checks), 'rule keeps', 'rules keep')} {field} from being left out: "
            f"{', '.join(check.id for check in checks)}"
        )
        at_record = [check for check in checks if _plain(layout, field, contexts[check.index])]
        for check in at_record:
            test = _test(check, field)
            if len(test) <= _LONGEST:
                told = f"masktron rules {shlex.quote(Path(rulebook.path).name)} --change {shlex.quote(check.id)}"
                yield f"where {field} may be missing: {told} --test {shlex.quote(test)}"
            else:
                before = f"not({field}) or" if check.kind == "assert" else f"{field} and"
                yield f"where {field} may be missing, write {before} ( ) around the test of {check.id}"


def _plain(layout: Layout, field: str, context: str) -> bool:
    """Tell whether a rule on such a context reads a field by its name alone."""
    fact = layout.field(field)
    names = fact is not None and fact.tag == field and not fact.attribute
    return names and context.rpartition("/")[2].strip() == layout.record_tag


def _test(check: Check, field: str) -> str:
    """Write a test so that nothing is asked of a record without the field; a report fires where its test is true."""
    return f"not({field}) or ({check.test})" if check.kind == "assert" else f"{field} and ({check.test})"

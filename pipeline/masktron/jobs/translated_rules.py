"""The rulebook of a release whose fields were recoded: where it goes, who reads it back, and when it appears."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from masktron.addresses import AddressPath
from masktron.config import Config
from masktron.errors import InfeasibleError, RefusalFacts, UsageError
from masktron.files import is_rulebook, read_text, refuse_outputs
from masktron.jobs.documents import Given, bound
from masktron.jobs.recoded import hierarchy_files
from masktron.jobs.rulebooks import read_translated
from masktron.jobs.run import Account, Run
from masktron.problems.problem import Rule, Setting, fields
from masktron.rulebook.schema import Rulebook
from masktron.setting_values import ALL_FIELDS
from masktron.sources.frame_path import FramePath
from masktron.sources.output_names import stem_of
from masktron.translation import Translation
from masktron.write.atomic import atomic_path

_RULES = "the translated rulebook"
_TITLE = "Rules as masktron has translated them, for recoded"
"""How the title of a translated rulebook begins, by which a later run knows it."""


def rules_read_back(run: Run, written: bytes, rules_out: Path) -> Rulebook:
    """Return a translated rulebook of a run, given as it is written, read back under the name of its file."""
    given = run.given
    documents = Given(given.documents, run.job.source.path, spare=frozenset(given.documents))
    return bound(read_translated(written, rules_out), documents)


def refuse_lost(original: Run, translation: Translation) -> None:
    """Refuse to lose a rule that has to hold, unless it may be lost."""
    released, allowed = set(original.as_written.released), set(original.config.allow_lost)
    checks = original.back.job.rulebook.checks
    lost = [
        rule
        for rule in translation.lost
        if rule.index not in released
        and rule.id not in allowed
        and ALL_FIELDS not in allowed
        and not checks[rule.index].soft
    ]
    if not lost:
        return
    first = lost[0]
    raise InfeasibleError.of(
        "rule-lost",
        str(checks[first.index].origin),
        fields=fields(first.fields),
        rules=tuple(Rule(rule.id) for rule in lost),
        reason=first.reason,
        facts=[RefusalFacts("keys", conditions=tuple(first.fields), rules=(first.id,))],
    )


def title_of(fields: Iterable[str]) -> str:
    """Return the title of a rulebook that is translated for recoded fields."""
    return f"{_TITLE} {', '.join(fields)}"


def place_of_rules(
    config: Config, named: Path | None, outputs: Mapping[str, Path], inputs: Mapping[str, Path]
) -> Path | None:
    """Return where translated rules go; None where nothing is recoded.

    Parameters
    ----------
    config : Config
    named : Path or None
        As somebody said.
    outputs, inputs : mapping of str to Path
        Other files of the run, by the names that messages use.

    Raises
    ------
    UsageError
        A file is named and nothing is recoded; or what is there must stay.
    """
    if not config.recode:
        if named is None:
            return None
        raise UsageError.of(
            "needs-setting",
            named,
            name=Setting("--rules-out"),
            needed="something that is recoded",
            setting=(Setting("--recode", ("AGE=width:5",)),),
        )
    files = files_of_recoding(config, named, outputs["the output"])
    out = files.pop(_RULES)
    refuse_outputs({**outputs, _RULES: out}, {**inputs, **files}, renewed=[_RULES] if _is_former(out) else ())
    if named is None and os.path.lexists(out) and not (_is_former(out) and not out.is_symlink()):
        raise UsageError.of("would-overwrite", out, output=_RULES, taken="a file that masktron did not write")
    return out


def files_of_recoding(config: Config, named: Path | None, out: Path) -> dict[str, Path]:
    """Return what recoding reads and writes beside a release, by the names that messages have for them.

    Parameters
    ----------
    config : Config
    named : Path or None
        Where translated rules go, as somebody said.
    out : Path
        The output.
    """
    if not config.recode:
        return {}
    return {_RULES: named or rules_beside(out), **hierarchy_files(config)}


def _is_former(path: Path) -> bool:
    """Tell whether a file is a rulebook that a run has translated."""
    return is_rulebook(path) and f"<title>{_TITLE}" in read_text(path, "rulebook")


def rules_beside(out: Path) -> Path:
    """Return where translated rules go unless somebody says otherwise: ``x.rules.sch`` for ``x.csv``."""
    if isinstance(out, AddressPath):
        return Path(f"{out.name}.rules.sch")
    return out.with_name(f"{stem_of(out)}.rules.sch")


@contextmanager
def published_rules(done: Account, rules_out: Path | None) -> Iterator[None]:
    """Let translated rules appear when the context ends, where there are any; by an error, they do not.

    Raises
    ------
    DocumentError
        The file cannot be written.
    """
    if not done.rulebook or rules_out is None:
        yield
        return
    with atomic_path(rules_out, released=True) as place:
        place.write_bytes(done.rulebook)
        yield


def stale_rules(done: Account, out: Path, rules_out: Path | None) -> tuple[str, ...]:
    """Say that translated rules of an earlier release lie where those of this one would, which has none."""
    place = rules_out or rules_beside(out)
    if done.rulebook or isinstance(out, AddressPath | FramePath) or not place.is_file() or not _is_former(place):
        return ()
    return (
        f"{place.name} is the translated rulebook of an earlier release; this one changes no rule, so that the rules "
        "of the original hold: keep that file with its own release",
    )
